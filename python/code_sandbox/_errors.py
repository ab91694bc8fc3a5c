"""What can go wrong, as exceptions. Imports nothing; _plain says why."""

from __future__ import annotations


class CodeSandboxError(Exception):
    """The root of everything that this package raises by itself."""


class ApiError(CodeSandboxError):
    """The service has answered that it did not do what was asked. Nothing has run, unless `type` is "internal"."""

    def __init__(
        self,
        status: int,
        type: str,
        message: str,
        param: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.request_id = request_id

    def __str__(self) -> str:
        return f"{self.status} {self.type}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        """So that it can come out of another process, as those of worker pools do."""
        return type(self), (self.status, self.type, self.message, self.param, self.retry_after, self.request_id)


class ConnectionFailed(CodeSandboxError):
    """No answer. `may_have_run` is True if the request had been sent, so that nobody knows what came of it."""

    def __init__(self, message: str, may_have_run: bool) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.may_have_run)


class ToolError(CodeSandboxError):
    """
    A tool call failed in a way that is no exception of the tool's own, or is one of a type that exists only there.

    `outcome` is that of the reply ("error", "timeout", "out_of_memory" ...), or None if there was none; `type` and
    `remote_traceback` are of the exception in the sandbox, where there was one.
    """

    def __init__(
        self,
        message: str,
        *,
        outcome: str | None = None,
        type: str | None = None,
        remote_traceback: str | None = None,
        sandbox_id: str | None = None,
        run_id: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.outcome = outcome
        self.type = type
        self.remote_traceback = remote_traceback
        self.sandbox_id = sandbox_id
        self.run_id = run_id
        self.status = status

    def __str__(self) -> str:
        if not self.remote_traceback:
            return self.message
        return f"{self.message}\n\nIn the sandbox:\n{self.remote_traceback.rstrip()}"


class RemoteTraceback(Exception):
    """The cause of an exception that was raised in a sandbox: where it was raised there. Only its text is of use."""

    def __init__(self, traceback: str) -> None:
        super().__init__(traceback)
        self.traceback = traceback

    def __str__(self) -> str:
        return f"In the sandbox:\n{self.traceback.rstrip()}"
