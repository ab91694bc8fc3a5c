"""Making a device of one's own: the disk, kernel memory, a terminal."""
import json

from support import syscalls, unconfined

CODE = syscalls.PRELUDE + """
import stat
outcome = {}
for place in ("/tmp", "/dev/shm"):
    for name, kind, device in (("disk", stat.S_IFBLK, os.makedev(254, 0)), ("memory", stat.S_IFCHR, os.makedev(1, 1)), ("zero", stat.S_IFCHR, os.makedev(1, 5))):
        path = f"{place}/{name}"
        try:
            os.mknod(path, kind | 0o600, device)
            outcome[path] = "made"
            os.unlink(path)
        except OSError as problem:
            outcome[path] = errno.errorcode[problem.errno]
print(json.dumps(outcome))
"""


def test_refused(service):
    outcome = service.execute(CODE).printed
    assert set(outcome.values()) <= {"EPERM", "EACCES"} and len(outcome) == 6


def test_control_root_may():
    assert "made" in json.loads(unconfined.run(CODE)).values()


def test_fifos_may_be_made(service):
    assert service.run("import os; os.mkfifo('/tmp/f'); os.mknod('/tmp/g', 0o010600); print('made')").stdout == "made\n"


def test_the_five_devices_cannot_be_replaced_or_changed(service):
    reply = service.run("""
        import os
        for name in ("null", "zero", "full", "random", "urandom"):
            for action in (os.unlink, lambda p: os.chmod(p, 0o777), lambda p: os.rename(p, "/dev/x"), lambda p: os.symlink("/etc", p), lambda p: os.utime(p, (1, 1))):
                try:
                    action("/dev/" + name)
                    print("changed", name)
                except OSError:
                    pass
        print("done")
        """)
    assert reply.stdout == "done\n"
