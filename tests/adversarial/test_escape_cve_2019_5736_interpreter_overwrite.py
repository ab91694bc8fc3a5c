"""CVE-2019-5736 (runc): overwriting the program that the next container is started with, through /proc/self/exe. The
interpreter of every sandbox is one file, so this would be everybody's."""
import hashlib
import os

from support.service import ROOTFS


def digest():
    with open(os.path.realpath(ROOTFS / "usr/local/bin/python3.12"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def test_no_way_to_write_it(service):
    before = digest()
    reply = service.run("""
        import errno, json, os, sys
        attempts = {
            "open": lambda: os.open("/proc/self/exe", os.O_WRONLY), "truncate": lambda: os.truncate("/proc/self/exe", 0),
            "read and write": lambda: os.open(sys.executable, os.O_RDWR), "append": lambda: open(os.path.realpath(sys.executable), "ab"),
            "unlink": lambda: os.unlink(os.path.realpath(sys.executable)), "rename": lambda: os.rename("/tmp/x", os.path.realpath(sys.executable)),
            "chmod": lambda: os.chmod(os.path.realpath(sys.executable), 0o777), "link": lambda: os.link("/proc/self/exe", "/mnt/data/exe"),
            "through a descriptor": lambda: os.open(f"/proc/self/fd/{os.open('/proc/self/exe', os.O_RDONLY)}", os.O_WRONLY),
            "through O_PATH": lambda: os.open(f"/proc/self/fd/{os.open('/proc/self/exe', os.O_PATH)}", os.O_RDWR),
            "library": lambda: os.open(next(l.split()[-1] for l in open("/proc/self/maps") if "libc.so" in l), os.O_WRONLY),
            "module": lambda: open(os.__file__, "r+"), "byte code": lambda: open(json.__cached__, "r+"),
        }
        open("/tmp/x", "w").close()
        for name, attempt in attempts.items():
            try:
                attempt()
                print("DONE", name)
            except OSError as problem:
                print(name, errno.errorcode[problem.errno])
        """)
    assert "DONE" not in reply.stdout and len(reply.stdout.splitlines()) == 13, reply
    assert digest() == before


def test_control_the_copy_of_it_can_be_written(service):
    reply = service.run("""
        import os, shutil, sys
        shutil.copyfile(os.path.realpath(sys.executable), "/tmp/python")
        with open("/tmp/python", "r+b") as file:
            file.write(b"x")
        print(open("/tmp/python", "rb").read(1))
        """)
    assert reply.stdout == "b'x'\n"
