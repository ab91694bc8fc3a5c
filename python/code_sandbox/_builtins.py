"""Exceptions of Python's own, made again from what a sandbox has said of them."""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

_OS_ERROR = re.compile(r"\[Errno (-?\d+)\] (.*?)(?:: (['\"].*['\"]))?", re.S)


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _os_error_arguments(message: str) -> tuple[Any, ...]:
    match = _OS_ERROR.fullmatch(message)
    if not match:
        return (message,)
    number, text, name = int(match[1]), match[2], match[3]
    return (number, text, _literal(name)) if name else (number, text)


def builtin_exception(name: str, message: str) -> Exception | None:
    """
    The exception of that type that Python itself has, as it was raised elsewhere; None if there is none that can be
    made of a message. Those that end a program (SystemExit, KeyboardInterrupt) and that steer it (StopIteration) are
    left out: from a call, nobody expects them.
    """
    kind = getattr(builtins, name.removeprefix("builtins."), None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    if issubclass(kind, (StopIteration, StopAsyncIteration)):
        return None
    try:
        if issubclass(kind, KeyError):  # its text is the repr of the key
            return kind(_literal(message)) if message else kind()
        if issubclass(kind, OSError):
            return kind(*_os_error_arguments(message))
        return kind(message) if message else kind()
    except TypeError:  # UnicodeDecodeError, ExceptionGroup: made of more than a message
        return None
