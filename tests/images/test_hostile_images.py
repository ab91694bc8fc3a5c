"""Images made to harm: to reach files outside of their root, to fill the disk, to lie about what they are."""

import gzip
import io
import json
import os
import stat
import subprocess
import tarfile
import time

import pytest

from images.harness import NOBODY, Import
from support import oci
from support.oci import device, fake_python, folder, hard_link, layer, member, symlink

MIB = 1 << 20


@pytest.fixture
def outside(tmp_path):
    """A file that the import's user may write: whatever leaves the root could change it."""
    place = tmp_path / "victim"
    for parent in tmp_path.parents:
        if str(parent).startswith("/tmp/"):
            parent.chmod(0o711)
    tmp_path.chmod(0o777)
    subprocess.run(["sh", "-c", 'printf untouched > "$1"', "sh", place], user=NOBODY, group=NOBODY, check=True)
    yield place
    assert place.read_text() == "untouched" and sorted(os.listdir(tmp_path)) == ["0.tar", "victim"]


def up(path, steps=12):
    return "../" * steps + str(path).lstrip("/")


def test_names_that_climb(tree, outside):
    with tree(layer(*fake_python(), member(up(outside), b"changed"), member(f"a/{up(outside)}", b"changed"))) as root:
        assert (root / str(outside).lstrip("/")).read_bytes() == b"changed", "it is in the image instead"


def test_absolute_names(tree, outside):
    with tree(layer(*fake_python(), member(str(outside), b"changed"))) as root:
        assert (root / str(outside).lstrip("/")).read_bytes() == b"changed"


@pytest.mark.parametrize("absolute", [True, False])
def test_through_a_symbolic_link(tree, outside, absolute):
    target = str(outside.parent) if absolute else up(outside.parent)
    with tree(layer(*fake_python(), symlink("door", target), member("door/victim", b"changed"))):
        pass


def test_through_a_symbolic_link_of_an_earlier_layer(tree, outside):
    with tree(layer(*fake_python(), symlink("door", str(outside.parent))), layer(member("door/victim", b"changed")),
              layer(member("door/.wh.victim"), member("door/.wh..wh..opq"))):
        pass


def test_over_a_symbolic_link_to_a_file(tree, outside):
    with tree(layer(*fake_python(), symlink("victim", str(outside))), layer(member("victim", b"changed"))) as root:
        assert not (root / "victim").is_symlink() and (root / "victim").read_bytes() == b"changed"


@pytest.mark.parametrize("climbing", [True, False])
def test_a_hard_link_to_a_file_outside(imported, outside, climbing):
    """Linked, the victim would be in the image, and the next member would write to it."""
    target = up(outside) if climbing else str(outside)
    result = imported(oci.Image(layer(*fake_python(), hard_link("inside", target), member("inside", b"changed"))))
    assert result.error["type"] == "unpack", result.error
    assert outside.stat().st_nlink == 1


def test_a_whiteout_of_the_folder_above(imported, outside):
    second = layer(member(".wh...", b""), member("a/.wh...", b""), member(".wh..", b""))
    result = imported(oci.Image(layer(*fake_python()), second))
    assert result.image or result.error["type"] in ("unpack", "python")
    assert result.folder.exists()


def test_no_device_node(tree):
    with tree(layer(*fake_python(), device("dev/mem"), device("disk", block=True), device("app/memory"),
                    member("pipe", kind=tarfile.FIFOTYPE))) as root:
        kinds = {stat.S_IFMT(path.lstat().st_mode) for path in root.rglob("*")}
        assert kinds == {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}
        assert (root / "disk").stat().st_size == 0 and not (root / "pipe").exists()


def test_no_setuid_and_no_capabilities(tree):
    info, content = member("usr/bin/capable", b"#!/bin/sh\n", mode=0o755)
    info.pax_headers = {"SCHILY.xattr.security.capability": "\x01\0\0\x02\0\x04" + "\0" * 14}
    with tree(layer(*fake_python(), member("usr/bin/su", b"#!/bin/sh\n", mode=0o4755), member("g", b"", mode=0o2755),
                    folder("sticky", 0o7777), (info, content))) as root:
        for path in root.rglob("*"):
            assert not path.lstat().st_mode & 0o7000, path
        assert os.listxattr(root / "usr/bin/capable") == []


def test_a_link_where_something_is_mounted(tree):
    with tree(layer(*fake_python(), symlink("proc", "/etc"), symlink("dev", "../../.."), folder("etc"))) as root:
        assert (root / "proc").is_dir() and not (root / "proc").is_symlink() and not (root / "dev").is_symlink()


@pytest.mark.parametrize("name", ["mnt", "home", "opt"])
def test_a_link_on_the_way_to_a_mount(imported, name):
    error = imported(oci.Image(layer(*fake_python(), symlink(name, "/etc"), folder("etc")))).error
    assert error["type"] == "mount_point" and f"/{name} is a link" in error["message"]


def test_a_link_where_the_interpreter_is_named(tree, outside):
    with tree(layer(*fake_python(), symlink(".sandbox", str(outside.parent)))) as root:
        assert os.readlink(root / ".sandbox/python") == "/usr/local/bin/python3"
    with pytest.raises(FileNotFoundError):
        (outside.parent / "python").lstat()


def test_an_interpreter_that_leads_outside(imported):
    """The host has a Python at that path; the image has none."""
    for target in ("/usr/bin/python3", "../../../../../../../../usr/bin/python3", "/proc/self/exe"):
        error = imported(oci.Image(layer(folder("usr/local/bin"), symlink("usr/local/bin/python3", target)))).error
        assert error["type"] == "python" and "has no Python" in error["message"]


def test_a_working_directory_that_climbs(imported):
    error = imported(oci.Image(layer(*fake_python()), working_dir="/../../../tmp/made-by-an-import")).error
    assert error["type"] == "description" and not os.path.exists("/tmp/made-by-an-import")


# ---- too much of it

def test_a_layer_that_unpacks_to_gigabytes(imported):
    """A few hundred kilobytes that become 20 GB: it is stopped long before."""
    squeezed = io.BytesIO()
    with gzip.open(squeezed, "wb", 9) as out:
        zeros = bytes(16 * MIB)
        for number in range(20):
            info = tarfile.TarInfo(f"zeros{number}")
            info.size = GIGABYTE
            out.write(info.tobuf())
            if number == 0:  # what follows need not be there: the reader stops at the limit
                for _ in range(GIGABYTE // len(zeros)):
                    out.write(zeros)
    image = oci.Image(layer(*fake_python()))
    image.layers.append(image.add(squeezed.getvalue(), oci.LAYER + "+gzip"))
    image.config["rootfs"]["diff_ids"].append("sha256:" + "0" * 64)
    image.manifests.clear()
    image.tag("latest")
    result = imported(image, max_bytes=64 * MIB)
    assert result.error["type"] == "too_large" and "SANDBOX_IMAGE_MAX_BYTES" in result.error["message"], result.error


GIGABYTE = 1 << 30


def test_many_files_of_some_size(imported):
    members = [member(f"f{number}", bytes(MIB)) for number in range(100)]
    result = imported(oci.Image(layer(*fake_python(), *members), compress=True), max_bytes=50 * MIB)
    assert result.error["type"] == "too_large", result.error


def test_a_million_files(imported):
    members = [member(f"d{number % 50}/{number}") for number in range(20_000)]
    began = time.monotonic()
    result = imported(oci.Image(layer(*fake_python(), *members)), max_files=5_000)
    assert result.error["type"] == "too_many_files" and "5000 files" in result.error["message"], result.error
    assert time.monotonic() - began < 60


def test_a_sparse_file_of_a_terabyte(imported):
    """Old GNU format: a header that says it has a hole of nearly all its size."""
    info = tarfile.TarInfo("sparse")
    info.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"%011o\0" % 512  # stored
    header[386:398] = b"%011o\0" % ((1 << 33) - 512)  # one piece, at the end
    header[398:410] = b"%011o\0" % 512
    header[483:495] = b"%011o\0" % ((1 << 33) - 1)  # the real size
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    content = layer(*fake_python())[:-1024]
    content = content.rstrip(b"\0")
    content += bytes(-len(content) % 512) + bytes(header) + bytes(512) + bytes(1024)
    result = imported(oci.Image(content), max_bytes=256 * MIB)
    assert result.error["type"] in ("too_large", "unpack"), result.error
    used = sum(path.lstat().st_blocks * 512 for path in result.folder.rglob("*"))
    assert used < 700 * MIB


def test_an_archive_larger_than_the_limit(private_network, tmp_path):
    with open(tmp_path / "archive", "wb") as file:
        file.truncate(20 * MIB)
    result = Import("oci-archive", tmp_path / "archive", max_bytes=10 * MIB)
    result.close()
    assert result.error["type"] == "too_large"


def test_a_tree_deeper_than_paths_may_be_long(imported):
    result = imported(oci.Image(layer(*fake_python(), member("/".join(["d" * 100] * 60) + "/f", b""))))
    assert result.error["type"] == "unpack", result.error


# ---- lies

def test_a_blob_that_is_not_what_its_digest_says(imported):
    for which in ("layer", "config"):
        image = oci.Image(layer(*fake_python()))
        manifest = json.loads(image.blobs[image.digest])
        digest = image.layers[0]["digest"] if which == "layer" else manifest["config"]["digest"]
        image.blobs[digest] = image.blobs[digest].replace(b"python3", b"python2") if which == "layer" else \
            image.blobs[digest].replace(b": ", b":  ", 1)
        error = imported(image).error
        assert error["type"] == "fetch", (which, error)


def test_the_digest_is_of_what_was_imported(imported):
    """Not what the index of an archive says of it."""
    image = oci.Image(layer(*fake_python()))
    image.blobs[image.digest] = changed = image.blobs[image.digest].replace(b": ", b":  ", 1)
    result = imported(image)
    assert result.image and result.image["digest"] != image.digest
    assert result.image["digest"] == oci.digest_of(changed)


def test_a_layer_that_is_not_what_the_configuration_says(imported):
    """Compressed, it has two digests: that of the blob is right, that of what is in it is not."""
    image = oci.Image(layer(*fake_python()), compress=True)
    image.config["rootfs"]["diff_ids"] = ["sha256:" + "0" * 64]
    image.manifests.clear()
    image.tag("latest")
    error = imported(image).error
    assert error["type"] == "unpack", error


def test_names_that_are_paths_in_the_index(imported):
    image = oci.Image(layer(*fake_python()))
    image.manifests[0]["digest"] = "sha256:../../../../etc/passwd"
    assert imported(image).error["type"] == "fetch"


@pytest.mark.parametrize("env", [["no sign of equality"], ["=x"], ["A=" + "x" * 70_000],
                                 [f"V{n}=1" for n in range(2000)]])
def test_a_hostile_environment(imported, env):
    error = imported(oci.Image(layer(*fake_python()), env=env)).error
    assert error["type"] == "description" and "Env" in error["message"]


def test_a_description_nested_without_end(imported):
    image = oci.Image(layer(*fake_python()))
    image.config["config"]["Labels"] = {"x": "y" * 200_000, "a": "b"}
    image.config["deep"] = json.loads("[" * 900 + "]" * 900)
    image.manifests.clear()
    image.tag("latest")
    result = imported(image)
    assert result.image is None or len(json.dumps(result.image["labels"])) < 100_000


def test_words_of_tools_are_printable(imported):
    """What a tool says repeats names from the image; nothing in them reaches a terminal as it is."""
    name = "\x1b]0;owned\x07" + "".join(["/" + "d" * 200] * 25)
    error = imported(oci.Image(layer(*fake_python(), member(name, b"")))).error
    assert error["message"].isprintable() and len(error["message"]) < 600
