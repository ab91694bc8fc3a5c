"""No descriptor but 0, 1 and 2, and one channel that is numbered 1024 or higher, close-on-exec and useless."""

INSIDE = """
    import fcntl, json, os
    found = {}
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        try:
            found[fd] = [os.readlink(f"/proc/self/fd/{fd}"), fcntl.fcntl(fd, fcntl.F_GETFD)]
        except OSError:
            pass  # the listing's own
    print(json.dumps(found))
"""


def test_seen_from_inside(service):
    found = {int(fd): entry for fd, entry in service.run(INSIDE).printed.items()}
    low = {fd: entry[0] for fd, entry in found.items() if fd < 1024}
    assert set(low) == {0, 1, 2}, found
    assert low[1].startswith("pipe:") and low[2].startswith("pipe:") and low[1] != low[2]
    assert not low[0].startswith("socket:")
    high = {fd: entry for fd, entry in found.items() if fd >= 1024}
    assert len(high) <= 1
    assert all(flags & 1 for _, flags in high.values()), "close-on-exec"


def test_seen_from_the_host(service):
    with service.hold() as run:
        descriptors = run.process.descriptors
    assert {fd for fd in descriptors if fd < 1024} == {0, 1, 2}
    assert len(descriptors) <= 4
    for target in descriptors.values():
        assert not target.startswith("/") or target.startswith(("/dev/null", "/memfd:")), f"a path of some file system: {target}"


def test_a_child_inherits_three(service):
    reply = service.run("""
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd'), key=int))"],
                             capture_output=True, text=True, close_fds=False).stdout)
        """)
    assert eval(reply.stdout) in (["0", "1", "2", "3"], ["0", "1", "2"])  # 3 is the folder being listed


def test_streams_cannot_be_reopened_for_reading(service):
    """Standard output is the writing end of a pipe: what was printed cannot be read back or taken away."""
    reply = service.run("""
        import os
        print("first", flush=True)
        for mode in ("rb", "r+b"):
            try:
                fd = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
                print(os.read(fd, 100))
            except OSError as problem:
                print(type(problem).__name__)
        """)
    assert reply.stdout.startswith("first\n")
    assert reply.exit_code == 0
