"""Blocking work for asyncio: a thread of its own for each piece, so that twenty calls at once are twenty at once.

The event loop's own pool has as many threads as the machine has processors, and a few; a tool call would wait for
another's to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def _settle(future: asyncio.Future[Any], result: Any, problem: BaseException | None) -> None:
    if future.done():  # the task was cancelled meanwhile
        return
    if problem is None:
        future.set_result(result)
    else:
        future.set_exception(problem)


async def in_thread(work: Callable[[], T], cancel: Callable[[], None]) -> T:
    """
    Does the work and hands its result or exception over. When the task is cancelled, so is the work, which may then end
    when it likes.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def body() -> None:
        result: Any = None
        problem: BaseException | None = None
        try:
            result = context.run(work)
        except BaseException as raised:
            problem = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, future, result, problem)

    threading.Thread(target=body, name="code_sandbox", daemon=True).start()
    try:
        return await future
    except asyncio.CancelledError:
        cancel()
        raise
