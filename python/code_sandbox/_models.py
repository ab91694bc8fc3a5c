"""What the service answers, as types. Each keeps the whole answer as `raw`; fields that this version does not know are
only there."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
Raw = dict[str, Any]


def make(kind: type[T], raw: Mapping[str, Any], **others: Any) -> T:
    """Takes what the type knows, passes over the rest, and leaves out what did not come."""
    names = {entry.name for entry in dataclasses.fields(kind)}  # type: ignore[arg-type]
    known = {name: value for name, value in raw.items() if name in names}
    if "raw" in names:
        known["raw"] = dict(raw)
    return kind(**{**known, **others})


@dataclass(frozen=True)
class Usage:
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    max_memory_bytes: int = 0
    start_ms: float | None = None
    queue_ms: float | None = None
    create_ms: float | None = None


@dataclass(frozen=True)
class SessionState:
    """What a run says of its session. `message` is what a model should know, such as that variables were lost."""

    stateful: bool = False
    restarted: bool = False
    message: str | None = None


@dataclass(frozen=True)
class RunFile:
    """
    A file that a run has written. `content` is there if it came with the reply; else fetch it by `file_id`. In a list,
    `latest` says that no later run has written a file of its name.
    """

    file_id: str
    name: str
    size: int
    media_type: str
    sha256: str
    url: str | None = None
    conversation_id: str | None = None
    run_id: str | None = None
    created_at: str | None = None
    latest: bool | None = None
    content: bytes | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, raw: Raw) -> RunFile:
        encoded = raw.get("content_base64")
        return make(cls, raw, content=None if encoded is None else base64.b64decode(encoded))


@dataclass(frozen=True)
class SkippedFile:
    """A file that was not handed over, and why."""

    name: str
    size: int
    reason: str


@dataclass(frozen=True)
class Run:
    """
    The reply to a run of a snippet. A failed snippet is a result: see `outcome`, which is "ok", "error", "timeout",
    "out_of_memory", "output_limit", "killed" or "internal".

    Of a tool call that was kept, `tool` and `arguments` say what was called; what came of it is in `raw`.
    """

    run_id: str
    sandbox_id: str
    outcome: str
    exit_code: int
    stdout: str = ""
    stderr: str = ""
    agent: str | None = None
    conversation_id: str | None = None
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    results: list[dict[str, str]] = field(default_factory=list)
    files: list[RunFile] = field(default_factory=list)
    files_skipped: list[SkippedFile] = field(default_factory=list)
    files_skipped_unnamed: int = 0
    files_complete: bool = True
    session: SessionState = SessionState()
    usage: Usage = Usage()
    hint: str | None = None
    code: str | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    started_at: str | None = None
    raw: Raw = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, raw: Raw) -> Run:
        return make(
            cls,
            raw,
            files=[RunFile.from_json(entry) for entry in raw.get("files", [])],
            files_skipped=[make(SkippedFile, entry) for entry in raw.get("files_skipped", [])],
            session=make(SessionState, raw.get("session") or {}),
            usage=make(Usage, raw.get("usage") or {}),
        )

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def images(self) -> list[bytes]:
        """The charts, as PNG."""
        return [base64.b64decode(result["image/png"]) for result in self.results if "image/png" in result]

    def file(self, name: str) -> RunFile:
        """The file of that name; KeyError if the run has written none."""
        for entry in self.files:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def __str__(self) -> str:
        """As a model should read it."""
        from ._render import run_as_text

        return run_as_text(self)


@dataclass(frozen=True)
class RunSummary:
    """A run in the list of a conversation; `tool` if it was a tool call."""

    run_id: str
    conversation_id: str
    sandbox_id: str
    outcome: str
    exit_code: int
    agent: str | None = None
    tool: str | None = None
    stateful: bool = False
    started_at: str | None = None
    result_count: int = 0
    file_count: int = 0
    usage: Usage = Usage()
    raw: Raw = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, raw: Raw) -> RunSummary:
        return make(cls, raw, usage=make(Usage, raw.get("usage") or {}))


@dataclass(frozen=True)
class RemoteError:
    """The exception that ended a tool call."""

    type: str
    message: str
    traceback: str = ""
    builtin: bool = False


@dataclass(frozen=True)
class Egress:
    """One connection or name lookup that a tool call has tried."""

    host: str | None = None
    address: str | None = None
    port: int | None = None
    decision: str = ""
    rule: str = ""
    bytes: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    raw: Raw = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Call:
    """The reply to a tool call. `result` is JSON as it came."""

    run_id: str
    sandbox_id: str
    outcome: str
    exit_code: int
    result: Any = None
    error: RemoteError | None = None
    stdout: str = ""
    stderr: str = ""
    agent: str | None = None
    tool: str | None = None
    conversation_id: str | None = None
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    usage: Usage = Usage()
    egress: list[Egress] = field(default_factory=list)
    egress_complete: bool = True
    hint: str | None = None
    raw: Raw = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_json(cls, raw: Raw) -> Call:
        error = raw.get("error")
        return make(
            cls,
            raw,
            error=make(RemoteError, error) if error else None,
            usage=make(Usage, raw.get("usage") or {}),
            egress=[make(Egress, entry) for entry in raw.get("egress") or []],
        )


@dataclass(frozen=True)
class Conversation:
    conversation_id: str
    agent: str | None = None
    created_at: str | None = None
    active_at: str | None = None
    expires_at: str | None = None
    run_count: int = 0
    file_count: int = 0
    bytes: int = 0
    raw: Raw = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Session:
    """A live interpreter of a conversation: how many calls it has answered, and how many wait for it."""

    conversation_id: str
    agent: str | None = None
    project: str | None = None
    state: str = ""
    created_ms: int = 0
    idle_s: float = 0.0
    calls: int = 0
    waiting: int = 0
    raw: Raw = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Agent:
    """An agent. A list has only `name`, `image` and when it was made and changed."""

    name: str
    image: str | None = None
    image_digest: str | None = None
    image_bytes: int | None = None
    python: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)
    stateful: bool = False
    timeout_s: float = 0.0
    raw: Raw = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class AgentEnv:
    """An agent's settings: all of them, or the one that was just set; `warnings` says where one has less effect."""

    env: dict[str, str] = field(default_factory=dict)
    effective: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    raw: Raw = field(default_factory=dict, repr=False, compare=False)


# ---- news of a run, as they happen


@dataclass(frozen=True)
class Started:
    run_id: str
    sandbox_id: str


@dataclass(frozen=True)
class Stdout:
    text: str


@dataclass(frozen=True)
class Stderr:
    text: str


@dataclass(frozen=True)
class Result:
    """A shown figure or value: names of types, and text or base64."""

    data: dict[str, str]


@dataclass(frozen=True)
class FileWritten:
    file: RunFile


@dataclass(frozen=True)
class Done:
    """The last one: the whole reply."""

    run: Run


Event = Started | Stdout | Stderr | Result | FileWritten | Done
