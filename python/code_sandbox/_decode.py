"""JSON to values, as annotations say.

An annotation is the only thing that tells "2030-01-31" the date from "2030-01-31" the text, so without one, JSON is
left as it is. The data may come from a model or a sandbox: nothing but the annotation decides which types are made.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import enum
import inspect
import json
import types
import typing
from collections.abc import Callable
from typing import Any

from ._encode import encode
from ._scalars import child, is_named_tuple, is_numpy_scalar, is_pydantic, scalar_of

_NOTHING = (Any, object, inspect.Parameter.empty)
_UNIONS = (typing.Union, types.UnionType)
_WRAPPERS = {typing.Annotated, typing.ClassVar, typing.Final}
_WRAPPERS |= {getattr(typing, name) for name in ("Required", "NotRequired", "ReadOnly") if hasattr(typing, name)}

# Abstract collections, and what is made for them.
SEQUENCES: dict[Any, Callable[[Any], Any]] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Set: frozenset,
    collections.abc.MutableSet: set,
}
SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping, collections.OrderedDict)


class Unfit(TypeError):
    """What came does not fit the annotation; says where and what was expected."""


class NoForm(TypeError):
    """The annotation is a type that has no form in JSON."""


def name_of(kind: Any) -> str:
    return getattr(kind, "__qualname__", None) or str(kind)


def unwrapped(kind: Any) -> Any:
    """Without names and marks around it: Annotated, NewType, a TypeVar's bound, `type X = ...`."""
    while True:
        if typing.get_origin(kind) in _WRAPPERS:
            kind = typing.get_args(kind)[0]
        elif hasattr(kind, "__supertype__"):
            kind = kind.__supertype__
        elif isinstance(kind, typing.TypeVar):
            kind = kind.__bound__ or Any
        elif type(kind).__name__ == "TypeAliasType":
            kind = kind.__value__
        else:
            return kind


def hints_of(owner: Any) -> dict[str, Any]:
    """Annotations of a class or function as types, whether they were written as such or as text."""
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except Exception as problem:
        raise NoForm(
            f"The annotations of {name_of(owner)} cannot be read: {problem}. Names in them must exist when the "
            "module has been imported."
        ) from problem


def parameter_hints_of(function: Any) -> dict[str, Any]:
    """The same without the result's, whose type is often imported for type checkers only."""
    own = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    own.__qualname__, own.__kwdefaults__ = function.__qualname__, function.__kwdefaults__
    own.__annotations__ = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    return hints_of(own)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _unfit(value: Any, where: str, expected: str) -> Unfit:
    return Unfit(f"{where} must be {expected}, not {_shown(value)}.")


def decode(value: Any, kind: Any, where: str) -> Any:
    """The value as the annotation says. Unfit says where it does not fit."""
    kind = unwrapped(kind)
    if kind in _NOTHING:
        return value
    if isinstance(kind, (str, typing.ForwardRef)):
        raise NoForm(f"The annotation {kind} of {where} is a name that cannot be found.")
    origin = typing.get_origin(kind)
    if kind is None or kind is type(None):
        return _plain(value, type(None), where, "null")
    if origin in _UNIONS:
        return _union(value, typing.get_args(kind), where)
    if origin is typing.Literal:
        return _one_of(value, typing.get_args(kind), where)
    if (origin or kind) is tuple:
        return _tuple(value, typing.get_args(kind), where)
    if (origin or kind) in SEQUENCES:
        return _sequence(value, origin or kind, typing.get_args(kind), where)
    if (origin or kind) in MAPPINGS:
        return _mapping(value, typing.get_args(kind), where)
    return _class(value, origin or kind, where)


def _class(value: Any, kind: Any, where: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _one_of(value, tuple(kind), where)
    if is_numpy_scalar(kind):
        return _numpy(value, kind, where)
    if kind in _PLAIN:
        return _plain(value, kind, where, _PLAIN[kind])
    if is_pydantic(kind):
        return _pydantic(value, kind, where)
    if typing.is_typeddict(kind):
        return _members(value, hints_of(kind), kind.__required_keys__, where)
    if dataclasses.is_dataclass(kind):
        return _dataclass(value, kind, where)
    if is_named_tuple(kind):
        required = [name for name in kind._fields if name not in kind._field_defaults]
        return kind(**_members(value, {**dict.fromkeys(kind._fields, Any), **hints_of(kind)}, required, where))
    scalar = scalar_of(kind)
    if scalar is None:
        raise NoForm(
            f"The type {name_of(kind)} of {where} has no form in JSON: use plain data, a dataclass or a pydantic model."
        )
    try:
        return scalar.decode(value, kind)
    except (TypeError, ValueError, OverflowError):
        raise _unfit(value, where, scalar.expected) from None


_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _plain(value: Any, kind: type, where: str, expected: str) -> Any:
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return float(value)
    if kind is int and type(value) is float and value.is_integer():  # to JSON, 3.0 is a whole number
        return int(value)
    raise _unfit(value, where, expected)


def _numpy(value: Any, kind: Any, where: str) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        raise _unfit(value, where, f"a {kind.__name__}") from None


def _pydantic(value: Any, kind: Any, where: str) -> Any:
    """As JSON, because that is what was written; errors of pydantic name the place below ours."""
    try:
        if hasattr(kind, "model_validate_json"):
            return kind.model_validate_json(json.dumps(value))
        return kind.parse_raw(json.dumps(value))
    except ValueError as problem:
        raise Unfit(f"{where} does not fit {kind.__name__}: {problem}") from problem


def _union(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    """The first that fits, as they are written; for null that is None, and whole numbers stay whole if they may."""
    kinds = tuple(unwrapped(kind) for kind in kinds)
    if value is None and type(None) in kinds:
        return None
    if type(value) in (bool, int) and type(value) in kinds:
        return value
    first: Unfit | None = None
    for kind in kinds:
        if kind is type(None):
            continue
        try:
            return decode(value, kind, where)
        except Unfit as problem:
            first = first or problem
    if first is not None and len(kinds) - (type(None) in kinds) == 1:
        raise first
    raise _unfit(value, where, " or ".join(name_of(kind) for kind in kinds))


def _one_of(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    for choice in choices:
        form = encode(choice, where)
        if form == value and isinstance(form, bool) == isinstance(value, bool):
            return choice
    raise _unfit(value, where, "one of " + ", ".join(_shown(encode(choice, where)) for choice in choices))


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _unfit(value, where, "a list")
    return value


def _tuple(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    values = _list(value, where)
    if not kinds:
        return tuple(values)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(values)
    if len(kinds) != len(values):
        raise _unfit(value, where, f"a list of {len(kinds)}")
    return tuple(
        decode(entry, kind, child(where, i)) for i, (entry, kind) in enumerate(zip(values, kinds, strict=True))
    )


def _sequence(value: Any, kind: Any, kinds: tuple[Any, ...], where: str) -> Any:
    entry_kind = kinds[0] if kinds else Any
    entries = [decode(entry, entry_kind, child(where, i)) for i, entry in enumerate(_list(value, where))]
    try:
        return SEQUENCES[kind](entries)
    except TypeError:
        raise _unfit(value, where, "a list of what a set can hold") from None


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unfit(value, where, "an object")
    return value


def _decode_key(key: str, kind: Any, where: str) -> Any:
    if kind is int:
        try:
            return int(key)
        except ValueError:
            raise Unfit(f"{where} has the key {key[:60]!r}, which is no whole number.") from None
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        for member in kind:
            if str(encode(member, where)) == key:
                return member
    return decode(key, kind, f"a key of {where}")


def _mapping(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    members = _object(value, where)
    if len(kinds) != 2:
        return members
    key_kind = unwrapped(kinds[0])
    return {
        _decode_key(key, key_kind, where): decode(member, kinds[1], child(where, key))
        for key, member in members.items()
    }


def _members(value: Any, kinds: dict[str, Any], required: Any, where: str) -> dict[str, Any]:
    members = _object(value, where)
    for name in kinds:
        if name in required and name not in members:
            raise Unfit(f"{child(where, name)} is missing.")
    for name in members:
        if name not in kinds:
            raise Unfit(f"{child(where, name)} is unknown; there are: {', '.join(kinds)}.")
    return {name: decode(member, kinds[name], child(where, name)) for name, member in members.items()}


def _dataclass(value: Any, kind: Any, where: str) -> Any:
    """Fields that the class works out by itself were written, and are worked out again."""
    fields = dataclasses.fields(kind)
    hints = hints_of(kind)
    given = dict(_object(value, where))
    for field in fields:
        if not field.init:
            given.pop(field.name, None)
    wanted = [field for field in fields if field.init]
    required = [
        field.name
        for field in wanted
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    return kind(**_members(given, {field.name: hints[field.name] for field in wanted}, required, where))
