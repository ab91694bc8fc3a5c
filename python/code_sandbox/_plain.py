"""Values that are JSON already, told quickly.

Most calls pass nothing else. In a sandbox each call starts an interpreter anew, and to import what the whole mapping of
values needs would take longer than the tool; so this module, like _tool, _inside and _errors, imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DEPTH_MAX = 60  # as that of _encode; a cycle is deeper as well
_INTEGER_MAX = 2**63 - 1
_LARGEST = 1.7976931348623157e308
_WRITTEN = {"str": str, "int": int, "float": float, "bool": bool}  # annotations may be text


def is_plain(value: object, depth: int = 0) -> bool:
    """Whether the value is its own form in JSON. False is no verdict: then _encode looks closely."""
    kind = type(value)
    if kind is str:
        return value.isascii() or _is_utf8(value)  # type: ignore[attr-defined, arg-type]
    if value is None or kind is bool:
        return True
    if kind is int:
        return -_INTEGER_MAX <= value <= _INTEGER_MAX  # type: ignore[operator]
    if kind is float:
        return -_LARGEST <= value <= _LARGEST  # type: ignore[operator]
    if depth >= _DEPTH_MAX:
        return False
    if kind is list:
        return all(is_plain(entry, depth + 1) for entry in value)  # type: ignore[attr-defined]
    if kind is dict:
        return all(type(key) is str and is_plain(key) and is_plain(entry, depth + 1) for key, entry in value.items())  # type: ignore[attr-defined]
    return False


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def fits(function: Callable[..., Any], arguments: dict[str, Any]) -> bool:
    """
    Whether the arguments can be passed by name as they are: each parameter is annotated as what came for it, or not at
    all. False is no verdict here either.
    """
    code = getattr(function, "__code__", None)
    if code is None or code.co_posonlyargcount or code.co_flags & 0x0C:  # *args, **kwargs
        return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    required = set(code.co_varnames[: code.co_argcount - len(function.__defaults__ or ())])
    required |= set(names[code.co_argcount :]) - set(function.__kwdefaults__ or ())
    if not required <= arguments.keys() <= set(names):
        return False
    annotations = function.__annotations__
    for name, value in arguments.items():
        wanted = annotations.get(name, object)
        if isinstance(wanted, str):
            wanted = None if wanted in function.__globals__ else _WRITTEN.get(wanted)
        if wanted is not object and not (wanted in (str, int, float, bool) and type(value) is wanted):
            return False
    return True
