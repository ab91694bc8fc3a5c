"""Descriptors in flight over Unix sockets, in circles and by the thousand: the kernel's garbage collector is a shared
resource, and in-flight descriptors count against no limit of the process."""
from pathlib import Path


def test_bounded_and_cleaned_up(service):
    allocated = int(Path("/proc/sys/fs/file-nr").read_text().split()[0])
    reply = service.run("""
        import errno, os, socket
        sent, problems = 0, set()
        try:
            pairs = []
            for _ in range(400):
                a, b = socket.socketpair()
                a.setblocking(False)
                pairs.append((a, b))
                for _ in range(20):
                    try:
                        socket.send_fds(a, [b"x"], [b.fileno()] * 100)
                        sent += 100
                    except OSError as problem:
                        problems.add(errno.errorcode[problem.errno])
                        break
        except OSError as problem:
            problems.add(errno.errorcode[problem.errno])
        print(sent, sorted(problems))
        """)
    sent = int(reply.stdout.split()[0])
    assert 0 < sent <= 2200 and "ETOOMANYREFS" in reply.stdout
    service.wait_pool()
    assert int(Path("/proc/sys/fs/file-nr").read_text().split()[0]) < allocated + 2000
