"""A small fork server for the tests, and the plain interpreter that its children are compared with.

Run by the interpreter under test:  template_process.py SOCKET-FD KIND FOLDER
KIND is "runner" (FOLDER holds sandbox_runner and its extension module; children park and serve), "cold" (the same without
warming up) or "plain" (children exec `python script`). Requests are JSON over a SOCK_SEQPACKET socket, with descriptors beside them: stdin, stdout, stderr, and for
a runner the claim channel, or the source. One request is answered before the next is read.
"""

import ctypes
import json
import os
import resource
import socket
import sys
import time

CLAIM_FD = 1030


def fresh_folders(folders) -> None:
    """In the image: memory file systems of one's own on the writable places, as in a room."""
    os.unshare(os.CLONE_NEWNS)
    libc = ctypes.CDLL(None, use_errno=True)
    for folder in folders:
        if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=64m") != 0:
            raise OSError(ctypes.get_errno(), f"mounting on {folder}")


def settle(request, fds) -> None:
    """What the fork server's C part does: streams, the claim channel out of the way, few descriptors, the folder."""
    fresh_folders(request["fresh"])
    high = [os.dup(fd) for fd in fds]
    for target, fd in enumerate(high[:3]):
        os.dup2(fd, target)
    os.dup2(high[3], CLAIM_FD, inheritable=False)
    os.closerange(3, CLAIM_FD)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    os.environ.update(request["environment"])
    os.chdir(request["workdir"])


def give_font_list() -> None:
    """An interpreter that has to make its own takes seconds for it, and says so."""
    made, folder = "/usr/local/share/matplotlib", os.environ["MPLCONFIGDIR"]
    if os.path.isdir(made):
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(made):
            os.symlink(os.path.join(made, name), os.path.join(folder, name))


def run_plain(request, fds) -> None:
    settle(request, fds)
    if request["fresh"]:
        give_font_list()
    with open(CLAIM_FD, "rb") as source, open(request["script"], "wb") as file:
        file.write(source.read())
    os.execv(sys.executable, [sys.executable, request["script"]])


def run_runner(request, fds, runner) -> None:
    settle(request, fds)
    runner.park(request["script"], request["workdir"])
    if request["hold"]:  # parked: tell the test, which then claims
        os.write(1, b"parked\n")
    runner.serve(CLAIM_FD, request["script"])


def call(request, fds, runner) -> None:
    """Runs Python source of a test in a child of the template, before anything is parked."""
    settle(request, fds)
    exec(request["call"], {"sandbox_runner": runner})
    os._exit(0)


def answer(channel, request, fds, runner) -> None:
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            channel.close()
            if request.get("call"):
                call(request, fds, runner)
            elif runner is None:
                run_plain(request, fds)
            else:
                run_runner(request, fds, runner)
        except BaseException:
            sys.__excepthook__(*sys.exc_info())
        finally:
            os._exit(99)
    for fd in fds:
        os.close(fd)
    channel.send(json.dumps({"pid": pid}).encode())
    _, status, usage = os.wait4(pid, 0)
    reply = {"status": status, "faults": usage.ru_minflt, "seconds": time.monotonic() - began}
    channel.send(json.dumps(reply).encode())


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    kind, folder = sys.argv[2:]
    runner = None
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    if kind != "plain":
        import gc

        sys.path.insert(0, folder)
        import sandbox_runner as runner

        try:
            import shared_heap  # there if the folder is the build's
        except ImportError:
            shared_heap = None
        if kind == "cold":
            runner.warmup.run_all = lambda: []
        before = set(os.listdir("/proc/self/fd"))
        if shared_heap:
            shared_heap.gather()
        runner.prepare()
        runner.warm()
        if shared_heap:
            shared_heap.settle()
        gc.collect()
        gc.freeze()
        runner.compact()
        left_open = sorted(set(os.listdir("/proc/self/fd")) - before)
        assert not left_open, f"descriptors left open: {left_open}"
    channel.send(b"{}")
    while True:
        message, fds, _, _ = socket.recv_fds(channel, 4 << 20, 8)
        if not message:
            return
        answer(channel, json.loads(message), fds, runner)


main()
