"""The kernel's buffers for a tool call's connections are bounded: the host's memory is not its to fill."""

import os
import re
import time

import pytest

from boundary import calls
from boundary import harness as boundary

MIB = 1 << 20
# Fills as many connections as it may have, all of them with itself, and waits for a line of standard input.
FILL = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 8080), backlog=500)
held, total = [], 0
for number in range(450):
    try:
        a = socket.create_connection(("127.0.0.1", 8080), timeout=1)
        b, _ = listener.accept()
    except OSError:
        break
    a.setblocking(False)
    held += [a, b]
until = time.monotonic() + 6
while time.monotonic() < until:
    before = total
    for a in held[::2]:
        try:
            total += a.send(bytes(1 << 20))
        except OSError:
            pass
    if total == before:
        break
    time.sleep(0.01)
print("filled", total, flush=True)
time.sleep(3)
result = total
"""


@pytest.fixture(scope="module")
def spawner(tmp_path_factory):
    running = calls.start_spawner(tmp_path_factory.mktemp("spawner"))
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


def socket_bytes():
    """Of the whole machine: TCP's pages are counted for all namespaces together."""
    text = open("/proc/net/sockstat").read()
    return int(re.search(r"^TCP: .* mem (\d+)$", text, re.M)[1]) * os.sysconf("SC_PAGE_SIZE")


def test_buffers_of_its_own_connections(spawner):
    before = socket_bytes()
    calls.create(spawner)
    room = calls.ready(spawner)
    calls.claim(spawner, room)
    room.send(calls.request_of("tools:run", {"code": FILL}))
    line = os.read(room.stdout, 100)
    used = socket_bytes() - before
    spawner.send(type=boundary.KILL, high=room.id[0], low=room.id[1], reason=boundary.END_CANCELLED)
    calls.finish(spawner, room)
    print(line, used)
    assert 16 * MIB < used < 128 * MIB, line
    deadline = time.monotonic() + 10
    while socket_bytes() - before > 16 * MIB and time.monotonic() < deadline:
        time.sleep(0.1)
    assert socket_bytes() - before <= 16 * MIB
