"""The client for asyncio: the same methods, to be awaited. A task that is cancelled ends its run in the service."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from . import _requests
from ._client import Connection, RunStream
from ._exchange import Request, Retries
from ._models import Agent, AgentEnv, Call, Conversation, Done, Event, Run, RunFile, RunSummary, Session
from ._requests import FileInput
from ._threads import in_thread

T = TypeVar("T")


async def _do(connection: Connection, request: Request[T]) -> T:
    exchange = connection.exchange()
    return await in_thread(lambda: exchange.run(request), exchange.cancellation.cancel)


class AsyncRunStream:
    """
    Events of one run, as they happen; the last is Done. To leave early ends the run: use `async with`, or aclose().
    """

    def __init__(self, connection: Connection, request: Request[None]) -> None:
        self._connection = connection
        self._request = request
        self._stream: RunStream | None = None
        self._closed = False

    async def _open(self) -> RunStream:
        if self._stream is None:
            exchange = self._connection.exchange()
            self._stream = await in_thread(lambda: RunStream(exchange, self._request), exchange.cancellation.cancel)
        return self._stream

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._closed:
            raise StopAsyncIteration
        stream = await self._open()
        event = await in_thread(lambda: next(stream, None), stream.cancel)
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        self._closed = True
        if self._stream is not None:
            self._stream.cancel()
            self._stream.close()

    async def __aenter__(self) -> AsyncRunStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _pages(
    connection: Connection, request: Callable[[str | None], Request[tuple[list[T], str | None]]]
) -> AsyncIterator[T]:
    after: str | None = None
    while True:
        entries, after = await _do(connection, request(after))
        for entry in entries:
            yield entry
        if after is None:
            return


async def _watched(events: AsyncRunStream, on_event: Callable[[Event], None]) -> Run:
    async with events:
        async for event in events:
            on_event(event)
            if isinstance(event, Done):
                return event.run
    raise AssertionError("a stream ends with Done, or raises")


class _Part:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _do(self, request: Request[T]) -> T:
        return await _do(self._connection, request)


class AsyncFiles(_Part):
    """Kept files."""

    async def get(self, file: RunFile | str) -> bytes:
        """What is in a file, by the file or its id."""
        if isinstance(file, RunFile) and file.content is not None:
            return file.content
        return await self._do(_requests.get_file(file.file_id if isinstance(file, RunFile) else file))

    async def save(self, file: RunFile | str, path: str | os.PathLike[str]) -> Path:
        """Into a file of your choice. The name that the sandbox gave it is no path to be trusted."""
        target, content = Path(path), await self.get(file)
        await asyncio.to_thread(target.write_bytes, content)
        return target

    def list(self, conversation_id: str, *, latest: bool = False) -> AsyncIterator[RunFile]:
        """Latest first; with `latest` only the last one of each name."""
        return _pages(self._connection, lambda after: _requests.list_files(conversation_id, latest, after))


class AsyncConversations(_Part):
    def list(self, *, agent: str | None = None, text: str | None = None) -> AsyncIterator[Conversation]:
        """Latest activity first; those of one agent, or with that text in their id or agent."""
        return _pages(self._connection, lambda after: _requests.list_conversations(agent, text, after))

    async def get(self, conversation_id: str) -> Conversation:
        return await self._do(_requests.get_conversation(conversation_id))

    async def delete(self, conversation_id: str) -> None:
        """With its interpreter, its runs and its files."""
        await self._do(_requests.delete_conversation(conversation_id))

    def runs(self, conversation_id: str) -> AsyncIterator[RunSummary]:
        """Oldest first."""
        return _pages(self._connection, lambda after: _requests.list_runs(conversation_id, after))

    async def run(self, run_id: str) -> Run:
        """One kept run, with its code."""
        return await self._do(_requests.get_run(run_id))


class AsyncSessions(_Part):
    """Live interpreters of stateful agents."""

    async def list(self) -> Iterable[Session]:
        return await self._do(_requests.list_sessions())

    async def end(self, conversation_id: str) -> bool:
        """Whether there was one. Its files stay."""
        return await self._do(_requests.end_session(conversation_id))


class AsyncAgents(_Part):
    def list(self) -> AsyncIterator[Agent]:
        return _pages(self._connection, _requests.list_agents)

    async def get(self, name: str) -> Agent:
        return await self._do(_requests.get_agent(name))

    async def put(
        self, name: str, *, image: str | None = None, tools: Iterable[Mapping[str, Any]] | None = None
    ) -> Agent:
        """Makes or changes one; what is left out stays."""
        return await self._do(_requests.put_agent(name, image, tools))

    async def delete(self, name: str) -> None:
        """With its settings; its conversations stay."""
        await self._do(_requests.delete_agent(name))

    async def env(self, name: str) -> AgentEnv:
        return await self._do(_requests.get_env(name))

    async def set_env(self, name: str, key: str, value: str) -> AgentEnv:
        """Look at `warnings`: a value may have less effect than it says."""
        return await self._do(_requests.set_env(name, key, value))

    async def delete_env(self, name: str, key: str) -> None:
        await self._do(_requests.delete_env(name, key))


class AsyncClient:
    """
    A connection to the Code Sandbox, for asyncio.

        async with AsyncClient("https://sandbox.example.org", key) as client:
            print((await client.run("print(6 * 7)")).stdout)
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
        self.files = AsyncFiles(self._connection)
        self.conversations = AsyncConversations(self._connection)
        self.sessions = AsyncSessions(self._connection)
        self.agents = AsyncAgents(self._connection)

    async def run(
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
        """Runs code and waits for what comes of it; see Client.run()."""
        members: dict[str, Any] = {
            **self._connection.fields(agent, conversation_id),
            "timeout_s": timeout_s,
            "files": files,
            "stdin": stdin,
            "inline_files": inline_files,
            "idempotency_key": idempotency_key,
        }
        if on_event is None:
            return await _do(self._connection, _requests.run(code, **members))
        return await _watched(AsyncRunStream(self._connection, _requests.stream(code, **members)), on_event)

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
    ) -> AsyncRunStream:
        """Runs code and gives news as they happen."""
        request = _requests.stream(
            code,
            **self._connection.fields(agent, conversation_id),
            timeout_s=timeout_s,
            files=files,
            stdin=stdin,
            inline_files=inline_files,
            idempotency_key=idempotency_key,
        )
        return AsyncRunStream(self._connection, request)

    async def call(
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
        return await _do(self._connection, request)

    async def environment(self) -> dict[str, Any]:
        """What snippets find: Python, packages, limits."""
        return await _do(self._connection, _requests.environment())

    async def describe_run_python(self, format: str = "openai", *, agent: str | None = None) -> dict[str, Any]:
        """The tool description of run_python for a model: openai, openai-responses, anthropic, gemini or mcp."""
        return await _do(self._connection, _requests.describe_run_python(format, agent or self._connection.agent))

    async def close(self) -> None:
        self._connection.transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
