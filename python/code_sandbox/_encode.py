"""Values to JSON: what a tool is given, and what it returns.

Runs on both sides. What has no form in JSON is refused, with the place in the value: to guess one would be to hand the
other side something else than the author meant.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ._scalars import child, is_named_tuple, is_numpy_scalar, is_pydantic, scalar_of

MAX_DEPTH = 60  # of the service's 64 levels
MAX_INTEGER = 2**63 - 1

# What people return by mistake, and what they meant.
_ADVICE = {
    "DataFrame": '.to_dict(orient="records") makes it a list',
    "Series": ".tolist() makes it a list",
    "Index": ".tolist() makes it a list",
    "ndarray": ".tolist() makes it a list",
    "generator": "list(...) makes it a list",
    "range": "list(...) makes it a list",
    "map": "list(...) makes it a list",
    "filter": "list(...) makes it a list",
    "zip": "list(...) makes it a list",
    "dict_keys": "list(...) makes it a list",
    "dict_values": "list(...) makes it a list",
    "dict_items": "dict(...) makes it a dictionary",
    "complex": "split it into real and imag",
    "coroutine": "it lacks an await",
    "async_generator": "collect it into a list",
}


def _refuse(value: object, where: str) -> TypeError:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    advice = _ADVICE.get(kind.__name__, "use plain data, a dataclass or a pydantic model")
    return TypeError(f"{where} is a {name}, which has no form in JSON: {advice}.")


def _text(value: str, where: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise TypeError(
            f"{where} is text that UTF-8 cannot write (a lone surrogate at position "
            f"{_first_surrogate(value)}): pass such bytes as bytes."
        ) from None
    return str(value)


def _first_surrogate(value: str) -> int:
    return next(i for i, letter in enumerate(value) if "\ud800" <= letter <= "\udfff")


def _integer(value: int, where: str) -> int:
    if not -MAX_INTEGER - 1 <= value <= MAX_INTEGER:
        raise TypeError(f"{where} is an integer of more than 64 bits, which JSON readers do not take: pass it as text.")
    return int(value)


def _float(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise TypeError(f"{where} is {float(value)}, for which JSON has no number: use None instead.")
    return float(value)


def _key(key: object, where: str) -> str:
    """Keys of JSON are text. An annotation such as dict[int, str] makes them numbers again on the other side."""
    if isinstance(key, enum.Enum):
        key = key.value
    if is_numpy_scalar(type(key)) and not isinstance(key, (str, float)):
        key = key.item()  # type: ignore[attr-defined]
    if isinstance(key, str):
        return _text(key, f"a key of {where}")
    scalar = scalar_of(type(key))
    if (isinstance(key, int) and not isinstance(key, bool)) or (scalar and scalar.schema["type"] == "string"):
        return str(scalar.encode(key)) if scalar else str(key)
    raise TypeError(
        f"{where} has a key of type {type(key).__qualname__}, and keys in JSON are text: use text or whole "
        "numbers as keys."
    )


class _Encoder:
    def __init__(self) -> None:
        self._open: set[int] = set()  # what we are in the middle of: to meet it again is a cycle

    def encode(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return self.encode(value.value, where)
        if isinstance(value, str):
            return _text(value, where)
        if isinstance(value, int):
            return _integer(value, where)
        if isinstance(value, float):
            return _float(value, where)
        scalar = scalar_of(type(value))
        if scalar:
            return scalar.encode(value)
        if is_numpy_scalar(type(value)):
            return self._numpy(value, where)
        return self._container(value, where)

    def _numpy(self, value: Any, where: str) -> Any:
        plain = value.item()
        if is_numpy_scalar(type(plain)) or isinstance(plain, (tuple, complex)):  # longdouble, void, complex128
            raise _refuse(value, where)
        return self.encode(plain, where)

    def _container(self, value: Any, where: str) -> Any:
        if id(value) in self._open:
            raise TypeError(f"{where} contains itself, which JSON cannot write.")
        if len(self._open) >= MAX_DEPTH:
            raise TypeError(f"{where} is nested deeper than {MAX_DEPTH} levels, which is the most.")
        self._open.add(id(value))
        try:
            return self._opened(value, where)
        finally:
            self._open.discard(id(value))

    def _opened(self, value: Any, where: str) -> Any:
        if is_pydantic(type(value)):
            dump = getattr(value, "model_dump", None)
            return self.encode(dump(mode="json") if dump else json.loads(value.json()), where)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._members(
                ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value)), where
            )
        if is_named_tuple(type(value)):
            return self._members(zip(value._fields, value, strict=True), where)
        if isinstance(value, Mapping):
            return self._mapping(value, where)
        if isinstance(value, (list, tuple, collections.deque)):
            return self._elements(value, where)
        if isinstance(value, (set, frozenset)):
            return self._elements(_in_order(value), where)
        raise _refuse(value, where)

    def _elements(self, values: Iterable[Any], where: str) -> list[Any]:
        return [self.encode(value, child(where, i)) for i, value in enumerate(values)]

    def _members(self, members: Iterable[tuple[str, Any]], where: str) -> dict[str, Any]:
        return {name: self.encode(value, child(where, name)) for name, value in members}

    def _mapping(self, value: Mapping[Any, Any], where: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, member in value.items():
            name = _key(key, where)
            if name in made:
                raise TypeError(f"{where} has two keys that are {name!r} in JSON.")
            made[name] = self.encode(member, child(where, name))
        return made


def _in_order(values: Iterable[Any]) -> list[Any]:
    """A set has no order; the same set should look the same each time."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def encode(value: Any, where: str) -> Any:
    """The value as plain JSON data. TypeError says where it has none."""
    return _Encoder().encode(value, where)
