"""What belongs to the present thread of a conversation: its id, and what is known of the last tool call."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._models import Call

conversation_id: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    "code_sandbox_conversation_id", default=None
)
_last_call: contextvars.ContextVar[Call | None] = contextvars.ContextVar("code_sandbox_last_call", default=None)


@contextlib.contextmanager
def conversation(id: str) -> Iterator[None]:
    """Tool calls and run_python within it belong to this conversation; so do those of tasks that are started in it."""
    token = conversation_id.set(id)
    try:
        yield
    finally:
        conversation_id.reset(token)


def last_call() -> Call | None:
    """The reply to the last tool call that this task or thread has made: sandbox_id, output, usage, egress."""
    return _last_call.get()


def set_last_call(call: Call | None) -> None:
    _last_call.set(call)
