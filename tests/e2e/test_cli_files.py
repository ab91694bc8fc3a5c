"""platformctl run --out: what is saved, and what a hostile sandbox cannot make it write. Against our own server."""
import base64
import os
import stat

import pytest

PNG = b"\x89PNG\r\n\x1a\n not really \x00\xff"


def encoded(content):
    return base64.b64encode(content).decode()


def file(name, content=b"content"):
    return {"name": name, "size": len(content), "content_base64": encoded(content)}


def tree(folder):
    """{path: content} of all that lies below the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_and_figures_are_saved(fake, cli, tmp_path):
    fake.will_reply(
        files=[file("a.csv", bytes(range(256))), file("deep/er/b.txt"), file("figure-1.png", b"the snippet's own"),
               file("naïve file.txt", b"")],
        results=[{"image/png": encoded(PNG), "text/plain": "<Figure>"}, {"text/plain": "42"},
                 {"image/svg+xml": "<svg>é</svg>", "text/plain": "<Figure>"},
                 {"image/jpeg": encoded(b"jpeg"), "image/png": encoded(b"png")}])
    result = cli("run", "-c", "x", "--out", "new/folder", cwd=tmp_path)
    assert (result.code, result.stdout) == (0, b"42\n")
    assert tree(tmp_path / "new/folder") == {
        "a.csv": bytes(range(256)), "deep/er/b.txt": b"content", "figure-1.png": b"the snippet's own",
        "naïve file.txt": b"", "figure-2.png": PNG, "figure-3.svg": "<svg>é</svg>".encode(), "figure-4.png": b"png"}
    assert "saved new/folder/a.csv (256 B)" in result.stderr
    assert "saved new/folder/figure-2.png" in result.stderr


def test_nothing_is_made_executable(fake, cli, tmp_path):
    fake.will_reply(files=[file("run.sh", b"#!/bin/sh\n")])
    assert cli("run", "-c", "x", "--out", tmp_path).code == 0
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) & 0o111 == 0


def test_with_json_files_are_saved_too(fake, cli, tmp_path):
    fake.will_reply(files=[file("a.csv")])
    result = cli("run", "--json", "-c", "x", "--out", tmp_path)
    assert result.code == 0 and tree(tmp_path) == {"a.csv": b"content"}
    assert "run_id" in result.stdout.decode()


def test_nothing_is_overwritten_without_force(fake, cli, tmp_path):
    fake.will_reply(files=[file("a.csv", b"new"), file("b.csv", b"new")])
    (tmp_path / "a.csv").write_bytes(b"old")
    result = cli("run", "-c", "x", "--out", tmp_path)
    assert result.code == 73
    assert "the file a.csv was not saved: it exists already; --force overwrites" in result.stderr
    assert tree(tmp_path) == {"a.csv": b"old", "b.csv": b"new"}  # the rest is saved
    assert cli("run", "-c", "x", "--out", tmp_path, "--force").code == 0
    assert tree(tmp_path) == {"a.csv": b"new", "b.csv": b"new"}
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]  # no temporary file is left


def test_the_exit_code_of_the_snippet_comes_first(fake, cli, tmp_path):
    fake.will_reply(outcome="error", exit_code=3, files=[file("../x")])
    result = cli("run", "-c", "x", "--out", tmp_path / "out")
    assert result.code == 3 and "was not saved" in result.stderr


@pytest.mark.parametrize("name", [
    "../escaped", "a/../../escaped", "/tmp/escaped-absolute", "..", ".", "a/..", "a//b", "a/", "/", "", "./a",
    ".bashrc", ".git/hooks/post-checkout", "a/.ssh/authorized_keys", "new\nline", "esc\x1b[31m", "nul\0byte", "del\x7f",
    "c1\x9b", "right-to-left\u202egpj.exe", "x" * 256, "a/" + "x" * 256, "a/" * 2500 + "b",
])
def test_names_that_are_refused(fake, cli, tmp_path, name):
    out = tmp_path / "out"
    fake.will_reply(files=[file(name), file("good")])
    result = cli("run", "-c", "x", "--out", out)
    assert result.code == 73
    assert "was not saved: " in result.stderr
    assert tree(tmp_path) == {"out/good": b"content"}
    assert sorted(os.listdir(out)) == ["good"]
    assert not os.path.exists("/tmp/escaped-absolute")


@pytest.mark.parametrize("force", [False, True])
def test_no_link_is_followed(fake, cli, tmp_path, force):
    """Links may lie in the folder from an earlier day, or be put there by somebody else."""
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (outside / "victim").write_bytes(b"untouched")
    (out / "link").symlink_to(outside / "victim")
    (out / "dangling").symlink_to(outside / "made")
    (out / "folder").symlink_to(outside)
    os.link(outside / "victim", out / "hard")
    fake.will_reply(files=[file("link"), file("dangling"), file("folder/x"), file("hard")])
    result = cli("run", "-c", "x", "--out", out, *["--force"] * force)
    assert result.code == 73
    assert "folder/x was not saved" in result.stderr
    assert tree(outside) == {"victim": b"untouched"}
    assert (out / "link").is_symlink() != force and (out / "folder").is_symlink()
    if force:  # the link itself gave way to the file
        assert (out / "link").read_bytes() == (out / "hard").read_bytes() == b"content"


def test_a_special_file_is_not_written_to(fake, cli, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    fake.will_reply(files=[file("pipe"), file("folder"), file("folder/inner")])
    (tmp_path / "folder").mkdir()
    result = cli("run", "-c", "x", "--out", tmp_path, "--force")
    assert result.code == 73  # a file cannot take the place of a folder
    assert (tmp_path / "pipe").read_bytes() == b"content"
    assert tree(tmp_path) == {"pipe": b"content", "folder/inner": b"content"}


def test_the_folder_itself_may_be_a_link(fake, cli, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    fake.will_reply(files=[file("a")])
    assert cli("run", "-c", "x", "--out", tmp_path / "out").code == 0
    assert tree(tmp_path / "real") == {"a": b"content"}


def test_a_folder_that_cannot_be_made(fake, cli, tmp_path):
    (tmp_path / "file").write_text("")
    fake.will_reply("out\n", files=[file("a")])
    result = cli("run", "-c", "x", "--out", tmp_path / "file/below")
    assert (result.code, result.stdout) == (73, b"out\n")
    assert "Not a directory" in result.stderr


@pytest.mark.parametrize("content", ["not base64!", "YQ", "YQ=", "Y===", "====", "YQ==YQ==", "YQ\n==", None, 7])
def test_content_that_is_no_base64(fake, cli, tmp_path, content):
    fake.will_reply(files=[{"name": "a", "size": 1, "content_base64": content}])
    result = cli("run", "-c", "x", "--out", tmp_path)
    assert result.code == 73 and "sent no content" in result.stderr
    assert tree(tmp_path) == {}


def test_replies_of_the_wrong_shape_do_no_harm(fake, cli, tmp_path):
    fake.will_reply(files=[7, {"name": 7}, {}, [], {"name": "ok", "content_base64": ""}],
                    results=[7, [], {"image/png": 7}], files_skipped=[7, {}], session=7, usage=[], hint={})
    result = cli("run", "-c", "x", "--out", tmp_path)
    assert result.code == 0, result
    assert tree(tmp_path) == {"ok": b""}
    fake.will_reply(files="x", results={}, files_skipped=None, exit_code="x", outcome=None)
    assert cli("run", "-c", "x", "--out", tmp_path).code == 76
