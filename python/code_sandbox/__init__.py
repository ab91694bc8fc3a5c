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
from ._tool import tool

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
