"""Interfaces with a history of kernel bugs: userfaultfd, bpf, perf events, modules, kexec, System V and POSIX queues."""
import json

import pytest

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

ATTEMPTS = {
    "userfaultfd": (NUMBERS["userfaultfd"], 0),
    "userfaultfd for user mode": (NUMBERS["userfaultfd"], 1),
    "bpf map": (NUMBERS["bpf"], 0, "struct.pack('=IIII', 2, 4, 4, 1) + bytes(112)", 128),
    "perf event": (NUMBERS["perf_event_open"], "struct.pack('=IIQ', 1, 112, 0) + bytes(96)", 0, -1, -1, 0),
    "module from a file": (NUMBERS["finit_module"], 0, "b''", 0),
    "removing a module": (NUMBERS["delete_module"], "b'no-such-module'", 2048),
    "kexec": (NUMBERS["kexec_load"], 0, 99, 0, 1 << 40),
    "message queue": (240, "b'/q'", 0o102, 0o600, 0),
    "System V message queue": (68, 0, 0o1600),
    "System V shared memory": (29, 0, 4096, 0o1600),
    "System V semaphores": (64, 0, 1, 0o1600),
    "fanotify": (NUMBERS["fanotify_init"], 0, 0),
    "secret memory": (NUMBERS["memfd_secret"], 0),
    "quota": (NUMBERS["quotactl"], 0x80000100, 0, 0, 0),
    "swap": (NUMBERS["swapon"], "b'/no/such/file'", 0),
    "accounting": (NUMBERS["acct"], "b'/no/such/file'"),
    "port access": (NUMBERS["iopl"], 0),
    "segment table": (NUMBERS["modify_ldt"], 0, "ctypes.create_string_buffer(64)", 64),
    "kernel log": (NUMBERS["syslog"], 10, 0, 0),
}


@pytest.fixture(scope="module")
def outcomes(service):
    features.need_x86_64()
    code = syscalls.attempt(ATTEMPTS)
    return service.execute(code).printed, json.loads(unconfined.run(code))


@pytest.mark.parametrize("name", ATTEMPTS)
def test_refused(outcomes, name):
    inside, outside = outcomes
    assert inside[name] in ("EPERM", "ENOSYS")
    features.need(outside[name] != "ENOSYS", name)
    if outside[name] == "EPERM":
        pytest.skip("refused to root on this host as well: there is nothing to compare with")
    assert inside[name] != outside[name]
