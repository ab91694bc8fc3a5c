"""Code Sandbox: tools that run in sandboxes of the platform, and a client for it.

    from code_sandbox import tool, run_python

    @tool
    def find_order(number: int) -> dict[str, str]:
        '''Looks an order up by its number.'''
        ...

    find_order(7)      # runs in a sandbox, made from the agent's image, used once

With CODE_SANDBOX_URL, CODE_SANDBOX_KEY and CODE_SANDBOX_AGENT set, a tool's call goes to the platform; with no
CODE_SANDBOX_* variable at all it runs in this process, and says so once.
"""

from ._tool import tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._async_client import AsyncClient, AsyncRunStream
    from ._client import Client, RunStream
    from ._context import conversation, conversation_id, last_call
    from ._describe import describe
    from ._errors import ApiError, CodeSandboxError, ConnectionFailed, RemoteTraceback, ToolError
    from ._exchange import Retries
    from ._models import (
        Agent,
        AgentEnv,
        Call,
        Conversation,
        Done,
        Egress,
        Event,
        FileWritten,
        RemoteError,
        Result,
        Run,
        RunFile,
        RunSummary,
        Session,
        SessionState,
        SkippedFile,
        Started,
        Stderr,
        Stdout,
        Usage,
    )
    from ._run_python import run_python, run_python_async

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentEnv",
    "ApiError",
    "AsyncClient",
    "AsyncRunStream",
    "Call",
    "Client",
    "CodeSandboxError",
    "ConnectionFailed",
    "Conversation",
    "Done",
    "Egress",
    "Event",
    "FileWritten",
    "RemoteError",
    "RemoteTraceback",
    "Result",
    "Retries",
    "Run",
    "RunFile",
    "RunStream",
    "RunSummary",
    "Session",
    "SessionState",
    "SkippedFile",
    "Started",
    "Stderr",
    "Stdout",
    "ToolError",
    "Usage",
    "conversation",
    "conversation_id",
    "describe",
    "last_call",
    "run_python",
    "run_python_async",
    "tool",
]

# Where the rest is. A sandbox imports the agent's module, and with it this one, for each call anew: there, a client is
# of no use, and takes longer to import than most tools take to run.
_PLACES = {
    "_models": (
        "Agent",
        "AgentEnv",
        "Call",
        "Conversation",
        "Done",
        "Egress",
        "Event",
        "FileWritten",
        "RemoteError",
        "Result",
        "Run",
        "RunFile",
        "RunSummary",
        "Session",
        "SessionState",
        "SkippedFile",
        "Started",
        "Stderr",
        "Stdout",
        "Usage",
    ),
    "_errors": (
        "ApiError",
        "CodeSandboxError",
        "ConnectionFailed",
        "RemoteTraceback",
        "ToolError",
    ),
    "_async_client": (
        "AsyncClient",
        "AsyncRunStream",
    ),
    "_client": (
        "Client",
        "RunStream",
    ),
    "_exchange": ("Retries",),
    "_context": (
        "conversation",
        "conversation_id",
        "last_call",
    ),
    "_describe": ("describe",),
    "_run_python": (
        "run_python",
        "run_python_async",
    ),
}


def __getattr__(name: str) -> object:
    for module, names in _PLACES.items():
        if name in names:
            import importlib

            value: object = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
