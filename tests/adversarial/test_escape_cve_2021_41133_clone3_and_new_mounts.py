"""CVE-2021-41133 (flatpak): a deny list that knew mount and clone, but not their successors. The arguments of clone3 lie
in memory, where no filter can look, so that the call as a whole is answered as by a kernel that does not have it."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

ATTEMPTS = {
    "clone3 with a user namespace": (NUMBERS["clone3"], "struct.pack('=11Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)", 88),
    "fsopen": (NUMBERS["fsopen"], "b'tmpfs'", 0),
    "fspick": (NUMBERS["fspick"], -100, "b'/'", 0),
    "open_tree with clone": (NUMBERS["open_tree"], -100, "b'/'", 1),
    "move_mount": (NUMBERS["move_mount"], -100, "b'/tmp'", -100, "b'/mnt'", 0),
    "mount_setattr": (NUMBERS["mount_setattr"], -100, "b'/'", 0, "struct.pack('=4Q', 0, 1, 0, 0)", 32),
    "fsmount": (NUMBERS["fsmount"], -1, 0, 0),
}


def test_refused_as_unknown(service):
    features.need_x86_64()
    assert service.execute(syscalls.attempt(ATTEMPTS)).printed == dict.fromkeys(ATTEMPTS, "ENOSYS")


def test_control_this_kernel_has_them():
    features.need_x86_64()
    outside = json.loads(unconfined.run(syscalls.attempt(ATTEMPTS)))
    assert outside["fsopen"] == outside["open_tree with clone"] == "ok"
    assert "ENOSYS" not in outside.values()


def test_threads_work_without_clone3(service):
    assert service.run("import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()").stdout == "1\n"
