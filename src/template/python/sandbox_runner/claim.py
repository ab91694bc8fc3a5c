"""The claim channel, seen from the sandbox: code comes in, once or again and again; news and results go out.

The peer is the service's api process. Nothing in here trusts the snippet, and nothing depends on it: the socket is
close-on-exec, numbered out of the way of the snippet's own descriptors, and of no use to it but to lie about its own
results.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import _socket
import _thread
import os
import select

from . import frames

_close, _getpid, _get_ident = os.close, os.getpid, _thread.get_ident
_MSG_NOSIGNAL = _socket.MSG_NOSIGNAL
_poll, _POLLIN = select.poll, select.POLLIN

_ANCILLARY_BYTES = 64  # room for three descriptors and a few too many
_FIRST_READ = 16 << 10  # most snippets arrive whole with one call


class ClaimLost(Exception):
    """The service has gone away, or does not speak this protocol."""


class Channel:
    def __init__(self, fd: int):
        self._socket = _socket.socket(fileno=fd)
        self._buffer = bytearray(_FIRST_READ)  # written to now, so that its pages are there when the code comes
        self._view = memoryview(self._buffer)
        self._lock = _thread.allocate_lock()
        self._sender = 0  # the thread that is in the middle of a frame
        self._torn = False
        self._pid = _getpid()

    # --- the code ---

    def receive(self, kinds=(frames.CODE, frames.CELL)) -> tuple[int, bytes, list]:
        """Waits for a frame with code; returns its type, the source, and the descriptors that came with it."""
        have, descriptors = self._receive_first()
        kind, length = frames.parse_header(self._buffer)
        if kind not in kinds or length > frames.CODE_BYTES_MAX:
            raise ClaimLost(f"frame of type {kind} and {length} bytes instead of code")
        wanted = frames.CELL_FDS if kind == frames.CELL else 1
        while len(descriptors) > wanted:
            _close(descriptors.pop())
        if kind == frames.CELL and len(descriptors) < wanted:
            raise ClaimLost("a cell without its streams")
        first = min(have - frames.HEADER_BYTES, length)
        if first == length:
            return kind, bytes(self._view[frames.HEADER_BYTES : frames.HEADER_BYTES + length]), descriptors
        source = bytearray(length)
        source[:first] = self._view[frames.HEADER_BYTES : frames.HEADER_BYTES + first]
        view = memoryview(source)[first:]
        while view:
            view = view[self._receive_into(view) :]
        return kind, bytes(source), descriptors

    def _receive_first(self) -> tuple[int, list]:
        """Reads until the header is there; the descriptors ride on the first byte."""
        have, descriptors = 0, []
        while have < frames.HEADER_BYTES:
            got, ancillary, flags, _ = self._socket.recvmsg_into(
                [self._view[have:]], _ANCILLARY_BYTES, _socket.MSG_CMSG_CLOEXEC
            )
            descriptors += _descriptors(ancillary)
            if got == 0:
                raise ClaimLost("closed")
            have += got
        return have, descriptors

    def _receive_into(self, view) -> int:
        got = self._socket.recv_into(view)
        if got == 0:
            raise ClaimLost("closed in the middle of the code")
        return got

    def wait(self, milliseconds: int) -> None:
        """Until something comes, or for this time."""
        waiting = _poll()
        waiting.register(self._socket, _POLLIN)
        waiting.poll(milliseconds)

    # --- news ---

    def is_ours(self) -> bool:
        """False in a process that the snippet has forked: two writers would tear each other's frames."""
        return _getpid() == self._pid

    def started(self) -> None:
        self.send(frames.STARTED, b"")

    def send(self, kind: int, payload: bytes, unless=None) -> bool:
        """Sends one frame whole, whichever threads call, unless ``unless()``. False if it was not sent."""
        # A signal handler of the snippet may show a figure while this thread is sending one: waiting would be for ever.
        if not self.is_ours() or self._sender == _get_ident():
            return False
        with self._lock:
            if self._torn or (unless is not None and unless()):
                return False
            self._sender, self._torn = _get_ident(), True
            try:
                self._send_all(frames.header(kind, len(payload)) + payload)
                self._torn = False
            except OSError as problem:
                if problem.errno is None:  # not the socket's: a TimeoutError of the snippet's own, say
                    raise
                return False
            finally:
                self._sender = 0
        return True

    def _send_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            # A snippet may have set SIGPIPE back to its default; that is no reason to die here.
            view = view[self._socket.send(view, _MSG_NOSIGNAL) :]


def _descriptors(ancillary) -> list:
    found = []
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            for at in range(0, len(data) - len(data) % 4, 4):
                found.append(int.from_bytes(data[at : at + 4], "little", signed=True))
    return found
