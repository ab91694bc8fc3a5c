"""Requests abandoned at every byte: half a head, half a body, no end. Others are served meanwhile, and nothing piles up."""
import socket
import time


def test_others_are_served(service):
    whole = (b"POST /v1/execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + service.key.encode()
             + b"\r\nContent-Length: 200\r\n\r\n{\"code\": \"print(1)")
    sockets = []
    for at in range(0, len(whole), 4):
        sock = socket.create_connection((service.address, service.port), timeout=5)
        sock.sendall(whole[:at])
        sockets.append(sock)
    began = time.monotonic()
    assert service.run("print(1)").stdout == "1\n"
    assert time.monotonic() - began < 1
    for sock in sockets:
        sock.close()
    time.sleep(0.2)
    assert len(service.api.descriptors) < 200
