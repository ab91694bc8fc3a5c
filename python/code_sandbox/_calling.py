"""A model's call of a tool: a name and JSON come in, a text and pictures go out. What all adapters share.

Whatever goes wrong becomes a text for the model, which can do better with it than the agent's process can: wrong
arguments, an exception of the tool, a session limit. Only what nobody could call is raised.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _exchange, _threads, _values
from ._describe import describe
from ._models import Run
from ._run_python import is_run_python, run_python, run_python_async
from ._tool import tool_of

Function = Callable[..., Any]


@dataclass(frozen=True)
class Answer:
    """What a model is told of a call. `images` are PNG; `run` is there after run_python."""

    text: str
    is_error: bool = False
    images: list[bytes] = field(default_factory=list)
    run: Run | None = None


def name_of(function: Function) -> str:
    return "run_python" if is_run_python(function) else tool_of(function).name


def descriptions(functions: Iterable[Function], format: str) -> list[dict[str, Any]]:
    return [describe(function, format) for function in functions]


def _answer(result: Any) -> Answer:
    if isinstance(result, Run):
        return Answer(str(result), not result.ok, result.images, result)
    return Answer(result if isinstance(result, str) else json.dumps(_values.encode_result(result), ensure_ascii=False))


def _failed(problem: Exception) -> Answer:
    """An exception's own text, without the traceback: where in the tool it was is of no use to a model."""
    text = str(getattr(problem, "message", problem))
    return Answer(f"{type(problem).__name__}: {text}" if text else type(problem).__name__, True)


def _prepare(
    functions: Iterable[Function], name: str, arguments: str | Mapping[str, Any]
) -> Callable[[], Any] | Answer:
    """The call, ready to be made, or what is wrong with it."""
    by_name = {name_of(function): function for function in functions}
    function = by_name.get(name)
    if function is None:
        return Answer(f"There is no tool {name!r}; there are: {', '.join(by_name)}.", True)
    try:
        given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments)
        if not isinstance(given, dict):
            raise ValueError("they are no object")
    except ValueError as problem:
        return Answer(f"The arguments of {name} are no JSON: {problem}.", True)
    try:
        args, kwargs = _values.decode_arguments(function, given)
    except TypeError as problem:
        return Answer(f"The arguments of {name} are wrong: {problem}", True)
    return functools.partial(function, *args, **kwargs)


def call(functions: Iterable[Function], name: str, arguments: str | Mapping[str, Any]) -> Answer:
    """Calls one of the functions, as a model has asked for it."""
    prepared = _prepare(functions, name, arguments)
    if isinstance(prepared, Answer):
        return prepared
    try:
        result = prepared()
    except Exception as problem:
        return _failed(problem)
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(f"The tool {name} is asynchronous: use the asynchronous form of this function.")
    return _answer(result)


async def call_async(functions: Iterable[Function], name: str, arguments: str | Mapping[str, Any]) -> Answer:
    """
    The same for asyncio, and for tools of both kinds; none holds the event loop up. A task that is cancelled ends what
    the tool runs on the platform.
    """
    chosen = [run_python_async if function is run_python else function for function in functions]
    prepared = _prepare(chosen, name, arguments)
    if isinstance(prepared, Answer):
        return prepared
    together = _exchange.Group()
    token = _exchange.group.set(together)
    try:
        if inspect.iscoroutinefunction(prepared):
            return _answer(await prepared())
        return _answer(await _threads.in_thread(prepared, together.cancel))
    except Exception as problem:
        return _failed(problem)
    finally:
        _exchange.group.reset(token)
