"""A client that goes away takes its run with it, at whatever stage, and frees its place."""
import json
import socket
import struct
import time

import pytest

from support.host import wait_until
from support.service import PROCESSES_PER_ROOM


def send(service, code, **fields):
    """A request on a bare socket, sent and not read."""
    body = json.dumps({"code": code, **fields}).encode()
    sock = socket.create_connection((service.address, service.port), timeout=10)
    sock.sendall(b"POST /v1/execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                 b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (service.key.encode(), len(body)) + body)
    return sock


def reset(sock):
    """Closes with a reset, as a client does that crashes."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def running_room(service):
    return wait_until(lambda: next((room for room in service.rooms().values() if len(room) > PROCESSES_PER_ROOM), None), 10)


BUSY = "import subprocess, time; subprocess.Popen(['sleep', '99'], start_new_session=True); time.sleep(99)"


@pytest.mark.parametrize("end", [reset, socket.socket.close], ids=["reset", "close"])
def test_the_sandbox_is_dead_within_a_second(service, end):
    service.wait_pool()
    sock = send(service, BUSY, timeout_s=30)
    room = running_room(service)
    assert room
    end(sock)
    began = time.monotonic()
    assert wait_until(lambda: not any(process.alive for process in room), 5), "it runs on"
    assert time.monotonic() - began < 1.0
    service.wait_pool()


def test_at_every_stage(service):
    """Closed after the first bytes, in the body, right after the request, and at moments of a run that lasts 100 ms."""
    for pause in [None, 0, 0.001, 0.005, 0.02, 0.05, 0.09, 0.1, 0.11, 0.15, 0.3]:
        sock = send(service, "import time; time.sleep(0.1); open('f', 'w').write('x' * 1000000); print('y' * 500000)")
        if pause is not None:
            time.sleep(pause)
        reset(sock)
    for part in (1, 20, 80, 200):
        sock = socket.create_connection((service.address, service.port), timeout=10)
        sock.sendall((b"POST /v1/execute HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + service.key.encode()
                      + b"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"code\": \"pri")[:part])
        reset(sock)
    assert service.run("print(6 * 7)").stdout == "42\n"
    service.wait_pool()


def test_while_waiting_in_the_queue(small):
    """One that leaves the queue is never started, and its place is free."""
    with small.hold() as first, small.hold() as second:
        waiting = [send(small, "print(1)", timeout_s=5) for _ in range(3)]
        time.sleep(0.3)
        assert small.post(body={"code": "print(1)"}).status == 503
        for sock in waiting:
            reset(sock)
        time.sleep(0.3)
        late = send(small, "print('late')")
        time.sleep(0.2)
        first.release()
        second.release()
        late.settimeout(10)
        assert b"late" in late.recv(65536)
    small.wait_pool()


def test_with_large_inputs_on_their_way(service):
    body_part = b'{"code": "print(1)", "files": [{"name": "a", "content": "' + b"x" * 3_000_000
    for _ in range(3):
        sock = socket.create_connection((service.address, service.port), timeout=10)
        sock.sendall(b"POST /v1/execute HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + service.key.encode()
                     + b"\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n" + body_part)
        reset(sock)
    assert service.run("print(1)").stdout == "1\n"
    service.wait_pool()
