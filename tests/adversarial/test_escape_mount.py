"""Mounting something new, moving what is there, or taking a mount away, each by the bare system call."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

ATTEMPTS = {
    "tmpfs over the working directory": (NUMBERS["mount"], "b'none'", "b'/mnt'", "b'tmpfs'", 0, 0),
    "proc": (NUMBERS["mount"], "b'proc'", "b'/mnt'", "b'proc'", 0, 0),
    "cgroup2": (NUMBERS["mount"], "b'none'", "b'/mnt'", "b'cgroup2'", 0, 0),
    "bind of the root": (NUMBERS["mount"], "b'/'", "b'/mnt'", 0, 4096 | 16384, 0),
    "remount writable": (NUMBERS["mount"], 0, "b'/'", 0, 32 | 4096, 0),
    "make shared": (NUMBERS["mount"], 0, "b'/'", 0, 1 << 20, 0),
    "unmount": (NUMBERS["umount2"], "b'/mnt'", 2),
}


def test_every_attempt_is_refused(service):
    features.need_x86_64()
    inside = service.execute(syscalls.attempt(ATTEMPTS)).printed
    assert set(inside.values()) == {"EPERM"}, inside


def test_control_they_work_unconfined():
    features.need_x86_64()
    outside = json.loads(unconfined.run(syscalls.attempt(ATTEMPTS)))
    assert outside["tmpfs over the working directory"] == outside["bind of the root"] == outside["unmount"] == "ok"
