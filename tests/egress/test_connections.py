"""Connections through the egress process: bytes, ends, limits, names in the log, and many at once."""

import json
import os
import signal
import socket
import struct
import time

import pytest

from egress import internet
from egress.harness import Egress

CONNECT = """
import socket, struct, sys, time
def connect(address, port=80):
    return socket.create_connection((address, port), timeout=20)
def all_of(sock):
    data = b""
    while part := sock.recv(1 << 20):
        data += part
    return data
"""


def test_each_direction_ends_by_itself(world, room):
    """The other side answers only once it has seen the end of what it was sent."""
    assert room.run(CONNECT + f"""
with connect("{internet.ECHO}") as sock:
    sock.sendall(b"to be said again")
    sock.shutdown(socket.SHUT_WR)
    print(all_of(sock).decode())
""") == "to be said again\n"
    (record,) = room.detach()
    assert (record.decision, record.sent, record.received) == ("allowed", 16, 16)


def test_many_bytes_in_both_directions(world, room):
    assert room.run(CONNECT + f"""
import hashlib, os, threading
data = os.urandom(8 << 20)
with connect("{internet.ECHO}") as sock:
    def send():
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
    threading.Thread(target=send).start()
    time.sleep(0.3)
    print(all_of(sock) == data)
""") == "True\n"
    (record,) = room.detach()
    assert record.sent == record.received == 8 << 20


def test_a_reader_that_takes_its_time(world, room):
    """What it does not read stays where it is: it is not piled up here."""
    process = room.start(CONNECT + f"""
with connect("{internet.STREAM}") as sock:
    time.sleep(2)
    print(len(sock.recv(1000)), flush=True)
    sys.stdin.readline()
""")
    assert process.stdout.readline() == b"1000\n"
    (record,) = room.detach()
    assert 1000 <= record.received < 32 << 20
    process.communicate(b"\n", timeout=10)


def test_a_reset_is_passed_on(world, room):
    assert room.run(CONNECT + f"""
with connect("{internet.RESET}") as sock:
    sock.sendall(b"x")
    try:
        print(all_of(sock))
    except ConnectionResetError:
        print("reset")
""") == "reset\n"


def test_what_was_sent_before_the_end_arrives(world, shared_egress):
    """Somebody who sends and does not wait: the room is gone at once, its request is not."""
    world.visits()
    room = shared_egress.room()
    process = room.start(CONNECT + f"""
import os
sock = connect("{internet.PUBLIC}")
sock.sendall(b"GET /last HTTP/1.0\\r\\n\\r\\n")
sys.stdout.write("sent"); sys.stdout.flush()
os.kill(os.getpid(), 9)
""")
    assert process.stdout.read(4) == b"sent"
    process.communicate(timeout=10)
    room.detach()
    deadline = time.monotonic() + 5
    while not (seen := world.visits()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert seen == [f"{internet.PUBLIC} /last"]


def test_the_end_of_a_room_ends_its_connections(world, room):
    process = room.start(CONNECT + f"""
sock = connect("{internet.SILENT}")
print("connected", flush=True)
sock.settimeout(20)
try:
    print(sock.recv(1))
except OSError as error:
    print(error)
""")
    assert process.stdout.readline() == b"connected\n"
    time.sleep(0.2)
    began = time.monotonic()
    (record,) = room.detach()
    assert record.brief == ("allowed", "public", internet.SILENT, 80)
    process.communicate(timeout=10)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "request_line, host",
    [
        ("GET / HTTP/1.1\\r\\nHost: Claimed.Example\\r\\n\\r\\n", "claimed.example"),
        ('GET / HTTP/1.1\\r\\nHost: a\\"b\\\\n{}\\r\\n\\r\\n', ""),
        ("\\x16\\x03\\x01\\x00\\x05\\x01\\x00\\x00\\x01\\x00", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_connection(world, room, request_line, host):
    room.run(CONNECT + f"""
with connect("{internet.ECHO}") as sock:
    for byte in b"{request_line}":
        sock.send(bytes([byte]))
    sock.shutdown(socket.SHUT_WR)
    all_of(sock)
""")
    (record,) = room.detach()
    assert record.host == host


def test_a_name_that_was_looked_up_counts_more(world, room):
    """What a connection says of itself is taken if it has been looked up; else the lookup is what it came from."""
    room.run(CONNECT + """
for name in ("shared-a.test", "shared-b.test"):
    socket.getaddrinfo(name, 80)
for host in ("shared-a.test", "shared-b.test", "innocent.example"):
    with connect("93.184.216.40") as sock:
        sock.sendall(f"GET /hello HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n".encode())
        all_of(sock)
""")
    assert [record.host for record in room.detach()] == ["shared-a.test", "shared-b.test", "shared-b.test"]


def test_more_connections_at_a_time_than_there_may_be(world, room):
    reply = json.loads(
        room.run(
            CONNECT + f"""
import json
socks, reset = [], 0
for number in range(150):
    socks.append(connect("{internet.SILENT}"))
for sock in socks:
    sock.settimeout(0.02 if reset < 22 else 0.001)
    try:
        sock.recv(1)
    except ConnectionResetError:
        reset += 1
    except TimeoutError:
        pass
print(json.dumps(reset))
""",
            seconds=60,
        )
    )
    assert reply == 22
    records = room.detach()
    assert len([record for record in records if record.rule == "limit"]) == 22
    assert len([record for record in records if record.rule == "public"]) == 128


def test_everything_that_a_room_may_do(world, shared_egress):
    """After so many, its own kernel refuses; the last record says so, and others go on."""
    room = shared_egress.room()
    reply = json.loads(
        room.run(
            CONNECT + """
import json
counts = {}
for number in range(1500):
    try:
        with connect("10.7.7.7") as sock:
            sock.recv(1)
        what = "nothing"
    except OSError as error:
        what = type(error).__name__
    counts[what] = counts.get(what, 0) + 1
print(json.dumps(counts))
""",
            seconds=60,
        )
    )
    assert reply["ConnectionResetError"] >= 999 and reply["ConnectionRefusedError"] >= 400
    records = room.detach()
    assert len(records) == 1000 and {record.rule for record in records[:-1]} == {"reserved"}
    assert records[-1].brief == ("refused", "limit", None, 0)
    another = shared_egress.room()
    assert "200 OK" in another.run(CONNECT + f"""
with connect("{internet.PUBLIC}") as sock:
    sock.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n")
    print(all_of(sock).decode())
""")
    another.detach()


def test_what_the_operator_allows_and_denies(world, start_egress):
    egress = start_egress(
        allow="10.7.7.7:8000, fd00:7::/64, 10.7.7.0/24:80 198.41.0.0/16", deny="93.184.216.39, 2606::/16"
    )
    room = egress.room()
    reply = room.run(
        CONNECT + """
for address, port in (("10.7.7.7", 8000), ("10.7.7.7", 80), ("fd00:7::7", 80), ("10.7.7.7", 443),
                      ("93.184.216.34", 8000),
                      ("93.184.216.39", 80), ("2606:2800:220::34", 80), ("198.41.0.10", 80)):
    try:
        with connect(address, port) as sock:
            sock.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n")
            print("reached" if all_of(sock) else "nothing")
    except ConnectionResetError:
        print("reset")
""",
        ports=[8000],
    )
    assert reply.split() == ["reached"] * 3 + ["reset"] * 5
    assert [record.rule for record in room.detach()] == ["allow"] * 3 + ["reserved", "port", "deny", "deny", "reserved"]


def test_twenty_rooms_at_once(world, shared_egress):
    rooms = [shared_egress.room() for _ in range(20)]
    processes = [room.start(CONNECT + f"""
for again in range(3):
    with connect("{internet.PUBLIC}") as sock:
        sock.sendall(b"GET /big HTTP/1.0\\r\\n\\r\\n")
        print(len(all_of(sock)) > 4 << 20)
""") for room in rooms]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert out.split() == [b"True"] * 3, err
    for room in rooms:
        assert [record.decision for record in room.detach()] == ["allowed"] * 3


def test_nothing_is_left_behind(world, shared_egress):
    fds = f"/proc/{shared_egress.process.pid}/fd"
    for _ in range(2):  # the first may leave something for good
        before = len(os.listdir(fds))
        rooms = [shared_egress.room() for _ in range(5)]
        for room in rooms:
            room.run(CONNECT + f"""
socket.getaddrinfo("public.test", 80)
for address in ("{internet.PUBLIC}", "10.7.7.7", "{internet.SILENT}"):
    try:
        connect(address)
    except ConnectionResetError:
        pass
""")
        for room in rooms:
            room.detach()
    assert len(os.listdir(fds)) == before


# ---- who hands rooms over, and who listens


def test_an_api_process_that_hangs_up(world, shared_egress):
    """Nothing is let through that nobody hears of."""
    room = shared_egress.room()
    process = room.start(CONNECT + f"""
sock = connect("{internet.SILENT}")
print("connected", flush=True)
try:
    print(sock.recv(1))
except ConnectionResetError:
    pass
try:
    connect("{internet.PUBLIC}")
except ConnectionRefusedError:
    print("refused")
""")
    assert process.stdout.readline() == b"connected\n"
    time.sleep(0.2)
    room.channel.close()
    out, err = process.communicate(timeout=10)
    assert out.split()[-1] == b"refused", err
    shared_egress.order(2, room.number)
    room.attached = False


def test_an_api_process_that_does_not_read(world, start_egress):
    egress = start_egress()
    room = egress.room()
    room.channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    room.run(
        CONNECT + """
for number in range(900):
    try:
        with connect("10.7.7.7") as sock:
            sock.recv(1)
    except OSError:
        pass
""",
        seconds=60,
    )
    other = egress.room()  # served as ever
    assert other.run(CONNECT + f'print(bool(connect("{internet.PUBLIC}")))') == "True\n"
    other.detach()
    assert len(room.detach()) == 900


def test_orders_that_are_none(world, start_egress):
    egress = start_egress()
    egress.orders.send(struct.pack("<IIQ", 9, 0, 1))
    egress.orders.send(struct.pack("<IIQ", 1, 0, 1))  # without descriptors
    egress.order(2, 77)
    room = egress.room()
    assert room.run(CONNECT + f'print(bool(connect("{internet.PUBLIC}")))') == "True\n"
    room.detach()


def test_a_room_that_hands_over_something_else(world, start_egress):
    """It does not, as the code that does is ours; but nothing that comes by that way does any harm."""
    egress = start_egress()
    room = egress.room()
    left, right = socket.socketpair()
    with open("/dev/null") as null:
        socket.send_fds(room.inside, [b"L"], [left.fileno(), null.fileno()])
    room.inside.close()
    assert room.detach() == []
    room = egress.room()
    room.inside.close()
    assert room.detach() == []
    left.close()
    right.close()


def test_it_ends_with_the_service(world):
    egress = Egress(world.host_command, resolver=internet.NAME_SERVER)
    room = egress.room()
    process = room.start(CONNECT + f"""
connect("{internet.SILENT}")
print("connected", flush=True)
sys.stdin.readline()
""")
    assert process.stdout.readline() == b"connected\n"
    assert egress.stop() == 0
    assert room.channel.recv(1 << 16) == b""
    process.communicate(b"\n", timeout=10)


def test_signals_that_stop_the_service_do_not_stop_it(world, start_egress):
    """Calls that still run while the service stops keep their network."""
    egress = start_egress()
    first = egress.room()
    first.run("")
    first.detach()  # it runs, then
    room = egress.room()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGPIPE):
        egress.process.send_signal(number)
    assert room.run(CONNECT + f'print(bool(connect("{internet.PUBLIC}")))') == "True\n"
    room.detach()


def test_cpu_is_not_burnt_for_a_peer_that_hangs_up_and_a_room_that_does_not_read(world, start_egress):
    """The rest of the answer and its end wait here, and epoll would tell of that again and again."""
    egress = start_egress()
    room = egress.room()
    process = room.start(CONNECT + f"""
sock = connect("{internet.PUBLIC}")
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sock.sendall(b"GET /some HTTP/1.0\\r\\n\\r\\n")
sock.shutdown(socket.SHUT_WR)
time.sleep(1)
print("waiting", flush=True)
sys.stdin.readline()
""")
    assert process.stdout.readline() == b"waiting\n"

    def ticks():
        fields = open(f"/proc/{egress.process.pid}/stat").read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(1)
    assert ticks() - before < 0.2 * os.sysconf("SC_CLK_TCK")
    process.communicate(b"\n", timeout=10)
    room.detach()
