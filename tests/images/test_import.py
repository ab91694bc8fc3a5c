"""What an honest image becomes: its files, its description, and the reasons for which one is refused."""

import json
import os
import stat
import subprocess

import pytest

from images.harness import Import
from support import oci
from support.oci import fake_python, folder, hard_link, layer, member, symlink


def test_an_archive_becomes_a_file_system(imported):
    image = oci.Image(layer(*fake_python(), folder("app"), member("app/tool.py", b"x = 1\n")), env=["LANG=C.UTF-8"],
                      working_dir="/app", labels={"org.example.team": "numbers"})
    result = imported(image)
    assert result.image == {
        "digest": image.digest, "python": "/usr/local/bin/python3", "version": "3.12",
        "env": ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"], "working_dir": "/app",
        "labels": {"org.example.team": "numbers"}, "bytes": result.image["bytes"], "files": result.image["files"],
    }
    assert result.image["files"] >= 10 and result.image["bytes"] > 20_000
    assert [step for step in dict.fromkeys(report["step"] for report in result.progress)] == [
        "fetch", "unpack", "check", "pack"]
    archive = [report for report in result.progress if report["message"] == "reading the archive" and report["total"]]
    assert archive[-1]["done"] == archive[-1]["total"] > 0
    assert not (result.folder / "archive").exists(), "the copy is not needed any more"


def test_an_archive_that_names_no_folders(private_network, tmp_path):
    """As platformctl packs it."""
    image = oci.Image(layer(*fake_python()))
    result = Import("oci-archive", image.write_oci_archive(tmp_path / "archive", folders=()))
    result.close()
    assert result.image, result.error


def test_the_same_from_docker_save(imported):
    content = layer(*fake_python(), member("app/tool.py", b"x = 1\n"))
    result = imported(oci.Image(content), "docker-archive")
    assert result.image, result.error
    assert result.image["python"] == "/usr/local/bin/python3" and result.image["digest"].startswith("sha256:")
    again = imported(oci.Image(content), "docker-archive")
    assert again.image["digest"] == result.image["digest"], "it depends on the image alone"


def test_compressed_layers(imported):
    assert imported(oci.Image(layer(*fake_python()), compress=True)).image


def test_a_digest_that_is_known_is_not_unpacked_again(imported):
    image = oci.Image(layer(*fake_python()))
    result = imported(image, known=["sha256:" + "0" * 64, image.digest])
    assert result.image == {"digest": image.digest, "known": True}
    assert not (result.folder / "rootfs").exists()


def test_later_layers_hide_and_replace(tree):
    first = layer(*fake_python(), member("etc/gone", b"1"), member("etc/stays", b"1"), member("etc/changed", b"1"),
                  member("srv/old/a", b"1"), member("srv/old/b", b"1"), symlink("srv/link", "old"))
    second = layer(member("etc/.wh.gone"), member("etc/changed", b"2"), member("srv/old/.wh..wh..opq"),
                   member("srv/old/c", b"2"), member("srv/.wh.link"), folder("srv/link"), member("srv/link/d", b"2"))
    with tree(first, second) as root:
        assert sorted(os.listdir(root / "etc")) == ["changed", "hosts", "stays"]
        assert (root / "etc/changed").read_bytes() == b"2"
        assert os.listdir(root / "srv/old") == ["c"]
        assert (root / "srv/link").is_dir() and not (root / "srv/link").is_symlink()


def test_hard_links_stay_one_file(tree):
    first = layer(*fake_python(), member("usr/bin/one", b"1" * 5000), hard_link("usr/bin/two", "usr/bin/one"))
    with tree(first, layer(hard_link("usr/bin/three", "usr/bin/one"))) as root:
        numbers = {(root / "usr/bin" / name).stat().st_ino for name in ("one", "two", "three")}
        assert len(numbers) == 1 and (root / "usr/bin/three").read_bytes() == b"1" * 5000


def test_one_user_may_read_what_is_there(tree):
    with tree(layer(*fake_python(), member("etc/shadow", b"root::\n", mode=0), folder("root", 0o700),
                    member("root/agent.py", b"pass\n", mode=0o600),
                    member("root/run", b"#!/bin/sh\n", mode=0o700))) as root:
        for name, mode in (("etc/shadow", 0o444), ("root", 0o755), ("root/agent.py", 0o644), ("root/run", 0o755)):
            assert stat.S_IMODE((root / name).stat().st_mode) == mode, name
        assert {(path.stat().st_uid, path.stat().st_gid) for path in root.rglob("*") if path.exists()} == {(0, 0)}


def test_times_of_files_stay(tree):
    """Compiled modules are good only for a source of the same age."""
    with tree(layer(*fake_python(), member("app/tool.py", b"x = 1\n"))) as root:
        assert (root / "app/tool.py").stat().st_mtime == oci.MTIME


def test_places_for_mounts(tree):
    with tree(layer(*fake_python(), symlink("tmp", "var/tmp"), member("proc", b"a file"), folder("home"))) as root:
        for name in ("proc", "dev", "tmp", "mnt/data", "home/nonroot", "opt/sandbox"):
            assert (root / name).is_dir() and not (root / name).is_symlink(), name
        assert os.readlink(root / ".sandbox/python") == "/usr/local/bin/python3"
        assert (root / "etc/hosts").is_file()


def test_a_file_of_host_names_stays_and_a_link_is_left_alone(tree):
    with tree(layer(*fake_python(), member("etc/hosts", b"1.2.3.4 own"))) as root:
        assert (root / "etc/hosts").read_bytes() == b"1.2.3.4 own"
    with tree(layer(*fake_python(), symlink("etc", "usr"))) as root:
        assert os.readlink(root / "etc") == "usr" and not (root / "usr/hosts").exists()


def test_a_working_directory_is_made(tree):
    with tree(layer(*fake_python()), working_dir="/srv/agent/work") as root:
        assert (root / "srv/agent/work").is_dir()


def test_a_virtual_environment_comes_first(imported):
    image = oci.Image(layer(*fake_python(), folder("venv/bin"), symlink("venv/bin/python3", "/usr/local/bin/python3")),
                      env=["PATH=/venv/bin:/usr/local/bin"])
    image.config["config"]["Env"] = ["PATH=/venv/bin:/usr/local/bin"]
    image.manifests.clear()
    image.tag("latest")
    assert imported(image).image["python"] == "/venv/bin/python3", "its own name: Python finds pyvenv.cfg beside it"


def test_an_image_that_umoci_made(private_network, tmp_path):
    """Another builder's idea of a layout, and a Python that works."""
    rootfs = tmp_path / "rootfs"
    rootfs.mkdir()
    python = oci.host_python_layer()
    subprocess.run(["tar", "-x", "-C", rootfs], input=python, check=True)
    oci.umoci_image(rootfs, tmp_path / "layout")
    archive = tmp_path / "archive.tar"
    subprocess.run(["tar", "-cf", archive, "-C", tmp_path / "layout", "."], check=True)
    result = Import("oci-archive", archive)
    try:
        assert result.image, result.error
        code = "import json; print(json.dumps(6 * 7))"
        answer = subprocess.run(["chroot", result.folder / "rootfs", "/.sandbox/python", "-c", code],
                                capture_output=True, text=True)
        assert (answer.stdout, answer.returncode) == ("42\n", 0), answer.stderr
    finally:
        result.close()


# ---- refused, with the reason

@pytest.mark.parametrize("members, kind, words", [
    ([folder("app")], "python", "has no Python"),
    ([member("usr/bin/python3", b"#!/bin/sh\nexit 1\n", mode=0o755)], "python", "is no program for this machine"),
    (fake_python("usr/bin/python3.9"), "python_version", "3.9; CPython 3.10 or newer"),
    ([*fake_python("usr/bin/python2.7")[:1], symlink("usr/bin/python", "python2.7"), fake_python()[-1]],
     "python_version", "2.7; CPython 3.10 or newer"),
    (fake_python()[:-1], "python", "the image does not have"),
    ([member("usr/bin/pypy3.10", fake_python()[0][1], mode=0o755), symlink("usr/bin/python3", "pypy3.10"),
      fake_python()[-1]], "python", "PyPy"),
])
def test_no_python_that_would_do(imported, members, kind, words):
    error = imported(oci.Image(layer(*members))).error
    assert error["type"] == kind and words in error["message"], error


@pytest.mark.parametrize("field, value", [("architecture", "s390x"), ("os", "windows")])
def test_another_platform(imported, field, value):
    error = imported(oci.Image(layer(*fake_python()), **{field: value})).error
    assert error["type"] == "architecture" and value in error["message"] and "linux/amd64" in error["message"]


def test_an_interpreter_for_another_machine(imported):
    members = fake_python()
    info, content = members[0]
    members[0] = (info, content[:18] + b"\xb7\x00" + content[20:])  # e_machine: AArch64
    error = imported(oci.Image(layer(*members))).error
    assert error["type"] == "python" and "no program for this machine" in error["message"]


def test_two_images_in_one_archive(imported):
    image = oci.Image(layer(*fake_python()))
    image.config["created"] = "2026-01-01T00:00:00Z"
    image.tag("second")
    error = imported(image).error
    assert error["type"] == "ambiguous" and "more than one image" in error["message"]


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"\0" * 20_000])
def test_what_is_no_archive(private_network, tmp_path, content):
    for kind in ("oci-archive", "docker-archive"):
        (tmp_path / "file").write_bytes(content)
        result = Import(kind, tmp_path / "file")
        result.close()
        assert result.error["type"] == "fetch" and result.error["message"].startswith("the image could not be read: ")
        assert result.error["message"].isprintable()


def test_the_source_is_not_believed(private_network):
    for source, kind in (("docker://evil.example/agent", "registry"), ("docker://ghcr.io.evil.example/a", "registry"),
                         ("oci:/etc", "reference"), ("docker-daemon:agent", "reference"), ("dir:/", "reference"),
                         ("docker:// --help", "reference"), ("docker://-x", "reference"), ("oci-archive", "request")):
        result = Import(source, registries="docker.io,ghcr.io")
        result.close()
        assert result.error["type"] == kind, (source, json.dumps(result.error))
