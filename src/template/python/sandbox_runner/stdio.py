"""Standard streams as ``python -u`` makes them, on descriptors 0, 1 and 2.

The template's own stream objects were made for other files and remember things about them (whether they can be sought
in, their block size), so every sandbox gets new ones. Written output goes to the descriptor at once: a kill loses
nothing, and a fork duplicates nothing. Encoding and error handlers are those that the interpreter chose for its locale.
See create_stdio() in CPython's Python/pylifecycle.c.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import collections
import io
import os
import sys

from . import cells

_open, _TextIOWrapper, _dup2, _close = io.open, io.TextIOWrapper, os.dup2, os.close
_ENCODING = {name: getattr(sys, name).encoding for name in ("__stdin__", "__stdout__", "__stderr__")}
_ERRORS = {name: getattr(sys, name).errors for name in ("__stdin__", "__stdout__", "__stderr__")}


def _text(buffer, raw, name: str, mode: str):
    raw.name = f"<{name}>"
    text = _TextIOWrapper(buffer, _ENCODING[f"__{name}__"], _ERRORS[f"__{name}__"], newline="\n", write_through=True)
    text.mode = mode
    return text


def open_output() -> None:
    for fd, name in ((1, "stdout"), (2, "stderr")):
        raw = _open(fd, "wb", buffering=0, closefd=False)
        stream = _text(raw, raw, name, "w")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


_outputs = {}  # of a session: by name, the stream and what is below it
_old = collections.deque(maxlen=100)
_replaced = collections.deque(maxlen=4)  # may be large: a snippet puts there what it likes


def open_cell_output() -> None:
    """The same for a call of a session. Descriptors change from call to call, the objects only when they are broken.

    Those that are replaced are kept alive: ``print`` in another thread may be at work with one that it has not counted
    itself a user of.
    """
    for fd, name in ((1, "stdout"), (2, "stderr")):
        stream, raw = _outputs.get(name, (None, None))
        if stream is None or not _is_whole(stream, raw, name):
            raw = _CellOutput(fd, "wb", closefd=False)
            stream = _text(raw, raw, name, "w")
            _old.append(_outputs.get(name))
            _outputs[name] = stream, raw
        _replaced.append(getattr(sys, name, None))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _is_whole(stream, raw, name: str) -> bool:
    try:
        return (
            stream.buffer is raw
            and not stream.closed
            and stream.encoding == _ENCODING[f"__{name}__"]
            and stream.errors == _ERRORS[f"__{name}__"]
            and stream.write_through
        )
    except ValueError:  # detached
        return False


class _CellOutput(io.FileIO):
    """Drops what threads of earlier calls write, without their noticing."""

    def write(self, data, /):
        if cells.in_main_thread():
            return _write(self, data)
        if not cells.is_late():
            with cells.switching:
                if not cells.is_late():
                    return _write(self, data)
        return memoryview(data).nbytes


_write = io.FileIO.write
_CellOutput.__name__ = _CellOutput.__qualname__ = "FileIO"
_CellOutput.__module__ = "_io"


def _new_input():
    buffer = _open(0, "rb", closefd=False)
    return _text(buffer, buffer.raw, "stdin", "r")


def _set_input(stream) -> None:
    _old.append(getattr(sys, "stdin", None))
    sys.stdin = sys.__stdin__ = stream


def open_input() -> None:
    _set_input(_new_input())


_prepared = []  # a stream for the next call of a session, which nobody has seen yet


def prepare_input() -> None:
    """While descriptor 0 is /dev/null; for what comes there see ``take_input``."""
    _prepared[:] = [_new_input()]


def open_cell_input() -> None:
    _set_input(_prepared.pop() if _prepared else _new_input())


def take_input(fd: int) -> None:
    """Makes ``fd`` standard input; without one it stays what it is, which is at its end.

    The stream object was made for /dev/null while there was time (``open_input``). What comes is a memory file at its
    beginning, or /dev/null again (frames.h): both can be sought in and have blocks of a page, so it cannot tell.
    """
    if fd > 0:
        _dup2(fd, 0, inheritable=True)
        _close(fd)
