"""CVE-2017-5226 (bubblewrap): pushing characters into the caller's terminal with TIOCSTI, so that its shell types them."""
from support import syscalls

CODE = syscalls.PRELUDE + """
import fcntl, termios
outcome = {}
for fd in (0, 1, 2):
    for name, request, argument in (("TIOCSTI", termios.TIOCSTI, b"x"), ("TIOCLINUX", 0x541C, b"\\3" + bytes(15)),
                                    ("TIOCSCTTY", termios.TIOCSCTTY, 0), ("TIOCSETD", termios.TIOCSETD, b"\\0\\0\\0\\0"), ("TIOCCONS", termios.TIOCCONS, 0)):
        try:
            fcntl.ioctl(fd, request, argument)
            outcome[f"{name} {fd}"] = "ok"
        except OSError as problem:
            outcome[f"{name} {fd}"] = errno.errorcode[problem.errno]
try:
    os.open("/dev/tty", os.O_RDWR)
    outcome["tty"] = "opened"
except OSError as problem:
    outcome["tty"] = errno.errorcode[problem.errno]
print(json.dumps(outcome))
"""


def test_refused_by_the_filter(service):
    outcome = service.execute(CODE).printed
    assert outcome.pop("tty") in ("ENOENT", "ENXIO")
    assert set(outcome.values()) == {"EPERM"}, outcome


def test_there_is_no_terminal_to_be_had(service):
    reply = service.run("""
        import os
        try:
            print(os.openpty())
        except OSError:
            print("none")
        print(os.path.exists("/dev/ptmx"), os.path.exists("/dev/pts"), os.path.exists("/dev/console"))
        """)
    assert reply.stdout == "none\nFalse False False\n"
