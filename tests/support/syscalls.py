"""Raw system calls from a snippet, and the table of those that the filter has to refuse.

PRELUDE is put in front of a snippet. `call(number, …)` gives "ok" or the name of the error; `alone(number, …)` does it in
a forked child, so that a call that kills is seen as such, and one that works changes nothing.
"""
from support.client import dedent

PRELUDE = dedent("""
    import ctypes, errno, json, os, signal, struct, sys
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long

    def call(number, *arguments):
        ctypes.set_errno(0)
        converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
        result = libc.syscall(ctypes.c_long(number), *converted)
        return "ok" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))

    def alone(number, *arguments):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, call(number, *arguments).encode())
            os._exit(0)
        os.close(writer)
        _, status = os.waitpid(child, 0)
        text = os.read(reader, 64).decode()
        os.close(reader)
        return text or f"signal {os.WTERMSIG(status)}"
    """)

# x86-64 numbers of the calls used in the tests.
NUMBERS = {
    "clone": 56, "ptrace": 101, "setuid": 105, "setgid": 106, "setreuid": 113, "setregid": 114, "setgroups": 116,
    "setresuid": 117, "setresgid": 119, "capset": 126, "mknod": 133, "personality": 135, "modify_ldt": 154,
    "pivot_root": 155, "chroot": 161, "acct": 163, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
    "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175,
    "delete_module": 176, "quotactl": 179, "syslog": 103, "add_key": 248, "request_key": 249, "keyctl": 250,
    "io_setup": 206, "unshare": 272, "splice": 275, "tee": 276, "vmsplice": 278, "perf_event_open": 298,
    "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "kexec_load": 246, "bpf": 321,
    "execveat": 322, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
    "landlock_create_ruleset": 444, "memfd_secret": 447, "settimeofday": 164, "clock_settime": 227, "chown": 92,
}

CLONE_FLAGS = {
    "CLONE_NEWNS": 0x00020000, "CLONE_NEWCGROUP": 0x02000000, "CLONE_NEWUTS": 0x04000000, "CLONE_NEWIPC": 0x08000000,
    "CLONE_NEWUSER": 0x10000000, "CLONE_NEWPID": 0x20000000, "CLONE_NEWNET": 0x40000000,
}


def attempt(attempts):
    """Text of a snippet that makes all attempts, each alone: {label: (number, *arguments)}; prints {label: outcome}."""
    listing = ",\n".join(f"    {label!r}: ({', '.join(map(str, arguments))},)" for label, arguments in attempts.items())
    return PRELUDE + f"attempts = {{\n{listing}\n}}\n" + dedent("""
        print(json.dumps({label: alone(*arguments) for label, arguments in attempts.items()}))
        """)
