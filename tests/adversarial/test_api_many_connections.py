"""Hundreds of idle connections at once: the service still answers, and closes what it has to."""
import socket

from support.host import wait_until


def test_still_answers(make_service):
    service = make_service({"SANDBOX_WARM_POOL": 1, "SANDBOX_CONNECTIONS_PER_ADDRESS": 64})
    before = len(service.api.descriptors)
    sockets = []
    for _ in range(400):
        try:
            sockets.append(socket.create_connection((service.address, service.port), timeout=2))
        except OSError:
            break
    assert len(service.api.descriptors) <= before + 64 + 10, "the limit per address holds"
    for sock in sockets:
        sock.close()
    assert wait_until(lambda: len(service.api.descriptors) <= before + 2, 5)
    assert service.run("print(1)").stdout == "1\n"
    service.stop()
