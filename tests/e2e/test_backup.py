"""A backup of a running service, restored elsewhere: everything is as it was."""
import io
import os
import tarfile
import threading

import pytest

from support.cli import Cli


KEYED = {"code": "import random; print(random.random())"}


def platformctl(*words):
    return Cli()(*map(str, words), timeout=100)


def picture(service, keys):
    """All that the service shows of what it keeps, by path."""
    shown = {}

    def look(path, key=None):
        response = service.get(path, **({"key": key} if key else {}))
        assert response.status == 200, (path, response)
        shown[f"{path} {key or 'admin'}"] = response.body
        return response

    look("/v1/projects?limit=1000")
    for project, key in keys.items():
        look(f"/v1/projects/{project}/keys")
        for agent in look("/v1/agents", key).json["agents"]:
            look(f"/v1/agents/{agent['name']}", key)
            look(f"/v1/agents/{agent['name']}/env", key)
        for conversation in look("/v1/conversations?limit=200", key).json["conversations"]:
            path = f"/v1/conversations/{conversation['conversation_id']}"
            for run in look(f"{path}/runs?limit=200", key).json["runs"]:
                look(f"/v1/runs/{run['run_id']}", key)
            for file in look(f"{path}/files?limit=200", key).json["files"]:
                look(file["url"], key)
    return shown


def fill(service):
    """Two projects with agents, settings, conversations, files. {project: key}"""
    keys = {}
    for project in ("one", "two"):
        assert service.post("/v1/projects", {"name": project}).status == 201
        keys[project] = key = service.post(f"/v1/projects/{project}/keys", {"label": "ä label"}).json["key"]
        service.request("PUT", "/v1/agents/robot", {}, key=key)
        service.request("PUT", "/v1/agents/robot/env/OPENAI_API_KEY", {"value": f"secret of {project}"}, key=key)
        for number in range(3):
            code = f"open('a.txt', 'w').write('{project} {number}')\nopen('b.bin', 'wb').write(bytes(300000))\n{number}"
            for _ in range(2):
                fields = {"conversation_id": f"talk-{number}", "agent": "robot"}
                reply = service.post(body={"code": code, **fields}, key=key)
                assert reply.status == 200 and reply.json["outcome"] == "ok"
        assert service.post(body=KEYED, key=key, headers={"Idempotency-Key": "once"}).status == 200
    return keys


def keep_busy(service, key, stop):
    """Conversations come and go while the backup is made."""
    number = 0
    while not stop.is_set():
        number += 1
        code = f"open('f', 'w').write('x' * {number})"
        service.post(body={"code": code, "conversation_id": f"busy-{number}"}, key=key)
        service.request("DELETE", f"/v1/conversations/busy-{number}", key=key)


@pytest.fixture(scope="module")
def saved(make_service, tmp_path_factory):
    """(archive, what the service showed, its keys, its admin key)"""
    service = make_service({"SANDBOX_WARM_POOL": 1})
    folder = tmp_path_factory.mktemp("backup")
    keys = fill(service)
    images = service.data_dir / "images"
    images.mkdir(exist_ok=True)
    (images / ("0" * 32 + ".erofs")).write_bytes(b"image")
    busy = service.post("/v1/projects/one/keys", {}).json["key"]
    before, stop = picture(service, keys), threading.Event()
    thread = threading.Thread(target=keep_busy, args=(service, service.key, stop))
    thread.start()
    try:
        results = [platformctl("backup", "--data-dir", service.data_dir, folder / f"{number}.tar.zst")
                   for number in range(3)]
    finally:
        stop.set()
        thread.join()
    assert [result.code for result in results] == [0, 0, 0], results
    assert picture(service, keys) == before and busy
    assert service.stop() == 0
    return folder / "2.tar.zst", before, keys, service


def test_everything_is_as_it_was(saved, make_service, tmp_path):
    archive, before, keys, old = saved
    data_dir = tmp_path / "data"
    result = platformctl("restore", "--data-dir", data_dir, archive)
    assert result.code == 0 and "restored" in result.stderr, result
    # Before the start, which drops images that no agent has.
    assert (data_dir / "images" / ("0" * 32 + ".erofs")).read_bytes() == b"image"
    service = make_service({"SANDBOX_WARM_POOL": 1, "SANDBOX_DATA_DIR": data_dir, "SANDBOX_ADMIN_KEY": old.key},
                           start=False)
    service.key = old.key
    service.start()
    assert picture(service, keys) == before
    reply = service.post(body={"code": "print(open('a.txt').read())", "files": [
        {"name": "a.txt", "file_id": service.get("/v1/conversations/talk-1/files?latest=1", key=keys["two"])
            .json["files"][-1]["file_id"]}]}, key=keys["two"])
    assert reply.status == 200 and reply.json["outcome"] == "ok", reply
    again = service.post(body=KEYED, key=keys["one"], headers={"Idempotency-Key": "once"})
    assert again.status == 200 and again.headers["Idempotency-Replayed"] == "true"
    log = Cli(service.url, service.key)("audit", "verify")
    assert log.code == 0, log
    assert service.stop() == 0


def test_the_archive_is_private_and_not_overwritten(saved, tmp_path):
    archive, _, _, old = saved
    assert archive.stat().st_mode & 0o777 == 0o600
    result = platformctl("backup", "--data-dir", old.data_dir, archive)
    assert result.code == 73 and "--force" in result.stderr
    assert platformctl("backup", "--force", "--data-dir", old.data_dir, archive).code == 0
    assert sorted(path.name for path in archive.parent.iterdir()) == ["0.tar.zst", "1.tar.zst", "2.tar.zst"]
    assert not list(old.data_dir.glob("service/backup*"))
    result = platformctl("backup", "--data-dir", tmp_path / "nothing", tmp_path / "x")
    assert result.code != 0 and "nothing" in result.stderr and not (tmp_path / "x").exists()


def test_on_a_terminal_it_says_how_far_it_is(saved, tmp_path):
    _, _, _, old = saved
    for words, doing in ((("backup", "--data-dir", old.data_dir, tmp_path / "b"), "saving"),
                         (("restore", "--data-dir", tmp_path / "again", tmp_path / "b"), "restoring")):
        seen = Cli().on_terminal(*map(str, words))
        assert seen.code == 0 and f"\r\x1b[K{doing}: " in seen.stdout.decode(), seen
        assert "\x1b[K" in seen.stdout.decode().rpartition("platformctl")[0], "it is gone before the last line"
    assert platformctl("backup", "--force", "--data-dir", old.data_dir, tmp_path / "b").stderr.count("\n") == 1


def test_it_works_of_a_service_that_is_stopped(saved, tmp_path):
    """And of one that left its write-ahead log behind."""
    _, _, _, old = saved
    assert platformctl("backup", "--data-dir", old.data_dir, tmp_path / "a").code == 0
    assert platformctl("restore", "--data-dir", tmp_path / "b", tmp_path / "a").code == 0


def test_a_folder_with_something_in_it_is_left_alone(saved, tmp_path):
    archive, *_ = saved
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "precious").write_text("precious")
    result = platformctl("restore", "--data-dir", tmp_path / "data", archive)
    assert result.code == 65 and "not empty" in result.stderr and "Nothing was changed" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def hostile(path, *entries):
    """A tar file of (name, kind, content)."""
    with tarfile.open(path, "w") as archive:
        for name, kind, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = kind, len(content) if kind == tarfile.REGTYPE else 0
            entry.linkname = content.decode() if kind != tarfile.REGTYPE else ""
            archive.addfile(entry, io.BytesIO(content) if kind == tarfile.REGTYPE else None)


CONTENT = "blobs/ab/ab" + "0" * 62
FILE, LINK = tarfile.REGTYPE, tarfile.SYMTYPE


@pytest.mark.parametrize("entries", [
    [("../evil", FILE, b"x")], [("/tmp/evil", FILE, b"x")], [("service/sandbox.db", FILE, b"x")],
    [("audit", LINK, b"/etc")], [("images/../../evil", FILE, b"x")], [("audit/.hidden", FILE, b"x")],
    [(CONTENT, FILE, b"other")], [("lock", FILE, b"")], [("audit/a", tarfile.LNKTYPE, b"admin-key")],
    [("sandbox.db", FILE, b"no database")], [("admin-key", FILE, b"x")], [],
], ids=str)
def test_what_is_no_backup_is_refused(tmp_path, entries):
    hostile(tmp_path / "a.tar", *entries)
    result = platformctl("restore", "--data-dir", tmp_path / "data", tmp_path / "a.tar")
    assert result.code == 65 and "Nothing was changed" in result.stderr, result
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar"] and not os.path.exists("/tmp/evil")


def test_an_archive_that_was_cut_off_is_refused(saved, tmp_path):
    archive, *_ = saved
    (tmp_path / "cut").write_bytes(archive.read_bytes()[:-2000])
    assert platformctl("restore", "--data-dir", tmp_path / "data", tmp_path / "cut").code == 65
    assert [path.name for path in tmp_path.iterdir()] == ["cut"]
