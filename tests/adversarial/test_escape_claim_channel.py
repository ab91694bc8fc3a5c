"""The one descriptor that a snippet has beyond its streams: whatever is written to it or done with it changes nothing but
that run's own results."""
import pytest

FIND = """
import fcntl, json, os, socket, struct
channels = [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
channels = [fd for fd in channels if os.path.exists(f"/proc/self/fd/{fd}")]
channels += [fd for fd in range(1024, 1100) if fd not in channels]
"""


@pytest.mark.parametrize("name, attack", {
    "garbage": "os.write(fd, os.urandom(100000))",
    "zeros": "os.write(fd, bytes(100000))",
    "a started frame again": "os.write(fd, struct.pack('=II', 2, 0) * 1000)",
    "a result of four gigabytes": "os.write(fd, struct.pack('=II', 3, 0xffffffff) + b'x' * 1000)",
    "a result that is no JSON": "os.write(fd, struct.pack('=II', 3, 5) + b'{{{{{')",
    "a result with wrong types": "os.write(fd, struct.pack('=II', 3, 17) + b'{\"text/plain\": 1}')",
    "a result that is not UTF-8": "os.write(fd, struct.pack('=II', 3, 20) + b'{\"text/plain\": \"\\xff\\xfe\"}')",
    "a result that nests deeply": "d = b'[' * 100000; os.write(fd, struct.pack('=II', 3, len(d)) + d)",
    "thousands of results": "d = b'{\"text/plain\": \"x\"}'; [os.write(fd, struct.pack('=II', 3, len(d)) + d) for _ in range(5000)]",
    "a file frame": "os.write(fd, struct.pack('=II', 35, 40) + struct.pack('=IIQ', 11, 0, 13) + b'/etc/passwd' + b'x' * 13)",
    "half a frame": "os.write(fd, b'\\3\\0')",
    "closing it": "os.close(fd)",
    "shutting it down": "socket.socket(fileno=os.dup(fd)).shutdown(2)",
    "passing descriptors": "socket.send_fds(socket.socket(fileno=os.dup(fd)), [b'x'], [0, 1, 2] * 20)",
    "filling it": "os.set_blocking(fd, False); [os.write(fd, bytes(65536)) for _ in range(1000)]",
    "replacing it": "os.dup2(1, fd)",
}.items())
def test_it_is_useless(service, name, attack):
    reply = service.execute(FIND + f"""
for fd in channels:
    try:
        {attack}
    except OSError:
        pass
print("printed")
""", timeout_s=3)
    assert reply.outcome == "ok" and reply.exit_code == 0, (name, reply)
    assert reply.stdout == "printed\n" and reply.files == []
    assert len(reply.results) <= 100
