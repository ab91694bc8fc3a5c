"""A tool's call, made elsewhere: arguments out, result or exception back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from . import _context, _requests, _threads, _values
from ._builtins import builtin_exception
from ._errors import ApiError, ConnectionFailed, RemoteTraceback, ToolError
from ._exchange import Exchange, Request, Retries
from ._http import Transport
from ._models import Call
from ._settings import Settings

log = logging.getLogger("code_sandbox")

_lock = threading.Lock()
_transports: dict[tuple[str, str], Transport] = {}

_ENDINGS = {
    "timeout": "reached its time limit and was stopped",
    "out_of_memory": "needed too much memory and was stopped",
    "output_limit": "printed too much and was stopped",
    "killed": "was lost with its sandbox",
    "internal": "could not be run, by a fault of the platform",
}


def transport_for(settings: Settings) -> Transport:
    """One for each address and key, so that connections are used again."""
    with _lock:
        found = _transports.get((settings.url, settings.key))
        if found is None:
            try:
                found = Transport(settings.url, settings.key)
            except ValueError as problem:
                raise ToolError(f"CODE_SANDBOX_URL or CODE_SANDBOX_KEY is wrong: {problem}") from None
            _transports[(settings.url, settings.key)] = found
        return found


def _request(
    settings: Settings,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    timeout_s: float | None,
) -> Request[Call]:
    arguments = _values.encode_arguments(function, args, kwargs)
    return _requests.call(
        name, arguments, agent=settings.agent, conversation_id=_context.conversation_id.get(), timeout_s=timeout_s
    )


def failed(name: str, problem: ApiError | ConnectionFailed) -> ToolError:
    status = problem.status if isinstance(problem, ApiError) else None
    return ToolError(
        f"The tool {name} has not been run: {problem}"
        if status or not problem.may_have_run  # type: ignore[union-attr]
        else f"The tool {name} may or may not have been run: {problem}",
        status=status,
    )


def _raise(name: str, call: Call) -> NoReturn:
    error = call.error
    if error is not None and call.outcome == "error":
        builtin = builtin_exception(error.type, error.message)
        if builtin is not None:
            if call.hint and hasattr(builtin, "add_note"):  # Python 3.11
                builtin.add_note(call.hint)
            raise builtin from (RemoteTraceback(error.traceback) if error.traceback else None)
        words = f"{error.type}: {error.message}" if error.message else error.type
    else:
        words = f"The tool {name} " + _ENDINGS.get(call.outcome, f"ended with exit code {call.exit_code}") + "."
        if error is not None and error.message:
            words += f" {error.message}"
    if call.hint:
        words += f" {call.hint}" if words.endswith(".") else f". {call.hint}"
    raise ToolError(
        words,
        outcome=call.outcome,
        type=error.type if error else None,
        remote_traceback=(error.traceback or None) if error else None,
        sandbox_id=call.sandbox_id,
        run_id=call.run_id,
    )


def _finish(name: str, function: Callable[..., Any], call: Call) -> Any:
    _context.set_last_call(call)
    log.info("tool %s: %s in sandbox %s, %.0f ms", name, call.outcome, call.sandbox_id, call.usage.wall_ms)
    for stream, text in (("stdout", call.stdout), ("stderr", call.stderr)):
        if text:
            log.info("tool %s wrote to %s: %s", name, stream, text.rstrip("\n"))
    if call.outcome != "ok":
        _raise(name, call)
    return _values.decode_result(function, call.result)


def call(
    settings: Settings,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    timeout_s: float | None,
) -> Any:
    request = _request(settings, name, function, args, kwargs, timeout_s)
    _context.set_last_call(None)
    try:
        reply = Exchange(transport_for(settings), Retries()).run(request)
    except (ApiError, ConnectionFailed) as problem:
        raise failed(name, problem) from problem
    return _finish(name, function, reply)


async def call_async(
    settings: Settings,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    timeout_s: float | None,
) -> Any:
    """A task that is cancelled ends its call."""
    request = _request(settings, name, function, args, kwargs, timeout_s)
    _context.set_last_call(None)
    exchange = Exchange(transport_for(settings), Retries())
    try:
        reply = await _threads.in_thread(lambda: exchange.run(request), exchange.cancellation.cancel)
    except (ApiError, ConnectionFailed) as problem:
        raise failed(name, problem) from problem
    return _finish(name, function, reply)
