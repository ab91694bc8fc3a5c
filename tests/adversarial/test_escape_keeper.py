"""The keeper shares the snippet's memory. The snippet rewrites the code that the keeper waits in and tries to wake it, so
that it makes calls for the snippet: it may only wait, so nothing is gained."""
from support import features, syscalls


def test_rewritten_it_does_nothing_that_the_snippet_may_not(service):
    features.need_x86_64()
    reply = service.execute(syscalls.PRELUDE + """
import re, time
# What it waits in: mov eax, SYS_ppoll (271) … syscall. Every copy in this process is followed by new code: socket(AF_INET),
# its result to a fixed address, then the same for unshare(CLONE_NEWUSER), then an endless loop.
libc.mmap.restype = ctypes.c_void_p
box = libc.mmap(ctypes.c_void_p(0x10000000), ctypes.c_size_t(4096), 3, 0x32, -1, 0)
ctypes.memset(box, 0x55, 16)
code = (bytes.fromhex("b829000000bf02000000be0100000031d20f05") + b"\\x48\\xa3" + struct.pack("=Q", box)
        + bytes.fromhex("b810010000bf000000100f05") + b"\\x48\\xa3" + struct.pack("=Q", box + 8) + b"\\xeb\\xfe")
patched = 0
for line in list(open("/proc/self/maps")):
    fields = line.split()
    if "x" not in fields[1] or len(fields) < 6 or "_confine" not in fields[5]:
        continue
    start, end = (int(part, 16) for part in fields[0].split("-"))
    text = ctypes.string_at(start, end - start)
    for match in re.finditer(bytes.fromhex("0f05"), text):
        if libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), 7) == 0:
            ctypes.memmove(start + match.end(), code, min(len(code), end - start - match.end()))
            patched += 1
for _ in range(20):
    for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGUSR1, signal.SIGTERM):
        try:
            os.kill(3, number)
        except OSError:
            pass
    time.sleep(0.01)
print(patched > 0, *struct.unpack("=qq", ctypes.string_at(box, 16)))
os.write(1, b"")
os._exit(0)
""")
    untouched = 0x5555555555555555
    patched, by_socket, by_unshare = reply.stdout.split()
    assert int(by_socket) in (untouched, -38) and int(by_unshare) in (untouched, -38), "ENOSYS, if it was woken at all"
    assert patched in ("True", "False") and reply.exit_code == 0


def test_it_cannot_be_seen_or_signalled_or_waited_for(service):
    reply = service.run("""
        import errno, os, signal
        outcome = []
        for number in (0, signal.SIGKILL, signal.SIGSTOP):
            try:
                os.kill(3, number); outcome.append("signalled")
            except OSError as problem:
                outcome.append(errno.errorcode[problem.errno])
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            outcome.append("no child")
        print(outcome, os.path.exists("/proc/3"), os.path.exists("/proc/3/mem"))
        """)
    outcome, *seen = reply.stdout.rsplit(" ", 2)
    assert seen == ["False", "False\n"]
    assert set(eval(outcome)) <= {"EPERM", "ESRCH", "no child"}


def test_it_is_confined_as_the_host_sees_it(service):
    with service.hold() as run:
        keeper = next(process for process in run.room if process.inner_pids[-1] == 3)
        assert keeper.status["Seccomp"] == "2" and keeper.status["NoNewPrivs"] == "1"
        assert {int(keeper.status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
        assert keeper.descriptors == {} and keeper.uids == run.process.uids
        assert keeper.status["Seccomp_filters"] == "2", "the template's, and its own"
