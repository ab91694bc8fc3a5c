"""Runs the egress process with a test in the place of the spawner and of the api process, and code in a room's place.

``Egress`` starts ``sandboxd-egress`` as sandboxd does. ``Room`` is a network namespace that the product's own
network_open() has furnished; ``Room.run`` runs Python in it as an unprivileged user, and ``Room.detach`` returns what the
egress process told of it. The messages are those of src/egress/protocol.h and src/spawn/frames.h.
"""

import dataclasses
import fcntl
import ipaddress
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import tempfile
import textwrap
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SANDBOX_BUILD_DIR", HERE.parents[1] / "build"))
ATTACH, DETACH = 1, 2
FRAME_EGRESS = 24
DECISIONS = {1: "allowed", 2: "refused", 3: "failed"}
RULES = {
    1: "public",
    2: "allow",
    3: "deny",
    4: "off",
    5: "reserved",
    6: "name",
    7: "limit",
    8: "unreachable",
    9: "port",
}
RECORD = struct.Struct("<IIHHI16sQQQ")
UID_BASE = 1_950_000_000


@dataclasses.dataclass
class Record:
    """One FRAME_EGRESS."""

    decision: str
    rule: str
    address: str | None
    port: int
    host: str
    sent: int
    received: int
    opened_ms: int

    @property
    def brief(self):
        return (self.decision, self.rule, self.address, self.port)


def parse(payload):
    decision, rule, family, port, host_length, address, sent, received, opened = RECORD.unpack_from(payload)
    host = payload[RECORD.size :]
    assert len(host) == host_length
    size = {4: 4, 6: 16, 0: 0}[family]
    assert not any(address[size:])
    text = str(ipaddress.ip_address(address[:size])) if size else None
    return Record(DECISIONS[decision], RULES[rule], text, port, host.decode("ascii"), sent, received, opened)


def read_records(channel, seconds=10):
    """Reads an egress channel up to its end. They are told when they end; here they are sorted by when they began."""
    data, deadline = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([channel], [], [], max(0, deadline - time.monotonic()))
        assert ready, "the channel does not end"
        part = channel.recv(1 << 20)
        if not part:
            break
        data += part
    found = []
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert kind == FRAME_EGRESS and len(data) >= 8 + length
        found.append(parse(data[8 : 8 + length]))
        data = data[8 + length :]
    return sorted(found, key=lambda record: record.opened_ms)


class Room:
    def __init__(self, egress, number):
        self.egress, self.number = egress, number
        self.inside, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel, their_channel = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        egress.order(ATTACH, number, [theirs, their_channel])
        theirs.close()
        their_channel.close()
        self.attached = True

    def start(self, code, *arguments, ports=(), program=None):
        """Python code in the room, as a process with pipes. One process a room: it makes the namespace."""
        fd = self.inside.fileno()
        os.set_inheritable(fd, True)
        command = [BUILD / "tests" / "egress" / "in_room", str(fd), *map(str, ports), "--"]
        command += program or ["/usr/bin/python3", "-B", "-c", textwrap.dedent(code)]
        process = subprocess.Popen(
            [*command, *arguments],
            pass_fds=[fd],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
        )
        self.inside.close()
        return process

    def run(self, code, *arguments, ports=(), seconds=30, program=None):
        """Its standard output; anything but success fails the test."""
        process = self.start(code, *arguments, ports=ports, program=program)
        out, err = process.communicate(timeout=seconds)
        assert process.returncode == 0, err.decode()
        return out.decode()

    def detach(self):
        self.egress.order(DETACH, self.number)
        self.attached = False
        records = read_records(self.channel)
        self.channel.close()
        return records


class Egress:
    def __init__(self, host_command, resolver="", allow="", deny="", on=True):
        """``host_command`` makes a command one that runs on the host of the tests' world."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.orders, self.last_number, self.ended = ours, 0, False
        self.folder = tempfile.TemporaryDirectory()
        self.log = tempfile.TemporaryFile()
        environment = {
            "PATH": os.environ["PATH"],
            "SANDBOX_UID_BASE": str(UID_BASE),
            "SANDBOX_EGRESS": "on" if on else "off",
            "SANDBOX_EGRESS_ALLOW": allow,
            "SANDBOX_EGRESS_DENY": deny,
            "SANDBOX_EGRESS_RESOLVER": resolver,
        }
        root = os.open(self.folder.name, os.O_PATH | os.O_DIRECTORY)
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 200) for fd in (theirs.fileno(), root)]
        start = f'exec "{BUILD}/sandboxd-egress" 3<&{high[0]} 4<&{high[1]}'
        self.process = subprocess.Popen(
            host_command("bash", "-c", start), env=environment, stderr=self.log, pass_fds=high
        )
        theirs.close()
        for fd in (root, *high):
            os.close(fd)

    def order(self, kind, number, descriptors=()):
        message = struct.pack("<IIQ", kind, 0, number)
        socket.send_fds(self.orders, [message], [each.fileno() for each in descriptors])

    def room(self):
        self.last_number += 1
        return Room(self, self.last_number)

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode()

    def stop(self, seconds=10):
        """Hangs up, as the spawner's end does, and returns the exit status."""
        self.orders.close()
        self.ended = True
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            raise
        finally:
            self.folder.cleanup()
