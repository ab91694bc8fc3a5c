"""The client, for programs that wait for each answer."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from . import _context, _requests
from ._errors import ConnectionFailed
from ._events import Reader
from ._exchange import Exchange, Request, Retries
from ._http import Transport
from ._models import Agent, AgentEnv, Call, Conversation, Done, Event, Run, RunFile, RunSummary, Session, Started
from ._requests import FileInput

T = TypeVar("T")


class Connection:
    """What both clients are made of: where the service is, how long to try, and whether it heeds an Idempotency-Key."""

    def __init__(
        self,
        url: str | None,
        key: str | None,
        agent: str | None,
        project: str | None,
        retries: Retries | None,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        url = url or os.environ.get("CODE_SANDBOX_URL")
        key = key or os.environ.get("CODE_SANDBOX_KEY")
        if not url or not key:
            raise ValueError(
                "The client needs the address of the service and a key: Client(url, key), or "
                "CODE_SANDBOX_URL and CODE_SANDBOX_KEY."
            )
        self.transport = Transport(url, key, project, ssl_context)
        self.agent = agent or os.environ.get("CODE_SANDBOX_AGENT") or None
        self.retries = retries or Retries()

    def exchange(self) -> Exchange:
        return Exchange(self.transport, self.retries, self._heeds_keys)

    def _heeds_keys(self) -> bool:
        """Asked only when it matters: after an answer was lost."""
        try:
            answer = Exchange(self.transport, Retries(seconds=5)).run(_requests.environment())
        except Exception:
            return False
        return answer.get("idempotency_key") is True

    def fields(self, agent: str | None, conversation_id: str | None) -> dict[str, str | None]:
        return {"agent": agent or self.agent, "conversation_id": conversation_id or _context.conversation_id.get()}


def pages(fetch: Callable[[str | None], tuple[list[T], str | None]]) -> Iterator[T]:
    after: str | None = None
    while True:
        entries, after = fetch(after)
        yield from entries
        if after is None:
            return


class RunStream:
    """
    Events of one run, as they happen; the last is Done. To leave early ends the run: use it as a context manager, or
    close() it.
    """

    def __init__(self, exchange: Exchange, request: Request[None]) -> None:
        self._exchange = exchange
        self._request = request
        self._stream = exchange.open(request)
        self._reader = Reader()
        self._started = False
        self._over = False

    def __iter__(self) -> RunStream:
        return self

    def __next__(self) -> Event:
        while not self._over:
            event = self._reader.feed(self._line())
            if isinstance(event, Done):
                self._over = True
                while self._stream.line():  # so that the connection can be used again
                    pass
            if isinstance(event, Started):
                if self._started:
                    continue
                self._started = True
            if event is not None:
                return event
        raise StopIteration

    def _line(self) -> bytes:
        while True:
            try:
                if line := self._stream.line():
                    return line
                raise ConnectionFailed("The stream ended before the run did.", True)
            except ConnectionFailed as error:  # with an Idempotency-Key the last event can still be had
                self._stream.close()
                self._stream = self._exchange.again(self._request, error)
                self._reader = Reader()

    def close(self) -> None:
        self._over = True
        self._stream.close()

    def cancel(self) -> None:
        self._exchange.cancellation.cancel()

    def __enter__(self) -> RunStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Part:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _do(self, request: Request[T]) -> T:
        return self._connection.exchange().run(request)


class Files(_Part):
    """Kept files."""

    def get(self, file: RunFile | str) -> bytes:
        """What is in a file, by the file or its id."""
        if isinstance(file, RunFile) and file.content is not None:
            return file.content
        return self._do(_requests.get_file(file.file_id if isinstance(file, RunFile) else file))

    def save(self, file: RunFile | str, path: str | os.PathLike[str]) -> Path:
        """Into a file of your choice. The name that the sandbox gave it is no path to be trusted."""
        target = Path(path)
        target.write_bytes(self.get(file))
        return target

    def list(self, conversation_id: str, *, latest: bool = False) -> Iterator[RunFile]:
        """Latest first; with `latest` only the last one of each name."""
        return pages(lambda after: self._do(_requests.list_files(conversation_id, latest, after)))


class Conversations(_Part):
    def list(self, *, agent: str | None = None, text: str | None = None) -> Iterator[Conversation]:
        """Latest activity first; those of one agent, or with that text in their id or agent."""
        return pages(lambda after: self._do(_requests.list_conversations(agent, text, after)))

    def get(self, conversation_id: str) -> Conversation:
        return self._do(_requests.get_conversation(conversation_id))

    def delete(self, conversation_id: str) -> None:
        """With its interpreter, its runs and its files."""
        self._do(_requests.delete_conversation(conversation_id))

    def runs(self, conversation_id: str) -> Iterator[RunSummary]:
        """Oldest first."""
        return pages(lambda after: self._do(_requests.list_runs(conversation_id, after)))

    def run(self, run_id: str) -> Run:
        """One kept run, with its code."""
        return self._do(_requests.get_run(run_id))


class Sessions(_Part):
    """Live interpreters of stateful agents."""

    def list(self) -> Iterable[Session]:
        return self._do(_requests.list_sessions())

    def end(self, conversation_id: str) -> bool:
        """Whether there was one. Its files stay."""
        return self._do(_requests.end_session(conversation_id))


class Agents(_Part):
    def list(self) -> Iterator[Agent]:
        return pages(lambda after: self._do(_requests.list_agents(after)))

    def get(self, name: str) -> Agent:
        return self._do(_requests.get_agent(name))

    def put(self, name: str, *, image: str | None = None, tools: Iterable[Mapping[str, Any]] | None = None) -> Agent:
        """Makes or changes one; what is left out stays."""
        return self._do(_requests.put_agent(name, image, tools))

    def delete(self, name: str) -> None:
        """With its settings; its conversations stay."""
        self._do(_requests.delete_agent(name))

    def env(self, name: str) -> AgentEnv:
        return self._do(_requests.get_env(name))

    def set_env(self, name: str, key: str, value: str) -> AgentEnv:
        """Look at `warnings`: a value may have less effect than it says."""
        return self._do(_requests.set_env(name, key, value))

    def delete_env(self, name: str, key: str) -> None:
        self._do(_requests.delete_env(name, key))


class Client:
    """
    A connection to the Code Sandbox, which many threads may share.

        with Client("https://sandbox.example.org", key) as client:
            print(client.run("print(6 * 7)").stdout)

    Without arguments, address, key and agent are those of CODE_SANDBOX_URL, _KEY and _AGENT.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        agent: str | None = None,
        project: str | None = None,
        retries: Retries | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._connection = Connection(url, key, agent, project, retries, ssl_context)
        self.files = Files(self._connection)
        self.conversations = Conversations(self._connection)
        self.sessions = Sessions(self._connection)
        self.agents = Agents(self._connection)

    def _do(self, request: Request[T]) -> T:
        return self._connection.exchange().run(request)

    def run(
        self,
        code: str,
        *,
        agent: str | None = None,
        conversation_id: str | None = None,
        timeout_s: float | None = None,
        files: Mapping[str, FileInput] | None = None,
        stdin: str | None = None,
        inline_files: bool | None = None,
        idempotency_key: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Run:
        """
        Runs code and waits for what comes of it. A failed snippet is a result, not an exception.

        `files` maps names in the working directory to text, bytes, a path of this machine, or a file of an earlier run.
        With `on_event`, news are handed to it as they happen. `idempotency_key`, a text of your own or "auto" for a new
        one, makes it safe to try again after a lost answer; the run then goes on if this client goes away.
        """
        members: dict[str, Any] = {
            **self._connection.fields(agent, conversation_id),
            "timeout_s": timeout_s,
            "files": files,
            "stdin": stdin,
            "inline_files": inline_files,
        }
        if on_event is None:
            return self._do(_requests.run(code, idempotency_key=idempotency_key, **members))
        request = _requests.stream(code, idempotency_key=idempotency_key, **members)
        with RunStream(self._connection.exchange(), request) as events:
            for event in events:
                on_event(event)
                if isinstance(event, Done):
                    return event.run
        raise AssertionError("a stream ends with Done, or raises")

    def stream(
        self,
        code: str,
        *,
        agent: str | None = None,
        conversation_id: str | None = None,
        timeout_s: float | None = None,
        files: Mapping[str, FileInput] | None = None,
        stdin: str | None = None,
        inline_files: bool | None = None,
        idempotency_key: str | None = None,
    ) -> RunStream:
        """Runs code and gives news as they happen. With `idempotency_key`, a broken stream is taken up at its end."""
        request = _requests.stream(
            code,
            **self._connection.fields(agent, conversation_id),
            timeout_s=timeout_s,
            files=files,
            stdin=stdin,
            inline_files=inline_files,
            idempotency_key=idempotency_key,
        )
        return RunStream(self._connection.exchange(), request)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        agent: str | None = None,
        conversation_id: str | None = None,
        timeout_s: float | None = None,
        idempotency_key: str | None = None,
    ) -> Call:
        """Runs a tool of an agent's image. An exception of the tool is a result here: see `error`."""
        request = _requests.call(
            tool,
            arguments or {},
            timeout_s=timeout_s,
            idempotency_key=idempotency_key,
            **self._connection.fields(agent, conversation_id),
        )
        return self._do(request)

    def environment(self) -> dict[str, Any]:
        """What snippets find: Python, packages, limits."""
        return self._do(_requests.environment())

    def describe_run_python(self, format: str = "openai", *, agent: str | None = None) -> dict[str, Any]:
        """The tool description of run_python for a model: openai, openai-responses, anthropic, gemini or mcp."""
        return self._do(_requests.describe_run_python(format, agent or self._connection.agent))

    def close(self) -> None:
        self._connection.transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
