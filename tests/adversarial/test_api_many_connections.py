"""Hundreds of idle connections at once: the service still answers, and closes what it has to."""
import socket

from support.host import wait_until


def test_still_answers(small):
    before = len(small.api.descriptors)
    sockets = []
    for _ in range(400):
        try:
            sockets.append(socket.create_connection((small.address, small.port), timeout=2))
        except OSError:
            break
    assert len(small.api.descriptors) <= before + 64 + 10, "the limit per address holds"
    for sock in sockets:
        sock.close()
    assert wait_until(lambda: len(small.api.descriptors) <= before + 2, 5)
    assert small.run("print(1)").stdout == "1\n"
