"""Imports from a registry, over the egress process: a service whose network leads to web, name and image servers of ours.

The namespaces are those of the tests of the egress process; none has a way out.
"""

import json
import os
import subprocess
import sys

import pytest

from boundary import harness as boundary
from boundary.harness import Spawner
from boundary.test_imports import await_no_folder, begin, end
from egress import harness as egress_records
from egress import internet
from egress.world import World
from images import registry
from images.harness import GIB, follow, send_call
from support import oci
from support.oci import fake_python, layer, member

ADDRESS, NAME = internet.ZONE["other.test"][0][0], "other.test"  # where the world has nobody on port 443
MIB = 1 << 20
ALLOWED = f"docker.io,{NAME},public.test,private.test,{internet.PRIVATE}"


@pytest.fixture(scope="module")
def world(private_network, tmp_path_factory):
    running = World(tmp_path_factory.mktemp("world"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Layouts by name, one of them for several platforms."""
    folder = tmp_path_factory.mktemp("registry")
    made = {}
    for name in ("agent", "agent-redirect", "agent-lies", "agent-endless", "agent-silent"):
        content = layer(*fake_python(), member("app/name", name.encode()))
        made[name] = oci.Image(content, compress=name != "agent-endless")
        made[name].write_layout(folder / name)
    made["agent-both"] = image = oci.Image(layer(*fake_python()), compress=True)
    right = {**image.manifests.pop(), "platform": {"os": "linux", "architecture": "amd64"}}
    image.config["architecture"] = "arm64"
    image.tag("latest")
    wrong = {**image.manifests.pop(), "platform": {"os": "linux", "architecture": "arm64"}}
    index = {"schemaVersion": 2, "mediaType": oci.INDEX, "manifests": [wrong, right]}
    image.manifests.append(image.add(json.dumps(index).encode(), oci.INDEX))
    image.digest = right["digest"]
    image.write_layout(folder / "agent-both")
    made["folder"] = folder
    return made


@pytest.fixture(scope="module")
def trust(tmp_path_factory):
    """A certificate for the registry, and the folder of certificates of a host that trusts it."""
    folder = tmp_path_factory.mktemp("trust")
    certificate, key = folder / "ca-certificates.crt", folder.parent / "registry.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},IP:{ADDRESS}",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=30)
    both = folder.parent / "registry.pem"
    both.write_text(certificate.read_text() + key.read_text())
    folder.chmod(0o755)
    return folder, both


@pytest.fixture(scope="module")
def registry_running(world, images, trust):
    process = subprocess.Popen(
        ["nsenter", "--target", str(world.internet.pid), "--net", sys.executable, "-B", registry.__file__, ADDRESS,
         trust[1], images["folder"]], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "serving\n"
    yield
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def spawner(world, trust, registry_running, tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    script = f"mount --bind '{trust[0]}' /etc/ssl/certs && exec \"$@\""
    prefix = (*world.host_command(), "unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")
    running = Spawner(folder, prefix, SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="4",
                      SANDBOX_EGRESS_RESOLVER=internet.NAME_SERVER)
    running.folder = folder
    running.receive(boundary.HELLO)
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


def fetch(spawner, source, **request):
    """What the import says, what the spawner says, and which connections there were."""
    room = begin(spawner)
    send_call(room.claim, {"source": source, "max_bytes": GIB, "max_files": 50_000, "registries": ALLOWED, **request})
    _, said = follow(room.claim)
    copy = os.dup(room.egress)
    exited = end(spawner, room)
    return said, exited, records(copy)


def records(channel):
    """Every decision of the egress process about this room, up to the end of its channel."""
    data = b""
    with os.fdopen(channel, "rb") as stream:
        data = stream.read()
    found, at = [], 0
    while at < len(data):
        kind, length = egress_head(data, at)
        assert kind == egress_records.FRAME_EGRESS
        found.append(egress_records.parse(data[at + 8:at + 8 + length]))
        at += 8 + length
    return found


def egress_head(data, at):
    return int.from_bytes(data[at:at + 4], "little"), int.from_bytes(data[at + 4:at + 8], "little")


def test_an_image_of_a_registry(spawner, images):
    said, exited, seen = fetch(spawner, f"docker://{NAME}/team/agent:1")
    assert said.get("image"), said
    assert said["image"]["digest"] == images["agent"].digest and said["image"]["python"] == "/usr/local/bin/python3"
    assert exited["image_kept"] == 1
    connections = [record for record in seen if record.port == 443]
    assert connections and {(record.decision, record.address, record.host) for record in connections} == {
        ("allowed", ADDRESS, NAME)}
    assert sum(record.received for record in connections) > 50_000
    await_no_folder(spawner)


def test_of_several_platforms_the_hosts_own(spawner, images):
    said, _, _ = fetch(spawner, f"docker://{NAME}/agent-both")
    assert said.get("image"), said
    assert said["image"]["digest"] == images["agent-both"].digest


def test_what_is_not_there(spawner):
    said, exited, _ = fetch(spawner, f"docker://{NAME}/team/nothing:1")
    assert said["error"]["type"] == "fetch" and "no such image" in said["error"]["message"] and not exited["image_kept"]


def test_a_registry_that_is_not_allowed_is_not_asked(spawner, world):
    world.queries()
    said, _, seen = fetch(spawner, "docker://forbidden.test/agent")
    assert said["error"]["type"] == "registry" and seen == [] and world.queries() == []


def test_a_redirect_to_the_clouds_metadata(spawner, world):
    """Control: from the host the address answers."""
    ask = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"
    assert "hello" in world.on_host(ask, "http://169.254.169.254/")
    world.visits()
    said, _, seen = fetch(spawner, f"docker://{NAME}/agent-redirect")
    assert said["error"]["type"] == "fetch"
    assert not [visit for visit in world.visits() if visit.startswith("169.254")]
    assert ("refused", "reserved", "169.254.169.254", 80) in {record.brief for record in seen}


@pytest.mark.parametrize("host", [internet.PRIVATE, "private.test"])
def test_a_registry_at_a_private_address(spawner, world, host):
    world.visits()
    said, _, seen = fetch(spawner, f"docker://{host}/agent")
    assert said["error"]["type"] == "fetch" and world.visits() == []
    assert not [record for record in seen if record.decision == "allowed" and record.port != 53]


def test_a_certificate_that_nobody_trusts(spawner):
    said, _, _ = fetch(spawner, "docker://public.test/agent")
    assert said["error"]["type"] == "fetch" and "certificate" in said["error"]["message"]


def test_a_blob_that_is_not_what_was_asked_for(spawner):
    said, exited, _ = fetch(spawner, f"docker://{NAME}/agent-lies")
    assert said["error"]["type"] == "fetch" and not exited["image_kept"]


def test_a_blob_without_end(spawner):
    said, _, _ = fetch(spawner, f"docker://{NAME}/agent-endless", max_bytes=16 * MIB)
    assert said["error"]["type"] == "too_large", said
    await_no_folder(spawner)


def test_a_registry_that_falls_silent(spawner):
    said, _, _ = fetch(spawner, f"docker://{NAME}/agent-silent", patience_s=2)
    assert said["error"]["type"] == "fetch" and "sent nothing for 2 seconds" in said["error"]["message"]
    await_no_folder(spawner)
