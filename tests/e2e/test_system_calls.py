"""System calls that the filter refuses, each compared with what an unconfined process gets for the same call."""
import json

import pytest

from support import features, syscalls, unconfined
from support.syscalls import CLONE_FLAGS, NUMBERS

# Arguments that change nothing even where the call is allowed: bad pointers, bad flags, missing names.
N = NUMBERS
REFUSED_WITH_EPERM = {
    "mount": (N["mount"], 0, 0, 0, 0, 0),
    "umount2": (N["umount2"], 0, 0),
    "unshare user": (N["unshare"], CLONE_FLAGS["CLONE_NEWUSER"]),
    "unshare mount": (N["unshare"], CLONE_FLAGS["CLONE_NEWNS"]),
    "unshare network": (N["unshare"], CLONE_FLAGS["CLONE_NEWNET"]),
    "setns": (N["setns"], -1, 0),
    "ptrace": (N["ptrace"], 0, 0, 0, 0),
    "process_vm_readv": (N["process_vm_readv"], 1, 0, 0, 0, 0, 0),
    "process_vm_writev": (N["process_vm_writev"], 1, 0, 0, 0, 0, 0),
    "bpf": (N["bpf"], 999, 0, 0),
    "perf_event_open": (N["perf_event_open"], 0, 0, -1, -1, 0),
    "keyctl": (N["keyctl"], 0, -3, 0),
    "add_key": (N["add_key"], 0, 0, 0, 0, -3),
    "request_key": (N["request_key"], 0, 0, 0, -3),
    "open_by_handle_at": (N["open_by_handle_at"], -1, 0, 0),
    "kcmp": (N["kcmp"], 1, 1, 99, 0, 0),
    "pivot_root": (N["pivot_root"], 0, 0),
    "reboot": (N["reboot"], 0, 0, 0, 0),
    "swapon": (N["swapon"], 0, 0),
    "init_module": (N["init_module"], 0, 0, 0),
    "delete_module": (N["delete_module"], 0, 0),
    "acct": (N["acct"], 1),
    "modify_ldt": (N["modify_ldt"], 99, 0, 0),
    "setuid": (N["setuid"], 65533),
    "setgid": (N["setgid"], 65533),
}
REFUSED_WITH_ENOSYS = {
    "clone3": (N["clone3"], 0, 0),
    "io_uring_setup": (N["io_uring_setup"], 0, 0),
    "io_uring_enter": (N["io_uring_enter"], -1, 0, 0, 0, 0, 0),
    "userfaultfd": (N["userfaultfd"], -1),
    "fsopen": (N["fsopen"], 0, 0),
    "open_tree": (N["open_tree"], -1, 0, 0),
    "move_mount": (N["move_mount"], -1, 0, -1, 0, 0),
    "mount_setattr": (N["mount_setattr"], -1, 0, 0, 0, 0),
    "splice": (N["splice"], -1, 0, -1, 0, 0, 0),
    "vmsplice": (N["vmsplice"], -1, 0, 0, 0),
    "process_madvise": (N["process_madvise"], -1, 0, 0, 0, 0),
    "memfd_secret": (N["memfd_secret"], -1),
    "landlock_create_ruleset": (N["landlock_create_ruleset"], 0, 0, 99),
    "fanotify_init": (N["fanotify_init"], -1, 0),
    "io_setup": (N["io_setup"], 0, 0),
    "an unknown number": (10_000, 0),
}


@pytest.fixture(scope="module")
def outcomes(service):
    features.need_x86_64()
    attempts = {**REFUSED_WITH_EPERM, **REFUSED_WITH_ENOSYS}
    inside = service.execute(syscalls.attempt(attempts)).printed
    outside = json.loads(unconfined.run(syscalls.attempt(attempts)))
    return inside, outside


@pytest.mark.parametrize("name", REFUSED_WITH_EPERM)
def test_refused_with_eperm(outcomes, name):
    inside, outside = outcomes
    features.need(outside[name] != "ENOSYS", f"system call for {name}")
    assert inside[name] == "EPERM"
    if name == "init_module" and outside[name] == "EPERM":
        pytest.skip("this host takes no kernel modules, so the control says the same")
    assert outside[name] != "EPERM", "the control: without the filter the answer is another one"


@pytest.mark.parametrize("name", REFUSED_WITH_ENOSYS)
def test_refused_with_enosys(outcomes, name):
    """Libraries take these for an old kernel and fall back."""
    inside, outside = outcomes
    assert inside[name] == "ENOSYS"
    if name != "an unknown number":
        features.need(outside[name] != "ENOSYS", f"system call for {name}")


@pytest.mark.parametrize("flag", CLONE_FLAGS)
def test_clone_with_a_namespace_flag_is_refused(service, flag):
    features.need_x86_64()
    code = syscalls.PRELUDE + f"""
pid = libc.syscall(ctypes.c_long({N["clone"]}), ctypes.c_long({CLONE_FLAGS[flag]} | signal.SIGCHLD), 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
print(errno.errorcode[ctypes.get_errno()] if pid < 0 else os.waitpid(pid, 0)[1])
"""
    assert service.execute(code).stdout == "EPERM\n"
    assert unconfined.run(code) == "0\n"


def test_plain_clone_and_fork_work(service):
    code = syscalls.PRELUDE + f"""
pid = libc.syscall(ctypes.c_long({N["clone"]}), ctypes.c_long(signal.SIGCHLD), 0, 0, 0, 0)
if pid == 0:
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert service.execute(code).stdout == "3\n"


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK"])
def test_sockets_of_other_families_are_refused(service, family):
    code = f"""
        import errno, socket
        numbers = {{"AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17, "AF_VSOCK": 40}}
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            try:
                socket.socket(numbers[{family!r}], kind).close()
                print("ok")
            except OSError as problem:
                print(errno.errorcode[problem.errno])
        """
    assert service.run(code).stdout == "EAFNOSUPPORT\n" * 3
    if family == "AF_VSOCK" and "ok" not in unconfined.run(code):
        pytest.skip("this kernel has no AF_VSOCK, so there is nothing to refuse")
    assert "ok" in unconfined.run(code)


def test_a_refused_call_ends_in_an_exception_not_in_a_killed_process(service):
    reply = service.run("""
        import os
        try:
            os.chroot("/tmp")
        except PermissionError as problem:
            print("refused:", problem.strerror)
        print("still here")
        """)
    assert reply.stdout == "refused: Operation not permitted\nstill here\n" and reply.outcome == "ok"
