"""SIGHUP with other rules of the network: they hold for the calls to come; calls that run keep what they began with."""

import os
import signal
import time

import pytest

from boundary import calls
from boundary import harness as boundary
from egress import internet
from egress.harness import read_records
from egress.test_calls import NAMES, egress_process
from support.host import wait_until

CONNECT = f"""
import socket
result = []
for address, port in (("{internet.PUBLIC}", 80), ("{internet.PRIVATE}", 8000)):
    try:
        sock = socket.create_connection((address, port), timeout=20)
        sock.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n")
        result.append(sock.makefile("rb").read(12).decode())
    except OSError as error:
        result.append(type(error).__name__)
"""
REACHED = "HTTP/1.0 200"
REFUSED = ("ConnectionRefusedError", "ConnectionResetError")
STAYS = f"""
import socket, sys
def ask():
    sock = socket.create_connection(("{internet.PUBLIC}", 80), timeout=20)
    sock.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n")
    return sock.makefile("rb").read(12).decode()
open_all_along = socket.create_connection(("{internet.PUBLIC}", 80), timeout=20)
result = [ask()]
print("first", flush=True)
sys.stdin.readline()
result.append(ask())
open_all_along.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n")
result.append(open_all_along.makefile("rb").read(12).decode())
"""


@pytest.fixture(scope="module")
def spawner(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spawner")
    settings = folder / "sandboxd.conf"
    settings.write_text("")
    running = calls.start_spawner(folder, tuple(world.host_command()), NAMES, SANDBOX_CONFIG_FILE=str(settings),
                                  SANDBOX_EGRESS_RESOLVER=internet.NAME_SERVER)
    running.settings = settings
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


def change(spawner, *lines):
    before = egress_process(spawner).pid
    spawner.settings.write_text("".join(f"{line}\n" for line in lines))
    spawner.process.send_signal(signal.SIGHUP)
    _, descriptors = spawner.receive(boundary.SETTINGS)
    os.close(descriptors[0])
    return before


def reached(spawner):
    """What a new call gets from a public address, and from a private one at another port."""
    return calls.call(spawner, "tools:run", code=CONNECT).result


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


def test_rules_change_for_calls_to_come(spawner):
    first, second = reached(spawner)
    assert first == REACHED and second in REFUSED
    old = change(spawner, f"egress_allow = {internet.PRIVATE}:8000", f"egress_deny = {internet.PUBLIC}")
    first, second = reached(spawner)
    assert first in REFUSED and second == REACHED, "a port that the process before was not even able to reach"
    assert wait_until(lambda: is_gone(old), 15), "the one before has no room any more"
    change(spawner, "egress = off")
    assert all(each in REFUSED for each in reached(spawner))
    change(spawner)
    assert reached(spawner)[0] == REACHED
    log = spawner.log.read_text()
    assert '"setting":"SANDBOX_EGRESS_DENY"' in log and f'"to":"{internet.PUBLIC}"' in log
    assert "waits for a restart" not in log


def test_what_does_not_touch_the_network_leaves_its_process_alone(spawner):
    assert reached(spawner)[0] == REACHED
    old = change(spawner, "max_sessions = 7")
    assert reached(spawner)[0] == REACHED and egress_process(spawner).pid == old


def test_a_call_that_runs_keeps_its_rules(spawner):
    calls.create(spawner)
    room = calls.ready(spawner)
    records = os.dup(room.egress)
    calls.claim(spawner, room)
    reading, writing = os.pipe()
    room.send(calls.request_of("tools:run", {"code": STAYS}), reading)
    os.close(reading)
    assert os.read(room.stdout, 100) == b"first\n"
    old = change(spawner, f"egress_deny = {internet.PUBLIC}")
    assert reached(spawner)[0] in REFUSED, "while for others they have changed"
    os.write(writing, b"go on\n")
    os.close(writing)
    assert calls.finish(spawner, room).result == [REACHED] * 3
    told = read_records(boundary.socket.socket(fileno=records))
    assert [record.decision for record in told] == ["allowed"] * 3 and all(record.received for record in told)
    began = time.monotonic()
    assert wait_until(lambda: is_gone(old), 15) and time.monotonic() - began > 1, "it had that to tell"
    change(spawner)


def test_of_many_changes_in_a_row_two_processes_are_left(spawner):
    """Room for many is not needed: a call whose rules have changed twice has no network any more."""
    seen = [change(spawner, f"egress_deny = 192.0.2.{number}") for number in range(1, 6)]
    assert reached(spawner)[0] == REACHED
    assert wait_until(lambda: all(map(is_gone, seen)), 15)
    change(spawner)


def test_rules_that_are_none_change_nothing(spawner):
    assert reached(spawner)[0] == REACHED
    old = egress_process(spawner).pid
    spawner.settings.write_text("egress_allow = example.org\n")
    spawner.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: "the settings are not good; nothing was changed" in spawner.log.read_text(), 10)
    assert egress_process(spawner).pid == old and reached(spawner)[0] == REACHED
