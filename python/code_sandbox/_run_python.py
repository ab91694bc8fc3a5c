"""run_python, ready to be listed among an agent's tools: a model's code, in a sandbox of the platform.

It never runs in this process, whatever is set or not: nobody has read that code. Its description is the service's own,
because only the service knows whether calls share an interpreter, and how long one may take. Imports what it needs when
it is called, as an agent's module that lists it is imported in sandboxes too; _plain says more.
"""

from __future__ import annotations

from . import _inside, _settings
from ._errors import ApiError, ConnectionFailed, ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._exchange import Exchange, Request, T
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


def _exchange() -> Exchange:
    from . import _remote
    from ._exchange import Exchange, Retries

    return Exchange(_remote.transport_for(_platform()), Retries())


def _ask(request: Request[T]) -> T:
    from . import _remote

    try:
        return _exchange().run(request)
    except (ApiError, ConnectionFailed) as problem:
        raise _remote.failed("run_python", problem) from problem


def _request(code: str, timeout_s: float | None) -> Request[Run]:
    settings = _platform()
    from . import _context, _requests

    return _requests.run(
        code,
        agent=settings.agent,
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
    request, exchange = _request(code, timeout_s), _exchange()
    from . import _remote, _threads

    try:
        return await _threads.in_thread(lambda: exchange.run(request), exchange.cancellation.cancel)
    except (ApiError, ConnectionFailed) as problem:
        raise _remote.failed("run_python", problem) from problem


# Frameworks read the annotations of what they are given, and Run exists here for type checkers only.
for _function in (run_python, run_python_async):
    _function.__annotations__["return"] = object


def is_run_python(function: object) -> bool:
    """Also a wrapper of it, with functools.wraps: an author may want to see what is run, and what came of it."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function in (run_python, run_python_async)


def describe_run_python(format: str) -> dict[str, Any]:
    """As the service describes it to the model of the present agent."""
    settings = _platform()
    from . import _requests

    return _ask(_requests.describe_run_python(format, settings.agent))
