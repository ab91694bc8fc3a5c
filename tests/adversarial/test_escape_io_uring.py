"""io_uring does file and network work past a system call filter: it must not be there at all."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

ATTEMPTS = {
    "set up": (NUMBERS["io_uring_setup"], 8, "ctypes.create_string_buffer(120)"),
    "enter": (NUMBERS["io_uring_enter"], 0, 1, 1, 0, 0, 0),
    "register": (NUMBERS["io_uring_register"], 0, 0, 0, 0),
    "old asynchronous I/O": (NUMBERS["io_setup"], 8, "ctypes.create_string_buffer(8)"),
}


def test_refused_as_unknown(service):
    features.need_x86_64()
    assert service.execute(syscalls.attempt(ATTEMPTS)).printed == dict.fromkeys(ATTEMPTS, "ENOSYS")


def test_control():
    features.need_x86_64()
    outside = json.loads(unconfined.run(syscalls.attempt(ATTEMPTS)))
    features.need(outside["set up"] != "ENOSYS", "io_uring")
    assert outside["set up"] in ("ok", "EPERM")  # EPERM where the host has switched it off by sysctl
