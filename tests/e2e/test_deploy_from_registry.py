"""Images that the service fetches itself: from a registry that the operator allows, at an address that the rules allow.

The registry stands in the second namespace, at addresses that are no public ones: without the operator's word nothing
in a sandbox reaches them. It serves at both, and the operator has opened one.
"""
import http.client
import json
import subprocess
import sys

import pytest

from images import registry
from support import agent_images, network
from support.cli import Cli
from support.client import Stream
from support.service import private_mounts

PORT = 5000
OPEN, CLOSED = f"{network.FAR_4}:{PORT}", f"{network.METADATA}:{PORT}"
NOBODY = f"{network.FAR_4}:5001"
TOOLS = 'from code_sandbox import tool\n\n\n@tool\ndef add(a: int, b: int) -> int:\n    """Adds."""\n    return a + b\n'


@pytest.fixture(scope="module")
def trust(tmp_path_factory):
    """The registry's certificate, in the folder of a host that trusts it."""
    folder = tmp_path_factory.mktemp("trust")
    folder.chmod(0o755)
    certificate, key = folder / "ca-certificates.crt", folder.parent / "registry.key"
    names = f"subjectAltName=IP:{network.FAR_4},IP:{network.METADATA}"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=registry", "-addext", names, "-keyout", key, "-out", certificate],
                   check=True, capture_output=True, timeout=30)
    return folder, certificate, key


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """In the registry twice: as it is, and with blobs that are not what was asked for."""
    folder = tmp_path_factory.mktemp("images")
    made = agent_images.agent({"/app/shop.py": TOOLS}, compress=True)
    for name in ("shop", "shop-lies"):
        made.write_layout(folder / name)
    made.folder = folder
    return made


@pytest.fixture(scope="module")
def serving(outside, trust, image):
    both = trust[2].with_name("registry.pem")
    both.write_text(trust[1].read_text() + trust[2].read_text())
    process = subprocess.Popen(["nsenter", "--target", str(outside.process.pid), "--net", sys.executable, "-B",
                                registry.__file__, f"0.0.0.0:{PORT}", both, image.folder],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "serving\n"
    yield
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def operated(make_service, outside, trust, serving):
    running = make_service({
        "SANDBOX_WARM_POOL": 0, "SANDBOX_REGISTRIES": f"{OPEN}, {CLOSED}, {NOBODY}",
        "SANDBOX_EGRESS_ALLOW": f"{OPEN}, {NOBODY}",
    }, launcher=private_mounts([*outside.binds, (trust[0], "/etc/ssl/certs")]))
    yield running
    assert running.stop() == 0


@pytest.fixture
def cli(operated):
    return Cli(operated.url, operated.key)


def deploy(cli, reference, agent="shop"):
    return cli("agents", "deploy", agent, "--image", f"docker://{reference}", timeout=120)


def put(service, reference, accept):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    connection.request("PUT", "/v1/agents/api", json.dumps({"image": f"docker://{reference}"}), {
        "Authorization": f"Bearer {service.key}", "Content-Type": "application/json", "Accept": accept})
    return connection, connection.getresponse()


def test_with_progress_to_a_tool_that_is_called(cli, operated, image):
    result = deploy(cli, f"{OPEN}/team/shop:1")
    assert result.code == 0, result
    said = [line.removeprefix("platformctl: ") for line in result.stderr.splitlines()]
    assert said[0] == "asking the registry" and "finding tools" in said, said
    assert said.index("unpacking layers") < said.index("finding tools")
    assert said[-1].startswith("deployed the agent shop: Python 3.")
    assert result.stdout == b"add\n"
    assert cli("call", "shop", "add", "--arg", "a=40", "--arg", "b=2", timeout=60).stdout == b"42\n"
    kept = json.loads(cli("agents", "show", "shop", "--json").stdout)
    assert f"docker://{OPEN}/team/shop:1" in json.dumps(kept) and image.digest in json.dumps(kept)
    lines = operated.get("/v1/audit?limit=1000").json["audit"]
    decisions = [line["details"] for line in lines if line["action"] == "egress"]
    assert {(each["address"], each["port"], each["decision"], each["rule"]) for each in decisions} == {
        (network.FAR_4, PORT, "allowed", "allow")}, decisions


def test_over_the_api_events_come_for_whom_they_are(operated):
    connection, response = put(operated, f"{OPEN}/shop:1", "text/event-stream")
    assert response.getheader("Content-Type").startswith("text/event-stream")
    events = [(name, data) for name, data, _ in Stream(connection, response, 0, operated.leaks)]
    connection.close()
    assert [name for name, _ in events] == ["progress"] * (len(events) - 1) + ["done"], events
    assert [data["step"] for _, data in events[:-1]][-1] == "discover" and events[-1][1]["tools"][0]["name"] == "add"
    connection, response = put(operated, f"{OPEN}/shop:1", "application/json")
    assert response.status in (200, 201) and json.load(response)["tools"][0]["name"] == "add"
    connection.close()


@pytest.mark.parametrize("reference, words", [
    ("203.0.113.2:6000/shop:1", 'takes no images from the registry "203.0.113.2:6000"'),
    (f"{OPEN}/shop:gone", "the registry has no such tag"),
    (f"{OPEN}/none:1", "the registry has no image of that name"),
    (f"{OPEN}/shop@sha256:{'0' * 64}", "the registry has nothing with that digest"),
    (f"{OPEN}/shop-lies:1", "something else than the digest says"),
    (f"{NOBODY}/shop:1", "Nobody answered at 203.0.113.2, port 5001"),
])
def test_what_is_refused_says_why(cli, reference, words):
    result = deploy(cli, reference, "nothing")
    assert result.code == 65 and words in result.stderr, result
    assert cli("agents", "show", "nothing").code != 0


def test_the_operators_rules_hold_for_registries(cli, trust):
    """Control: from outside a sandbox the same registry answers at this address as well."""
    asked = subprocess.run(["curl", "-sS", "--cacert", trust[1], "--noproxy", "*", f"https://{CLOSED}/v2/"],
                           capture_output=True, text=True, timeout=20)
    assert (asked.returncode, asked.stdout) == (0, "{}"), asked
    result = deploy(cli, f"{CLOSED}/shop:1", "nothing")
    assert result.code == 65 and "refused it a connection to 169.254.169.254, port 5000 (reserved)" in result.stderr, result
