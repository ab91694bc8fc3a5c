"""Tool calls with the real spawner, in a host with a way to the tests' internet: what they reach, and who tells of it."""

import os
import re
import signal
import socket
import subprocess
import time

import pytest

from boundary import calls
from boundary import harness as boundary
from egress import internet
from egress.harness import read_records
from egress.test_reach import FORBIDDEN, HELLO, HOST_SERVER
from support.host import Process

NAMES = {"/etc/nsswitch.conf": "hosts: files dns\n", "/etc/resolv.conf": ""}  # as other images have it
FETCH = """
import json, ssl, urllib.request
context = ssl.create_default_context(cadata=trust)
result = []
for url in urls:
    try:
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
        result.append(opener.open(url, timeout=20).read().decode()[:40])
    except OSError as error:
        result.append(type(getattr(error, "reason", error)).__name__)
"""


@pytest.fixture(scope="module")
def spawner(world, tmp_path_factory):
    server = subprocess.Popen(world.host_command("/usr/bin/python3", "-B", "-c", HOST_SERVER), stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"listening\n"
    running = calls.start_spawner(
        tmp_path_factory.mktemp("spawner"),
        tuple(world.host_command()),
        NAMES,
        SANDBOX_EGRESS_RESOLVER=internet.NAME_SERVER,
    )
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()
    server.kill()
    server.wait()


def call_with_records(spawner, code):
    """Runs lines that set `result`; returns it, and what the egress process told."""
    calls.create(spawner)
    room = calls.ready(spawner)
    channel = socket.socket(fileno=os.dup(room.egress))
    calls.claim(spawner, room)
    room.send(calls.request_of("tools:run", {"code": code}))
    answer = calls.finish(spawner, room)
    return answer.result, read_records(channel)


def fetch(world, spawner, *urls):
    return call_with_records(spawner, f"trust, urls = {world.trust!r}, {urls!r}\n" + FETCH)


def egress_process(spawner):
    """The youngest child of the spawner with that name; None while there is none."""
    found = None
    for pid in open(f"/proc/{spawner.process.pid}/task/{spawner.process.pid}/children").read().split():
        try:
            if open(f"/proc/{pid}/comm").read() == "sandboxd-egress\n":
                found = Process(int(pid))
        except OSError:
            pass  # another child, which has just ended
    return found


def descriptors_of(process):
    """What kinds there are, once rooms that have just ended are given up."""
    deadline = time.monotonic() + 5
    while len(os.listdir(process.proc / "fd")) > 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    return sorted(
        re.sub(r":?\[.*", "", os.readlink(process.proc / "fd" / name)) for name in os.listdir(process.proc / "fd")
    )


def test_a_page_over_http_and_https(world, spawner):
    found, records = fetch(
        world,
        spawner,
        "http://public.test/hello",
        "https://public.test/hello",
        "http://public.test/redirect?to=https://v4only.test/hello",
        f"http://{internet.PUBLIC}/hello",
    )
    assert found == [HELLO] * 4
    assert [(record.decision, record.rule, record.host, record.port) for record in records] == [
        ("allowed", "public", host, port)
        for host, port in (
            ("public.test", 80),
            ("public.test", 443),
            ("public.test", 80),
            ("v4only.test", 443),
            ("v4only.test", 80),
        )
    ]
    assert all(record.sent and record.received for record in records)


def test_nothing_that_it_must_not_reach(world, spawner):
    world.visits()
    urls = [*FORBIDDEN, "http://public.test/redirect?to=http://169.254.169.254/", "http://private.test/hello"]
    found, records = fetch(world, spawner, *urls)
    assert found == ["ConnectionResetError"] * (len(urls) - 1) + ["gaierror"]
    refused = [record for record in records if record.decision == "refused"]
    assert [record.address for record in refused] == [*FORBIDDEN.values(), "169.254.169.254", refused[-1].address]
    assert {record.rule for record in refused[:-1]} == {"reserved"} and refused[-1].rule == "name"
    assert {visit.split()[0] for visit in world.visits()} <= {internet.PUBLIC, internet.PUBLIC_6}


def test_calls_do_not_reach_each_other(spawner):
    """One listens on every address that it can, the other one tries them."""
    calls.create(spawner, 1)
    listening = calls.ready(spawner)
    calls.claim(spawner, listening)
    listening.send(
        calls.request_of(
            "tools:run",
            {"code": """
import socket, sys
socks = [socket.create_server((a, 8080), family=f) for a, f in (("0.0.0.0", socket.AF_INET), ("::", socket.AF_INET6))]
print("listening", flush=True)
socks[0].settimeout(20)
try:
    socks[0].accept()
    result = "reached"
except TimeoutError:
    result = "nobody came"
"""},
        )
    )
    assert os.read(listening.stdout, 100) == b"listening\n"
    found = calls.call(
        spawner,
        "tools:run",
        code="""
import socket
result = []
for address in ("127.0.0.1", "::1", "10.0.0.1", "93.184.216.34"):
    try:
        socket.create_connection((address, 8080), timeout=5)
        result.append("reached")
    except ConnectionRefusedError:
        result.append("refused")
""",
    )
    assert found.result == ["refused"] * 4
    spawner.send(type=boundary.KILL, high=listening.id[0], low=listening.id[1], reason=boundary.END_CANCELLED)
    calls.finish(spawner, listening)


def test_the_process_is_jailed(spawner):
    process = egress_process(spawner)
    status = process.status
    uid_base = 1_900_000_000
    assert (
        set(status["Uid"].split()) == set(status["Gid"].split()) == {str(uid_base + 65537)} and status["Groups"] == ""
    )
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == ("1", "2", "1")
    assert os.listdir(process.proc / "root") == []
    environment = (process.proc / "environ").read_bytes().split(b"\0")
    assert {each.partition(b"=")[0].decode() for each in environment if each} == {
        "SANDBOX_UID_BASE",
        "SANDBOX_LOG_LEVEL",
        "SANDBOX_EGRESS",
        "SANDBOX_EGRESS_ALLOW",
        "SANDBOX_EGRESS_DENY",
        "SANDBOX_EGRESS_RESOLVER",
    }
    kinds = descriptors_of(process)
    assert kinds.count("socket") == 2 and kinds.count("anon_inode") == 1  # orders, routes; the loop
    assert len(kinds) == 6  # and the standard streams


def test_when_it_dies_it_is_started_again(world, spawner):
    """Whoever makes it fall takes the network from the calls of that moment, and nothing else from anybody."""
    calls.create(spawner)
    room = calls.ready(spawner)
    calls.claim(spawner, room)
    room.send(
        calls.request_of(
            "tools:run",
            {"code": f"""
import socket, sys, time
sock = socket.create_connection(("{internet.SILENT}", 80), timeout=20)
print("connected", flush=True)
result = []
try:
    result.append(sock.recv(1).decode())
except OSError as error:
    result.append(type(error).__name__)
try:
    socket.create_connection(("{internet.PUBLIC}", 80), timeout=20)
except OSError as error:
    result.append(type(error).__name__)
"""},
        )
    )
    assert os.read(room.stdout, 100) == b"connected\n"
    killed = egress_process(spawner)
    os.kill(killed.pid, signal.SIGKILL)
    answer = calls.finish(spawner, room)
    assert answer.result[0] in ("ConnectionResetError", "") and answer.result[1] == "ConnectionRefusedError"
    deadline = time.monotonic() + 20
    while (fresh := egress_process(spawner)) is None or fresh.pid == killed.pid:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "the egress process died" in spawner.log.read_text()
    assert fetch(world, spawner, "http://public.test/hello")[0] == [HELLO]


def test_the_channel_ends_with_the_sandbox(spawner):
    """A call that is killed in the middle of a connection is told of as well."""
    calls.create(spawner)
    room = calls.ready(spawner)
    channel = socket.socket(fileno=os.dup(room.egress))
    calls.claim(spawner, room)
    room.send(
        calls.request_of(
            "tools:run",
            {"code": f"""
import socket, time
sock = socket.create_connection(("{internet.SILENT}", 80))
sock.send(b"abc")
time.sleep(0.3)
print("connected", flush=True)
time.sleep(60)
"""},
        )
    )
    assert os.read(room.stdout, 100) == b"connected\n"
    spawner.send(type=boundary.KILL, high=room.id[0], low=room.id[1], reason=boundary.END_CANCELLED)
    calls.finish(spawner, room)
    (record,) = read_records(channel)
    assert record.brief == ("allowed", "public", internet.SILENT, 80) and record.sent == 3
