"""Lookups of names in a room: answered by the egress process from the operator's name servers, bounded, and told."""

import json
import socket
import struct

import pytest

from egress import internet

# Looks names up with the C library: a line for each, its addresses or the error.
LOOK_UP = """
import json, socket, sys, time
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = sorted({each[4][0] for each in socket.getaddrinfo(name, 80, 0, socket.SOCK_STREAM)})
    except socket.gaierror as error:
        names = {socket.EAI_NONAME: "none", socket.EAI_NODATA: "none", socket.EAI_AGAIN: "again"}
        found[name] = names.get(error.errno, str(error))
print(json.dumps(found))
"""
# Sends a datagram, given in hexadecimal, to a name server and prints the answer in the same way.
DATAGRAM = """
import socket, sys
with socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.settimeout(float(sys.argv[3]))
    sock.connect((sys.argv[1], 53))
    sock.send(bytes.fromhex(sys.argv[2]))
    try:
        print(sock.recv(65536).hex())
    except TimeoutError:
        print("")
"""


def query(name, kind=internet.A, number=0x1234, flags=0x0100, count=1, tail=b"", klass=1):
    return (
        struct.pack("!HHHHHH", number, flags, count, 0, 0, 0)
        + internet.wire(name)
        + struct.pack("!HH", kind, klass)
        + tail
    )


def look_up(room, *names):
    return json.loads(room.run(LOOK_UP, *names))


def ask(room, message, address="192.0.2.1", patience=5):
    reply = bytes.fromhex(room.run(DATAGRAM, address, message.hex(), str(patience)).strip())
    return reply and struct.unpack_from("!HHHHHH", reply) + (reply[12:],)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("public.test", [internet.PUBLIC_6, internet.PUBLIC]),
        ("PUBLIC.Test", [internet.PUBLIC_6, internet.PUBLIC]),
        ("alias.test", [internet.PUBLIC_6, internet.PUBLIC]),
        ("mixed.test", [internet.PUBLIC]),
        ("unrouted.test", [internet.PUBLIC]),  # the host has no route to the other one
        ("nat64.test", ["64:ff9b::5db8:d822"]),
        ("forged.test", [internet.PUBLIC]),
    ],
)
def test_what_may_be_used(world, room, name, expected):
    assert sorted(look_up(room, name)[name]) == sorted(expected)


@pytest.mark.parametrize(
    "name, blocked",
    [
        ("private.test", "10.7.7.7"),
        ("metadata.test", "169.254.169.254"),
        ("self.test", internet.OWN),
        ("mapped.test", "10.7.7.7"),
        ("loopback.test", "127.0.0.1"),
        ("zero.test", "0.0.0.0"),
    ],
)
def test_what_is_left_out(world, room, name, blocked):
    assert look_up(room, name) == {name: "none"}
    (record,) = room.detach()
    assert (record.decision, record.rule, record.host, record.port) == ("refused", "name", name, 53)
    assert record.address in (blocked, "fd00:7::7", "::1", "::")


def test_names_that_lead_nowhere(world, room):
    names = ["missing.test", "empty.test", "loop.test"]
    assert look_up(room, *names) == dict.fromkeys(names, "none")
    assert [(record.decision, record.rule, record.host, record.address) for record in room.detach()] == [
        ("failed", "name", name, None) for name in names
    ]


def test_a_lookup_without_a_connection_is_told(world, room):
    """A name can carry data out: which were asked for must be known."""
    look_up(room, "public.test", "c2VjcmV0.missing.test", "public.test")
    assert [(record.decision, record.rule, record.host) for record in room.detach()] == [
        ("allowed", "public", "public.test"),
        ("failed", "name", "c2vjcmv0.missing.test"),
    ]


def test_numbers_and_ports_by_chance(world, room):
    look_up(room, *(f"n{number}.missing.test" for number in range(40)))
    asked = world.queries()
    assert len(asked) == 80 and {each[4] for each in asked} == {"udp"}
    assert len({each[2] for each in asked}) > 70 and len({each[3] for each in asked}) > 60


def test_an_answer_that_is_cut_short_is_asked_for_by_tcp(world, room):
    found = look_up(room, "big.test")["big.test"]
    assert len(found) > 10 and all(address.startswith("93.184.217.") for address in found)
    assert {each[4] for each in world.queries() if each[1] == internet.A} == {"udp", "tcp"}


def test_a_silent_name_server_gives_way(world, start_egress):
    egress = start_egress(resolver=f"93.184.216.99, {internet.SECOND_NAME_SERVER}")
    room = egress.room()
    assert look_up(room, "public.test")["public.test"]
    room.detach()


def test_none_that_answers(world, room):
    assert look_up(room, "silent.test") == {"silent.test": "again"}
    assert len([each for each in world.queries() if each[1] == internet.A]) >= 3


def test_one_that_fails(world, room):
    assert look_up(room, "servfail.test") == {"servfail.test": "again"}


@pytest.mark.parametrize("address", ["192.0.2.1", "127.0.0.1", "10.7.7.7", "fd00::1", "::1", "8.8.8.8"])
def test_every_address_is_a_name_server(room, address):
    number, flags, _, answers, _, _, rest = ask(room, query("v4only.test"), address)
    assert (number, flags & 0xF, answers) == (0x1234, 0, 1) and rest.endswith(socket.inet_aton(internet.PUBLIC))


def test_over_tcp_with_one_query_after_the_other(world, room):
    message = query("v4only.test")
    reply = room.run(
        """
        import socket, struct, sys
        message = bytes.fromhex(sys.argv[1])
        with socket.create_connection(("9.9.9.9", 53), timeout=10) as sock:
            for part in (struct.pack("!H", len(message)), message[:9], message[9:]):
                sock.sendall(part)
            for again in range(2):
                length, = struct.unpack("!H", sock.recv(2, socket.MSG_WAITALL))
                print(sock.recv(length, socket.MSG_WAITALL)[-4:].hex())
                sock.sendall(struct.pack("!H", len(message)) + message)
        """,
        message.hex(),
    )
    assert reply.split() == [socket.inet_aton(internet.PUBLIC).hex()] * 2


@pytest.mark.parametrize("kind", [2, 5, 6, 12, 15, 16, 33, 64, 65, 252, 255, 65535])
def test_other_types_are_not_looked_up(world, room, kind):
    _, flags, questions, answers, _, _, _ = ask(room, query("public.test", kind))
    assert (flags & 0xF, questions, answers) == (0, 1, 0)
    assert world.queries() == [] and room.detach() == []


@pytest.mark.parametrize(
    "message, code",
    [
        (query("public.test", flags=0x2900), 4),
        (query("public.test", klass=3), 5),
        (query("public.test", count=2), 1),
        (query("public.test", count=0), 1),
        (query("a" * 63 + ".test")[:-20], 1),
        (query("x y.test"), 1),
        (query("a\x01b.test"), 1),
        (struct.pack("!HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\xc0\x0c" + b"\0\1\0\1", 1),
        (query("")[:12] + b"\0\0\1\0\1", 1),
        (query(".".join(["a" * 62] * 5)), 1),
        (query("public.test", flags=0x8100), None),
        (b"\x12", None),
        (b"", None),
    ],
)
def test_queries_that_are_none(world, room, message, code):
    reply = ask(room, message, patience=5 if code is not None else 0.5)
    assert (reply[1] & 0x800F == 0x8000 | code) if code is not None else reply == b""
    assert world.queries() == []


def test_a_flood_is_slowed_down(world, shared_egress):
    """One room asks as fast as it can; another one is served all the same."""
    flooding = shared_egress.room()
    flood = flooding.start(
        """
        import os, socket, struct, sys, time
        head, tail = bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2])
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        print("flooding", flush=True)
        until = time.monotonic() + 2
        while time.monotonic() < until:
            sock.sendto(head + os.urandom(6).hex().encode() + tail, ("9.9.9.9", 53))
        """,
        (struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\x0c").hex(),
        (internet.wire("missing.test") + b"\0\1\0\1").hex(),
    )
    assert flood.stdout.readline() == b"flooding\n"
    calm = shared_egress.room()
    assert look_up(calm, "public.test")["public.test"]
    flood.communicate(timeout=20)
    calm.detach()
    told = flooding.detach()
    assert len(world.queries()) < 400 and len(told) < 400


def test_switched_off(world, start_egress):
    room = start_egress(on=False).room()
    reply = room.run("""
        import socket
        try:
            socket.getaddrinfo("public.test", 80)
        except socket.gaierror as error:
            print("no name")
        try:
            socket.create_connection(("93.184.216.34", 80), timeout=10).recv(1)
        except ConnectionResetError:
            print("reset")
        """)
    assert reply.split("\n")[:2] == ["no name", "reset"] and world.queries() == []
    assert {(record.decision, record.rule, record.host or record.address) for record in room.detach()} == {
        ("refused", "off", "public.test"),
        ("refused", "off", internet.PUBLIC),
    }
