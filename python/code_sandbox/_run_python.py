"""run_python, ready to be listed among an agent's tools: a model's code, in a sandbox of the platform.

It never runs in this process, whatever is set or not: nobody has read that code. Its description is the service's own,
because only the service knows whether calls share an interpreter, and how long one may take.
"""

from __future__ import annotations

from typing import Any

from . import _context, _inside, _remote, _requests, _settings, _threads
from ._errors import ApiError, ConnectionFailed, ToolError
from ._exchange import Exchange, Request, Retries, T
from ._models import Run


def _platform() -> _settings.Settings:
    if _inside.is_inside():
        raise ToolError("run_python cannot be called in a sandbox, which does not know the platform.")
    settings = _settings.load()
    if settings is None:
        raise ToolError(
            f"run_python needs the platform, as it never runs code in this process: set {', '.join(_settings.NAMES)}."
        )
    return settings


def _ask(request: Request[T]) -> T:
    try:
        return Exchange(_remote.transport_for(_platform()), Retries()).run(request)
    except (ApiError, ConnectionFailed) as problem:
        raise _remote.failed("run_python", problem) from problem


def _request(code: str, timeout_s: float | None) -> Request[Run]:
    return _requests.run(
        code,
        agent=_platform().agent,
        conversation_id=_context.conversation_id.get(),
        timeout_s=timeout_s,
        files=None,
        stdin=None,
        inline_files=None,
    )


def run_python(code: str, timeout_s: float | None = None) -> Run:
    """Runs Python code in a sandbox and returns what it prints, shows and writes. str() of it is text for a model."""
    return _ask(_request(code, timeout_s))


async def run_python_async(code: str, timeout_s: float | None = None) -> Run:
    """The same for asyncio; a task that is cancelled ends the run."""
    request = _request(code, timeout_s)
    exchange = Exchange(_remote.transport_for(_platform()), Retries())
    try:
        return await _threads.in_thread(lambda: exchange.run(request), exchange.cancellation.cancel)
    except (ApiError, ConnectionFailed) as problem:
        raise _remote.failed("run_python", problem) from problem


def describe_run_python(format: str) -> dict[str, Any]:
    """As the service describes it to the model of the present agent."""
    return _ask(_requests.describe_run_python(format, _platform().agent))
