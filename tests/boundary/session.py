"""A stateful session driven by hand over the boundary and the sandbox's own channels, as the api process does it."""

import array
import json
import os
import select
import socket
import struct
import time

from boundary import harness as boundary
from boundary.harness import Sandbox, Spawner


def read_all(fd: int, seconds: float = 10) -> bytes:
    """A pipe up to its end."""
    parts, deadline = [], time.monotonic() + seconds
    while select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
        part = os.read(fd, 65536)
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


class Session:
    """One room and the interpreter in it."""

    def __init__(self, spawner: Spawner, sandbox: Sandbox) -> None:
        self.spawner = spawner
        self.sandbox = sandbox
        self.sandbox.claim.settimeout(30)
        self.sandbox.work.settimeout(30)

    def close(self) -> None:
        self.sandbox.claim.close()
        self.sandbox.work.close()

    def message(self, type: int, **fields: int) -> None:
        self.spawner.send(type=type, high=self.sandbox.id[0], low=self.sandbox.id[1], **fields)

    def claim(self, timeout_ms: int = 10_000) -> None:
        self.message(boundary.CLAIM, timeout_ms=timeout_ms, flags=boundary.CLAIM_SESSION)

    def send_cell(self, code: str) -> tuple[int, int]:
        """Returns the read ends of its stdout and stderr."""
        source = code.encode()
        null = os.open("/dev/null", os.O_RDONLY)
        out, out_inside = os.pipe()
        err, err_inside = os.pipe()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null, out_inside, err_inside]))]
        frame = struct.pack("<II", boundary.FRAME_CELL, len(source)) + source
        sent = self.sandbox.claim.sendmsg([frame], rights)
        self.sandbox.claim.sendall(frame[sent:])
        for fd in (null, out_inside, err_inside):
            os.close(fd)
        return out, err

    def await_end(self) -> tuple[int, list]:
        """Reads up to FRAME_CELL_END: the exit code, and the results."""
        results = []
        while True:
            kind, payload = frame_of(self.sandbox.claim)
            if kind == boundary.FRAME_RESULT:
                results.append(json.loads(payload))
            if kind == boundary.FRAME_CELL_END:
                return struct.unpack("<i", payload)[0], results

    def call(self, code: str, timeout_ms: int = 10_000) -> tuple[int, str, str, list]:
        """One call from claim to rest: exit code, stdout, stderr, results."""
        self.claim(timeout_ms)
        out, err = self.send_cell(code)
        exit_code, results = self.await_end()
        self.message(boundary.REST)
        self.usage, _ = self.spawner.receive(boundary.RESTED)
        assert (self.usage["high"], self.usage["low"]) == self.sandbox.id
        text = [read_all(fd).decode() for fd in (out, err)]
        os.close(out)
        os.close(err)
        return exit_code, *text, results

    def send_input(self, name: str, content: bytes) -> None:
        head = struct.pack("<IIQ", len(name.encode()), 0, len(content)) + name.encode() + content
        self.sandbox.work.sendall(struct.pack("<II", boundary.FRAME_INPUT, len(head)) + head)

    def end_inputs(self, flags: int | None = None) -> dict[str, int]:
        """Returns the error of each input that did not fit."""
        payload = b"" if flags is None else struct.pack("<I", flags)
        self.sandbox.work.sendall(struct.pack("<II", boundary.FRAME_INPUTS_END, len(payload)) + payload)
        failed = {}
        while True:
            kind, payload = frame_of(self.sandbox.work)
            if kind == boundary.FRAME_INPUTS_END:
                return failed
            assert kind == boundary.FRAME_INPUT_FAILED
            length, error, _ = struct.unpack_from("<IIQ", payload)
            failed[payload[16 : 16 + length].decode()] = error

    def collect(self) -> dict[str, bytes]:
        self.sandbox.work.sendall(struct.pack("<II", boundary.FRAME_COLLECT, 0))
        return self.files()

    def files(self) -> dict[str, bytes]:
        """What is handed over, up to FRAME_FILES_END; what is skipped is noted in `skipped`."""
        found, self.skipped = {}, {}
        while True:
            kind, payload = frame_of(self.sandbox.work)
            if kind == boundary.FRAME_FILES_END:
                files, skipped = struct.unpack("<II", payload)
                assert files == len(found) and skipped >= len(self.skipped)
                return found
            length, reason, size = struct.unpack_from("<IIQ", payload)
            name = payload[16 : 16 + length].decode("utf-8", "surrogateescape")
            if kind == boundary.FRAME_SKIPPED:
                self.skipped[name] = reason
                continue
            assert kind == boundary.FRAME_FILE and size == len(payload) - 16 - length
            found[name] = payload[16 + length :]

    def await_death(self, seconds: float = 20) -> dict[str, int]:
        message, _ = self.spawner.receive(boundary.EXITED, seconds=seconds)
        assert (message["high"], message["low"]) == self.sandbox.id
        return message

    def renew(self, request: int = 7) -> None:
        """A fresh interpreter in the same room; the work channel stays."""
        self.message(boundary.RENEW, request=request)
        message, descriptors = self.spawner.receive(boundary.READY)
        assert message["request"] == request and len(descriptors) == 3
        old = self.sandbox
        old.claim.close()
        claim, stdout, stderr = descriptors
        self.sandbox = Sandbox((message["high"], message["low"]), socket.socket(fileno=claim), old.work, stdout, stderr)
        self.sandbox.claim.settimeout(30)
        assert self.sandbox.id != old.id


def frame_of(channel: socket.socket) -> tuple[int, bytes]:
    head = read_whole(channel, 8)
    kind, length = struct.unpack("<II", head)
    return kind, read_whole(channel, length)


def read_whole(channel: socket.socket, length: int) -> bytes:
    parts = []
    while length > 0:
        part = channel.recv(min(length, 1 << 20))
        if not part:
            raise EOFError("the channel is at its end")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
