"""platformctl agents deploy: what is packed and sent, what is shown meanwhile, what comes of it. Against our own server."""
import io
import json
import os
import tarfile

import pytest

from support import oci
from support.fake_api import KEY, error
from support.oci import fake_python, layer, member

DONE = {"name": "my-agent", "image": "sha256:" + "a" * 64, "python": "3.12.7",
        "tools": [{"name": "add"}, {"name": "fetch_page"}]}
PROGRESS = [("progress", {"step": "fetch", "done": 10, "total": 100, "message": "reading the archive"}),
            ("progress", {"step": "unpack", "done": 5_000_000, "total": None, "message": "unpacking layers"})]


@pytest.fixture
def image():
    return oci.Image(layer(*fake_python()), layer(member("app/tools.py", b"x = 1\n")))


@pytest.fixture
def layout(image, tmp_path):
    return image.write_layout(tmp_path / "layout")


def answers(fake, kind, *events):
    fake.changes["PUT", f"/v1/agents/my-agent/image?kind={kind}"] = [lambda handler: handler.stream(*events)]


def sent(fake):
    """The archive that was uploaded last, as {name: content}."""
    _, headers, body = fake.requests[-1]
    assert headers["Content-Type"] == "application/x-tar" and headers["Authorization"] == f"Bearer {KEY}"
    assert int(headers["Content-Length"]) == len(body)
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        assert all(info.isfile() for info in archive)
        return {info.name: archive.extractfile(info).read() for info in archive}


def test_a_layout_is_packed_and_sent(fake, cli, image, layout):
    answers(fake, "oci-archive", *PROGRESS, ("done", DONE))
    result = cli("agents", "deploy", "my-agent", "--image", f"oci:{layout}")
    assert result.code == 0, result
    assert result.stdout.decode() == "add\nfetch_page\n"
    assert result.stderr.splitlines() == [
        "platformctl: packing the image", "platformctl: sending the image", "platformctl: reading the archive",
        "platformctl: unpacking layers", "platformctl: deployed the agent my-agent: Python 3.12.7, 2 tools"]
    files = sent(fake)
    assert {name: content for name, content in files.items() if name.startswith("blobs/")} == {
        name: content for name, content in image.files().items() if name.startswith("blobs/")}
    assert json.loads(files["index.json"])["manifests"] == image.manifests
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}


def test_of_several_images_one_is_sent(fake, cli, image, tmp_path):
    only_in_first = image.digest
    image.config["created"] = "2026-01-01T00:00:00Z"
    image.tag("v2")
    image.write_layout(tmp_path / "a:b")  # a colon of the folder's own
    answers(fake, "oci-archive", ("done", DONE))
    assert cli("agents", "deploy", "my-agent", "--image", f"oci:{tmp_path}/a:b:v2").code == 0
    files = sent(fake)
    assert [entry["digest"] for entry in json.loads(files["index.json"])["manifests"]] == [image.digest]
    assert f"blobs/sha256/{only_in_first.split(':')[1]}" not in files
    assert len(files) == 2 + 2 + 2, "index and marker, manifest and configuration, two layers"

    result = cli("agents", "deploy", "my-agent", "--image", f"oci:{tmp_path}/a:b")
    assert (result.code, result.stderr.splitlines()[-1]) == (
        66, "platformctl: the layout has several images; name one, as oci:DIR:TAG. It has: latest v2")
    result = cli("agents", "deploy", "my-agent", "--image", f"oci:{tmp_path}/a:b:v3")
    assert result.code == 66 and 'no image with the tag "v3"; it has: latest v2' in result.stderr


@pytest.mark.parametrize("kind", ["oci-archive", "docker-archive"])
def test_an_archive_is_sent_as_it_is(fake, cli, image, tmp_path, kind):
    path = tmp_path / "file"
    (image.write_oci_archive if kind == "oci-archive" else image.write_docker_archive)(path)
    answers(fake, kind, ("done", DONE))
    result = cli("agents", "deploy", "my-agent", "--image", f"{kind}:{path}", "--json")
    assert (result.code, json.loads(result.stdout)) == (0, DONE)
    assert fake.requests[-1][2] == path.read_bytes()


def test_a_reference_is_left_to_the_service(fake, cli):
    reference = "docker://ghcr.io/acme/agent:1.2"
    fake.changes["PUT", "/v1/agents/my-agent"] = [lambda handler: handler.stream(*PROGRESS, ("done", DONE))]
    assert cli("agents", "deploy", "my-agent", "--image", reference).code == 0
    assert "text/event-stream" in fake.headers["Accept"], "else it answers once, at the end"
    assert fake.body == {"image": reference} and fake.headers["Content-Type"] == "application/json"


def test_why_it_was_not_deployed(fake, cli, image, tmp_path):
    path = image.write_oci_archive(tmp_path / "file")
    answers(fake, "oci-archive", *PROGRESS, ("error", error("invalid_image", "the image has no Python\x1b[2J")))
    result = cli("agents", "deploy", "my-agent", "--image", f"oci-archive:{path}")
    assert result.code == 65 and "the image has no Python" in result.stderr and "\x1b" not in result.stderr
    answers(fake, "oci-archive", *PROGRESS, "cut")
    result = cli("agents", "deploy", "my-agent", "--image", f"oci-archive:{path}")
    assert result.code == 69 and "ended" in result.stderr
    fake.changes["PUT", "/v1/agents/my-agent/image?kind=oci-archive"] = [(413, error("too_large", "at most 4 GiB"))]
    result = cli("agents", "deploy", "my-agent", "--image", f"oci-archive:{path}")
    assert result.code == 65 and "at most 4 GiB" in result.stderr


def test_on_a_terminal_one_line_is_written_anew(fake, cli, image, tmp_path):
    path = image.write_oci_archive(tmp_path / "file")
    answers(fake, "oci-archive", *PROGRESS, ("progress", {"step": "x", "message": "\x1b]0;owned\x07"}), ("done", DONE))
    seen = cli.on_terminal("agents", "deploy", "my-agent", "--image", f"oci-archive:{path}").stdout.decode()
    assert "sending the image: " in seen and "of " in seen and "%)" in seen
    assert "\r\x1b[K" in seen and "deployed the agent my-agent" in seen
    assert "\x1b]0;" not in seen


@pytest.mark.parametrize("reference, code, words", [
    ("agent:latest", 64, "--image takes oci:DIR[:TAG]"),
    ("oci:/nowhere", 66, "cannot open the folder /nowhere"),
    ("oci-archive:/nowhere", 66, "cannot read /nowhere"),
    ("docker-archive:/tmp", 66, "is no file"),
])
def test_what_cannot_be_sent(fake, cli, reference, code, words):
    result = cli("agents", "deploy", "my-agent", "--image", reference)
    assert result.code == code and words in result.stderr, result
    assert fake.requests == []


def test_a_layout_that_lies(fake, cli, image, tmp_path):
    """Only what is named by a digest is read: the archive goes to a service."""
    (tmp_path / "secret").write_text("secret")
    image.manifests[0]["digest"] = "sha256:../../../secret"
    layout = image.write_layout(tmp_path / "layout")
    result = cli("agents", "deploy", "my-agent", "--image", f"oci:{layout}")
    assert result.code == 66 and "no sha256 digest" in result.stderr
    assert fake.requests == [] and os.path.exists(tmp_path / "secret")
