"""Types that JSON lacks and that have one plain form in it: how each is written, read and described.

Used in the agent's process and in the sandbox alike; both must agree, so there is this one table.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import pathlib
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple


class Scalar(NamedTuple):
    kind: type
    encode: Callable[[Any], Any]
    decode: Callable[[Any, Any], Any]  # what came, and the very type that is wanted
    schema: dict[str, Any]
    expected: str  # for messages


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _iso(value: Any) -> str:
    """Python 3.10 does not know the "Z" that everybody else writes."""
    text = _text(value)
    return text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return value


def _decimal(value: Any, kind: Any) -> Any:
    """Models like to write a number here; through its shortest text it is the number that they meant."""
    try:
        return kind(value if isinstance(value, str) else repr(_number(value)))
    except decimal.InvalidOperation:
        raise ValueError from None


def _bytes(value: Any, kind: Any) -> Any:
    try:
        return kind(base64.b64decode(_text(value), validate=True))
    except binascii.Error:
        raise ValueError from None


def _to_base64(value: Any) -> str:
    return base64.b64encode(value).decode("ascii")


_BASE64 = {"type": "string", "contentEncoding": "base64"}

SCALARS = (
    # A datetime is a date as well: it stands first.
    Scalar(
        datetime.datetime,
        lambda value: value.isoformat(),
        lambda value, kind: kind.fromisoformat(_iso(value)),
        {"type": "string", "format": "date-time"},
        'a date and time such as "2030-01-31T12:00:00+01:00"',
    ),
    Scalar(
        datetime.date,
        lambda value: value.isoformat(),
        lambda value, kind: kind.fromisoformat(_text(value)),
        {"type": "string", "format": "date"},
        'a date such as "2030-01-31"',
    ),
    Scalar(
        datetime.time,
        lambda value: value.isoformat(),
        lambda value, kind: kind.fromisoformat(_iso(value)),
        {"type": "string", "format": "time"},
        'a time such as "12:00:00"',
    ),
    Scalar(
        datetime.timedelta,
        lambda value: value.total_seconds(),
        lambda value, kind: kind(seconds=_number(value)),
        {"type": "number", "description": "seconds"},
        "a number of seconds",
    ),
    Scalar(decimal.Decimal, str, _decimal, {"type": "string", "format": "decimal"}, 'a decimal number such as "19.90"'),
    Scalar(uuid.UUID, str, lambda value, kind: kind(_text(value)), {"type": "string", "format": "uuid"}, "a UUID"),
    Scalar(pathlib.PurePath, str, lambda value, kind: kind(_text(value)), {"type": "string"}, "a path"),
    Scalar(bytes, _to_base64, _bytes, _BASE64, "base64"),
    Scalar(bytearray, _to_base64, _bytes, _BASE64, "base64"),
    Scalar(memoryview, _to_base64, _bytes, _BASE64, "base64"),
)


def scalar_of(kind: Any) -> Scalar | None:
    """The entry for a type or one derived from it."""
    if isinstance(kind, type):
        for scalar in SCALARS:
            if issubclass(kind, scalar.kind):
                return scalar
    return None


def is_numpy_scalar(kind: Any) -> bool:
    """A type such as numpy.int64, told without importing numpy, which may not be there."""
    return isinstance(kind, type) and any(
        base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__
    )


def is_pydantic(kind: Any) -> bool:
    """A model of pydantic, 1 or 2, told without importing it."""
    return isinstance(kind, type) and any(
        base.__module__ in ("pydantic.main", "pydantic.v1.main") and base.__name__ == "BaseModel"
        for base in kind.__mro__
    )


def is_named_tuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def child(where: str, key: object) -> str:
    """The place of a member or an element, as it would be written in Python."""
    if isinstance(key, int):
        return f"{where}[{key}]"
    text = str(key)
    if not text.isidentifier():
        return f"{where}[{text[:60]!r}]"
    return f"{where}.{text}" if where else text
