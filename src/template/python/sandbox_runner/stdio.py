"""Standard streams as ``python -u`` makes them, on descriptors 0, 1 and 2.

The template's own stream objects were made for other files and remember things about them (whether they can be sought
in, their block size), so every sandbox gets new ones. Written output goes to the descriptor at once: a kill loses
nothing, and a fork duplicates nothing. Encoding and error handlers are those that the interpreter chose for its locale.
See create_stdio() in CPython's Python/pylifecycle.c.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import io
import os
import sys

from . import cells

_ENCODING = {name: getattr(sys, name).encoding for name in ("__stdin__", "__stdout__", "__stderr__")}
_ERRORS = {name: getattr(sys, name).errors for name in ("__stdin__", "__stdout__", "__stderr__")}


def _text(buffer, raw, name: str, mode: str):
    raw.name = f"<{name}>"
    text = io.TextIOWrapper(buffer, _ENCODING[f"__{name}__"], _ERRORS[f"__{name}__"], newline="\n", write_through=True)
    text.mode = mode
    return text


def open_output() -> None:
    for fd, name in ((1, "stdout"), (2, "stderr")):
        raw = io.open(fd, "wb", buffering=0, closefd=False)
        stream = _text(raw, raw, name, "w")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def open_cell_output() -> None:
    """The same for a call of a session."""
    for fd, name in ((1, "stdout"), (2, "stderr")):
        raw = _CellOutput(fd, "wb", closefd=False)
        stream = _text(raw, raw, name, "w")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


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


def open_input() -> None:
    buffer = io.open(0, "rb", closefd=False)
    sys.stdin = sys.__stdin__ = _text(buffer, buffer.raw, "stdin", "r")


def take_input(fd: int) -> None:
    """Makes ``fd`` standard input; without one it stays what it is, which is at its end."""
    if fd > 0:
        os.dup2(fd, 0, inheritable=True)
        os.close(fd)
    open_input()
