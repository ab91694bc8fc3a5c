"""Values as text and MIME maps, bounded in size, whatever they are.

A snippet's last value may be a list of ten million numbers, refer to itself, or have a ``__repr__`` that fails. Plain
containers are written out element by element until the room is used up, so that no huge text is ever made; what they
hold, and everything else, speaks for itself through ``repr`` and is cut afterwards.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import array
import collections
import json

TEXT_CHARS_MAX = 64 << 10
RICH_BYTES_MAX = 2 << 20  # of one form; HTML of a table and the like. Pictures have their own limit
_SIZED_MAX = 20_000  # elements of a container that is asked for its own repr
_DEPTH_MAX = 40
_CUT = "…"

_SIZED = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    bytearray,
    memoryview,
    array.array,
    collections.deque,
    collections.UserDict,
    collections.UserList,
    collections.UserString,
    collections.ChainMap,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)


# What a value's own methods may raise: all but the end of their time (guard.TooSlow).
_FAILURES = (Exception, SystemExit, KeyboardInterrupt, GeneratorExit)


class _Full(Exception):
    pass


class _Writer:
    def __init__(self, room: int):
        self.parts = []
        self.room = room
        self.open = set()  # ids of the containers that are being written

    def add(self, text: str) -> None:
        if len(text) > self.room:
            self.parts.append(text[: self.room])
            raise _Full
        self.parts.append(text)
        self.room -= len(text)

    def value(self, value) -> None:
        kind = type(value)
        if kind is str or kind is bytes:
            if len(value) > self.room:
                self.parts.append(repr(value[: self.room]))
                raise _Full
            self.add(repr(value))
        elif kind is int:
            self.add(_integer(value))
        elif kind in _BRACKETS:
            self.container(kind, value)
        elif isinstance(value, _SIZED) and len(value) > _SIZED_MAX:
            self.add(f"<{kind.__module__}.{kind.__qualname__} with {len(value)} items>")
        else:
            text = repr(value)
            self.add(str(text) if isinstance(text, str) else "")

    def container(self, kind, value) -> None:
        start, end = _BRACKETS[kind]
        if id(value) in self.open:
            return self.add(f"{start}...{end}")
        if not value:
            return self.add(repr(value))
        if len(self.open) >= _DEPTH_MAX:
            return self.add(f"{start}{_CUT}{end}")
        self.open.add(id(value))
        self.add(start)
        for index, item in enumerate(value.items() if kind is dict else value):
            if index:
                self.add(", ")
            if kind is dict:
                self.value(item[0])
                self.add(": ")
                item = item[1]
            self.value(item)
        self.add(",)" if kind is tuple and len(value) == 1 else end)
        self.open.discard(id(value))


_BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("frozenset({", "})"), dict: ("{", "}")}


def _integer(value: int) -> str:
    try:
        return repr(value)
    except ValueError:  # over sys.get_int_max_str_digits()
        return f"<integer of {value.bit_length()} bits>"


def text(value, room: int = TEXT_CHARS_MAX) -> str:
    """``repr(value)``, cut after about ``room`` characters; text about the failure if it cannot be had."""
    writer = _Writer(room)
    try:
        writer.value(value)
    except _Full:
        writer.parts.append(_CUT)
    except _FAILURES as problem:
        return f"<{type(value).__name__} whose repr failed: {type(problem).__name__}>"
    return "".join(writer.parts)


# --- rich forms: the methods that notebooks know ---

_METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
)


def rich(value) -> dict:
    """What the value offers besides text: MIME type to str or bytes. Methods are looked up on the type."""
    found = {}
    kind = type(value)
    for name, mime in _METHODS:
        data = _ask(kind, value, name)
        if data is not None:
            found[mime] = data
    bundle = _ask(kind, value, "_repr_mimebundle_")
    if isinstance(bundle, dict):
        found.update(bundle)
    return {mime: data for mime, data in ((m, _plain(m, d)) for m, d in found.items()) if data is not None}


def _ask(kind, value, name: str):
    try:
        method = getattr(kind, name, None)
        if method is None:
            return None
        data = method(value)
    except _FAILURES:
        return None
    if isinstance(data, tuple) and len(data) == 2:  # (data, metadata)
        data = data[0]
    return data


def _plain(mime, data):
    """str or bytes of bearable size, or None."""
    if not isinstance(mime, str) or not mime or len(mime) > 100:
        return None
    if mime.endswith("json") and not isinstance(data, (str, bytes)):
        try:
            data = json.dumps(data, allow_nan=False)
        except Exception:
            return None
    if isinstance(data, (str, bytes)) and len(data) <= RICH_BYTES_MAX:
        return data
    return None
