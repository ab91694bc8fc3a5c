"""A read-only root, bounded writable places, five devices, a /proc of its own, no /sys."""
import os

import pytest

MIB = 1 << 20
WRITABLE = {"/mnt/data": 128 * MIB, "/tmp": 64 * MIB, "/home/nonroot": 64 * MIB, "/dev/shm": 64 * MIB}


@pytest.fixture(scope="module")
def held(service):
    with service.hold() as run:
        yield run


def mounts_seen_from_host(process):
    found = {}
    for line in (process.proc / "mountinfo").read_text().splitlines():
        left, right = line.split(" - ")
        fields, kind = left.split(), right.split()
        found[fields[4]] = {"options": set(fields[5].split(",")), "type": kind[0], "super": set(kind[2].split(","))}
    return found


def test_root_is_read_only_seen_from_the_host(held):
    root = mounts_seen_from_host(held.process)["/"]
    assert {"ro", "nosuid", "nodev"} <= root["options"]


def test_nothing_of_the_image_can_be_written(service):
    reply = service.run("""
        import json, os, sys
        places = ["/", "/usr", "/usr/bin", "/etc", "/opt", "/lib", "/mnt", "/home", "/proc", "/dev",
                  os.path.dirname(os.__file__), os.path.dirname(__import__("numpy").__file__)]
        outcome = {}
        for place in places:
            try:
                open(os.path.join(place, "planted"), "w").write("x")
                outcome[place] = "written"
            except OSError as problem:
                outcome[place] = type(problem).__name__ if not problem.errno else os.strerror(problem.errno)
        for path in ("/etc/passwd", sys.executable, os.__file__):
            for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC):
                try:
                    os.open(path, flags)
                    outcome[path] = "written"
                except OSError as problem:
                    outcome.setdefault(path, os.strerror(problem.errno))
        print(json.dumps(outcome))
        """)
    assert "written" not in reply.printed.values(), reply.printed
    assert len(reply.printed) == 15


def test_writable_places_take_files(service):
    """The positive control of the test above."""
    reply = service.run("""
        for place in ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm"):
            open(place + "/planted", "w").write("x")
            print(open(place + "/planted").read())
        """)
    assert reply.stdout == "x\n" * 4


@pytest.mark.parametrize("place", WRITABLE)
def test_writable_places_are_bounded_seen_from_the_host(held, place):
    mount = mounts_seen_from_host(held.process)[place]
    assert mount["type"] == "tmpfs"
    assert {"nosuid", "nodev"} <= mount["options"]
    assert ("noexec" in mount["options"]) == (place == "/dev/shm")
    shown = os.statvfs(held.process.proc / "root" / place.lstrip("/"))
    assert shown.f_blocks * shown.f_frsize == WRITABLE[place]
    assert 1000 <= shown.f_files <= 20000


@pytest.mark.parametrize("place", WRITABLE)
def test_writable_places_are_bounded_seen_from_inside(service, place):
    reply = service.run(f"""
        import errno, json, os
        place, block, wrote = {place!r}, b"x" * (1 << 20), 0
        problem = None
        with open(place + "/fill", "wb", buffering=0) as file:
            try:
                while wrote < 200 << 20:
                    wrote += file.write(block)
            except OSError as failure:
                problem = errno.errorcode[failure.errno]
        os.unlink(place + "/fill")
        files = 0
        try:
            while files < 30000:
                os.close(os.open(f"{{place}}/{{files}}", os.O_CREAT | os.O_WRONLY))
                files += 1
        except OSError as failure:
            problem = [problem, errno.errorcode[failure.errno]]
        for number in range(files):
            os.unlink(f"{{place}}/{{number}}")
        print(json.dumps([wrote, files, problem]))
        """)
    wrote, files, problem = reply.printed
    assert problem == ["ENOSPC", "ENOSPC"]
    assert WRITABLE[place] * 0.98 <= wrote <= WRITABLE[place]
    assert 1000 <= files <= 20000


def test_working_directory(service):
    reply = service.run("import os; print(os.getcwd(), os.environ['HOME'], os.listdir('.'))")
    assert reply.stdout == "/mnt/data /home/nonroot []\n"


def test_devices(service, held):
    reply = service.run("""
        import json, os, stat
        found = {}
        for name in sorted(os.listdir("/dev")):
            status = os.lstat("/dev/" + name)
            kind = "link" if stat.S_ISLNK(status.st_mode) else "folder" if stat.S_ISDIR(status.st_mode) else "device"
            found[name] = [kind, os.major(status.st_rdev), os.minor(status.st_rdev)]
        print(json.dumps(found))
        """)
    devices = {name: entry[1:] for name, entry in reply.printed.items() if entry[0] == "device"}
    assert devices == {"full": [1, 7], "null": [1, 3], "random": [1, 8], "urandom": [1, 9], "zero": [1, 5]}
    others = {name for name, entry in reply.printed.items() if entry[0] != "device"}
    assert others <= {"shm", "fd", "stdin", "stdout", "stderr"}
    assert sorted(os.listdir(held.process.proc / "root" / "dev")) == sorted(reply.printed)


def test_devices_work(service):
    reply = service.run("""
        import errno
        open("/dev/null", "w").write("gone")
        print(open("/dev/null").read() == "", open("/dev/zero", "rb").read(4), len(open("/dev/urandom", "rb").read(16)),
              len(open("/dev/random", "rb").read(16)))
        try:
            open("/dev/full", "w", buffering=1).write("x" * 9000)
        except OSError as problem:
            print(errno.errorcode[problem.errno])
        """)
    assert reply.stdout == "True b'\\x00\\x00\\x00\\x00' 16 16\nENOSPC\n"


def test_proc_shows_only_the_room(service, held):
    reply = service.run("""
        import json, os
        print(json.dumps(sorted(os.listdir("/proc"))))
        """)
    entries = reply.printed
    assert {name for name in entries if name.isdigit()} <= {"1", "2"}
    assert {name for name in entries if not name.isdigit()} <= {"self", "thread-self"}
    options = mounts_seen_from_host(held.process)["/proc"]
    assert options["type"] == "proc"
    assert {"nosuid", "nodev", "noexec"} <= options["options"]
    assert "subset=pid" in options["super"] and options["super"] & {"hidepid=invisible", "hidepid=2"}


def test_no_sys_no_host_folders(service, held):
    reply = service.run("""
        import json, os
        print(json.dumps([path for path in ("/sys", "/sys/fs/cgroup", "/run", "/boot", "/root", "/srv", "/media",
                                            "/var/run", "/proc/sys", "/proc/kcore", "/proc/cpuinfo")
                          if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path))]))
        """)
    assert reply.printed == []
    kinds = {mount["type"] for mount in mounts_seen_from_host(held.process).values()}
    assert kinds <= {"erofs", "squashfs", "ext4", "xfs", "btrfs", "overlay", "tmpfs", "proc", "devtmpfs"}
    places = set(mounts_seen_from_host(held.process))
    assert not {place for place in places if place.startswith(("/sys", "/run", "/root"))}


def test_the_old_root_is_gone(held):
    """No mount of the host is left to be found, not even one that nothing points to."""
    places = set(mounts_seen_from_host(held.process))
    known = {"/", "/proc", "/dev", "/dev/shm", "/mnt/data", "/tmp", "/home/nonroot"}
    known |= {"/dev/" + name for name in ("null", "zero", "full", "random", "urandom")}
    assert places <= known, places - known


def test_rename_between_folders_and_links_work(service):
    """Landlock refuses these with EXDEV when one right is forgotten."""
    reply = service.run("""
        import os, shutil, tempfile
        os.makedirs("a/b"); os.mkdir("c")
        open("a/b/f", "w").write("1")
        os.rename("a/b/f", "c/g"); os.link("c/g", "a/h"); os.symlink("c/g", "l"); os.replace("a/h", "c/i")
        shutil.move("c/g", tempfile.gettempdir() + "/moved")
        print(open("c/i").read(), open("/tmp/moved").read(), os.path.islink("l"))
        """)
    assert reply.stdout == "1 1 True\n"
