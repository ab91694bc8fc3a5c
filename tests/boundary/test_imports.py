"""Imports of agents' images, driven by hand over the privilege boundary: the room, the file that is kept, what is removed.

What becomes of all kinds of images is in tests/images; here one goes through the real room, and comes out as one that a
tool call runs in.
"""

import os
import pathlib
import select
import subprocess
import textwrap
import time

import pytest

from boundary import calls
from boundary import harness as boundary
from boundary.harness import Spawner
from images.harness import GIB, follow, send_call
from support import oci
from support.oci import fake_python, folder, layer, member, symlink

MIB = 1 << 20
TOOLS = textwrap.dedent('''
    import os, sys

    def add(a, b):
        return a + b

    def look():
        return {"python": sys.executable, "version": list(sys.version_info[:2]), "cwd": os.getcwd(), "files": os.listdir("."),
                "uid": os.getuid(), "mode": oct(os.stat("/app/tools.py").st_mode)}
''')


@pytest.fixture(scope="module")
def spawner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    running = Spawner(folder, SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="8")
    running.folder = folder
    running.receive(boundary.HELLO)
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


@pytest.fixture
def quiet(spawner):
    while select.select([spawner.socket], [], [], 0)[0]:
        spawner.receive(*range(boundary.HELLO, boundary.IMAGE + 1))
    return spawner


def store(spawner):
    return spawner.folder / "data" / "images"


def begin(spawner, request=1, timeout_ms=100_000):
    spawner.send(type=boundary.CREATE, request=request, profile=boundary.PROFILE_IMPORT)
    room = calls.ready(spawner, request)
    calls.claim(spawner, room, timeout_ms)
    return room


def send(room, archive, source="oci-archive", **request):
    descriptor = os.open(archive, os.O_RDONLY)
    send_call(room.claim, {"source": source, "max_bytes": GIB, "max_files": 50_000, **request}, descriptor)
    os.close(descriptor)


def end(spawner, room):
    message, _ = spawner.receive(boundary.EXITED, seconds=60)
    assert (message["high"], message["low"]) == room.id
    room.close()
    return message


def whole_import(spawner, archive, source="oci-archive", **request):
    """What the import says, and what the spawner says."""
    room = begin(spawner)
    send(room, archive, source, **request)
    _, said = follow(room.claim)
    return said, end(spawner, room)


def folders(spawner):
    return sorted(name for name in os.listdir(store(spawner)) if not name.endswith(".erofs"))


def await_no_folder(spawner):
    deadline = time.monotonic() + 20
    while folders(spawner) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert folders(spawner) == []


def name_of(message):
    return f"{message['high']:016x}{message['low']:016x}.erofs"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    image = oci.Image(layer(*fake_python(), member("app/tools.py", TOOLS.encode())))
    return image.write_oci_archive(tmp_path_factory.mktemp("small") / "archive.tar")


def test_from_an_archive_to_a_call(quiet, tmp_path):
    """A Python that works, imported, called, dropped."""
    image = oci.Image(oci.host_python_layer(), layer(member("app/tools.py", TOOLS.encode(), mode=0o600)))
    said, exited = whole_import(quiet, image.write_oci_archive(tmp_path / "archive.tar"))
    assert "image" in said, said
    assert exited["image_kept"] == 1 and (exited["reason"], exited["wait_status"]) == (boundary.END_EXIT, 0)
    assert (exited["image_high"], exited["image_low"]) == (exited["high"], exited["low"])
    file = store(quiet) / name_of(exited)
    status = file.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (0, 0, 0o400)
    assert status.st_size == exited["image_bytes"] > MIB
    await_no_folder(quiet)

    number = (exited["high"], exited["low"])
    calls.create(quiet, image=number)
    room = calls.ready(quiet)
    calls.claim(quiet, room)
    room.send(calls.request_of("tools:look"))
    answer = calls.finish(quiet, room)
    assert answer.result["python"] == said["image"]["python"] == "/usr/local/bin/python3"
    assert ".".join(map(str, answer.result["version"])) == said["image"]["version"]
    assert (answer.result["uid"], answer.result["mode"]) == (65532, "0o100644")

    quiet.send(type=boundary.IMAGE_DROP, image_high=number[0], image_low=number[1])
    calls.create(quiet, image=number)
    refused, _ = quiet.receive(boundary.CREATE_FAILED)
    assert refused["error"] == 2 and not file.exists()


def test_an_image_that_is_refused_is_not_kept(quiet, tmp_path):
    image = oci.Image(layer(folder("app")))
    said, exited = whole_import(quiet, image.write_oci_archive(tmp_path / "archive.tar"))
    assert said["error"]["type"] == "python"
    assert exited["image_kept"] == 0 and exited["image_bytes"] == 0 and exited["reason"] == boundary.END_EXIT
    assert not (store(quiet) / name_of(exited)).exists()
    await_no_folder(quiet)


def test_dropped_while_it_is_used(quiet, tmp_path):
    image = oci.Image(oci.host_python_layer(), layer(member("app/tools.py", TOOLS.encode())))
    _, exited = whole_import(quiet, image.write_oci_archive(tmp_path / "archive.tar"))
    number = (exited["high"], exited["low"])
    calls.create(quiet, image=number)
    room = calls.ready(quiet)
    quiet.send(type=boundary.IMAGE_DROP, image_high=number[0], image_low=number[1])
    calls.claim(quiet, room)
    room.send(calls.request_of("tools:add", {"a": 1, "b": 2}))
    assert calls.finish(quiet, room).result == 3, "the call that has begun goes on"
    assert not (store(quiet) / name_of(exited)).exists()
    calls.create(quiet, image=number)
    assert quiet.receive(boundary.CREATE_FAILED)[0]["error"] == 2


def test_dropping_what_is_not_there(quiet, small):
    for number in ((0, 0), (1, 2), ((1 << 64) - 1,) * 2):
        quiet.send(type=boundary.IMAGE_DROP, image_high=number[0], image_low=number[1])
    assert whole_import(quiet, small)[1]["image_kept"] == 1


def test_what_the_room_is(quiet, small):
    """Seen from the host while the import waits for its archive."""
    await_no_folder(quiet)
    room = begin(quiet)
    work, = folders(quiet)
    owner = (store(quiet) / work).stat().st_uid
    children = [pid for pid in os.listdir("/proc") if pid.isdigit() and uid_of(pid) == owner]
    main, = [pid for pid in children if name_of_process(pid) == "sandbox-import"]
    status = pathlib.Path(f"/proc/{main}/status").read_text()
    values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert all(int(values[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"))
    assert values["NoNewPrivs"] == "1" and values["Seccomp"] == "2"
    for kind in ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup"):
        assert os.readlink(f"/proc/{main}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"), kind
    mounts = [line.split() for line in pathlib.Path(f"/proc/{main}/mountinfo").read_text().splitlines()]
    options = {mount[4]: set(mount[5].split(",")) for mount in mounts}
    assert set(options) >= {"/", "/usr", "/etc/ssl/certs", "/proc", "/dev", "/tmp", "/mnt/data", "/opt/sandbox/sandbox-import"}
    assert all({"nosuid"} <= flags and ("ro" in flags or place in ("/tmp", "/mnt/data", "/home/nonroot", "/dev/shm"))
               for place, flags in options.items() if not place.startswith("/dev/")), options
    assert "noexec" in options["/tmp"]
    root = pathlib.Path(f"/proc/{main}/root")
    assert sorted(os.listdir(root / "etc")) == ["ssl"] and not (root / "root").exists() and not (root / "var").exists()
    quiet.send(type=boundary.KILL, high=room.id[0], low=room.id[1], reason=boundary.END_CANCELLED)
    assert end(quiet, room)["reason"] == boundary.END_CANCELLED
    await_no_folder(quiet)


def uid_of(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid if name_of_process(pid) != "" else None
    except FileNotFoundError:
        return None


def name_of_process(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_the_time_is_over(quiet, tmp_path):
    """Meanwhile it compresses what was not."""
    image = oci.Image(layer(*fake_python(), *[member(f"f{number}", os.urandom(MIB)) for number in range(100)]))
    archive = image.write_docker_archive(tmp_path / "archive.tar")
    room = begin(quiet, timeout_ms=500)
    send(room, archive, "docker-archive")
    exited = end(quiet, room)
    assert (exited["reason"], exited["image_kept"]) == (boundary.END_TIMEOUT, 0)
    await_no_folder(quiet)


def test_times_that_an_import_may_have(quiet, small):
    """Longer than a call's; how long at most is in test_messages.py, because asking for more ends the service."""
    room = begin(quiet, timeout_ms=1_800_000)
    send(room, small)
    follow(room.claim)
    assert end(quiet, room)["image_kept"] == 1


def test_a_tree_that_is_hard_to_remove(quiet, tmp_path):
    """Deep, many, unreadable, with links to what is not to be removed: all of it goes, and nothing else."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)
    (outside / "file").write_text("stays")
    deep = [folder("/".join(["d"] * depth), 0o500) for depth in range(1, 900, 100)]
    many = [member(f"m{number % 30}/{number}", mode=0) for number in range(6000)]
    image = oci.Image(layer(*deep, *many, folder("closed", 0), symlink("closed/out", str(outside)), symlink("out", "/"),
                            member("/".join(["e"] * 700) + "/f")))
    said, _ = whole_import(quiet, image.write_oci_archive(tmp_path / "archive.tar"))
    assert said["error"]["type"] == "python", "it was unpacked, and had none"
    await_no_folder(quiet)
    assert (outside / "file").read_text() == "stays"


def test_several_at_once(quiet, small):
    rooms = [begin(quiet, request) for request in range(4)]
    assert len(folders(quiet)) == 4
    for room in rooms:
        send(room, small)
    for room in rooms:
        assert "image" in follow(room.claim)[1]
    ended = [quiet.receive(boundary.EXITED)[0] for _ in rooms]
    for room in rooms:
        room.close()
    assert {(message["high"], message["low"]) for message in ended} == {room.id for room in rooms}
    assert all(message["image_kept"] for message in ended)
    await_no_folder(quiet)


def test_images_are_named_at_the_start_and_leftovers_removed(tmp_path, small):
    data = tmp_path / "data" / "images"
    data.mkdir(parents=True)
    names = ["00000000000000010000000000000002.erofs", "ffffffffffffffffffffffffffffffff.erofs"]
    for number, name in enumerate(names):
        (data / name).write_bytes(b"x" * (number + 1))
    for name in ("short.erofs", "0000000000000001000000000000000G.erofs", "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF.erofs"):
        (data / name).write_bytes(b"x")
    (data / "11111111111111111111111111111111.erofs").symlink_to("/etc/passwd")
    left = data / "work-0123456789abcdef"
    subprocess.run(["sh", "-c", 'mkdir -p "$1/rootfs/a/b/c" && ln -s / "$1/rootfs/root" && chmod 0 "$1/rootfs/a"', "sh", left],
                   check=True)
    for path in (left, *left.rglob("*")):
        os.chown(path, 1900000005, 1900000005, follow_symlinks=False)
    running = Spawner(tmp_path, SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="2")
    try:
        running.receive(boundary.HELLO)
        named = [running.receive(boundary.IMAGE)[0] for _ in names]
        assert {(f"{one['image_high']:016x}{one['image_low']:016x}.erofs", one["image_bytes"]) for one in named} == {
            (name, number + 1) for number, name in enumerate(names)}
        assert running.receive(boundary.TEMPLATE)[0]["type"] == boundary.TEMPLATE, "no other is named"
        assert not left.exists()
    finally:
        running.stop()
