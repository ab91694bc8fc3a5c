"""Each request that the clients make, as a value: what is sent, and what is made of the answer. Sends nothing."""

from __future__ import annotations

import base64
import json
import os
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, Union

from ._exchange import RUN_SECONDS, Request, parse_json
from ._http import Response, quote
from ._models import Agent, AgentEnv, Call, Conversation, Run, RunFile, RunSummary, Session, make

T = TypeVar("T")
FileInput = Union[bytes, str, "os.PathLike[str]", RunFile]
Page = tuple[list[T], str | None]


def _json(body: Any) -> bytes:
    """ValueError for NaN, TypeError for what JSON lacks: the caller's own data, before anything is sent."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _post(
    path: str, body: Mapping[str, Any], parse: Callable[[Response], T], idempotency_key: str | None
) -> Request[T]:
    key = str(uuid.uuid4()) if idempotency_key == "auto" else idempotency_key
    headers = {"Content-Type": "application/json", **_given(**{"Idempotency-Key": key})}
    return Request("POST", path, parse, _json(body), headers, repeatable=False, seconds=RUN_SECONDS)


def _get(path: str, parse: Callable[[Response], T], **query: Any) -> Request[T]:
    given = {name: value for name, value in query.items() if value is not None}
    return Request("GET", path + ("?" + urllib.parse.urlencode(given) if given else ""), parse)


def _put(path: str, body: Mapping[str, Any], parse: Callable[[Response], T]) -> Request[T]:
    return Request("PUT", path, parse, _json(body), {"Content-Type": "application/json"})


def _nothing(response: Response) -> None:
    return None


def _page(kind: Callable[[dict[str, Any]], T], member: str) -> Callable[[Response], Page[T]]:
    def parse(response: Response) -> Page[T]:
        raw = parse_json(response)
        return [kind(entry) for entry in raw[member]], raw.get("next")

    return parse


# ---- runs


def input_file(name: str, content: FileInput) -> dict[str, Any]:
    """One entry of `files`: text and bytes are content; a path is read; a kept file is sent by its id."""
    if isinstance(content, RunFile):
        if content.url is not None or content.content is None:
            return {"name": name, "file_id": content.file_id}
        content = content.content  # without a conversation it is kept nowhere but here
    if isinstance(content, str):
        return {"name": name, "content": content}
    if isinstance(content, os.PathLike):
        with open(content, "rb") as file:
            content = file.read()
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"The input file {name!r} must be text, bytes, a pathlib.Path or a file of an earlier run, not "
            f"{type(content).__name__}."
        )
    return {"name": name, "content_base64": base64.b64encode(content).decode("ascii")}


def _execute(
    code: str,
    *,
    agent: str | None,
    conversation_id: str | None,
    timeout_s: float | None,
    files: Mapping[str, FileInput] | None,
    stdin: str | None,
    inline_files: bool | None,
    stream: bool | None,
) -> dict[str, Any]:
    entries = [input_file(name, content) for name, content in files.items()] if files else None
    return {
        "code": code,
        **_given(
            agent=agent,
            conversation_id=conversation_id,
            timeout_s=timeout_s,
            files=entries,
            stdin=stdin,
            inline_files=inline_files,
            stream=stream,
        ),
    }


def run(code: str, *, idempotency_key: str | None = None, **members: Any) -> Request[Run]:
    return _post(
        "/v1/execute",
        _execute(code, stream=None, **members),
        lambda response: Run.from_json(parse_json(response)),
        idempotency_key,
    )


def stream(code: str, *, idempotency_key: str | None = None, **members: Any) -> Request[None]:
    return _post("/v1/execute", _execute(code, stream=True, **members), _nothing, idempotency_key)


def call(
    tool: str,
    arguments: Mapping[str, Any],
    *,
    agent: str | None,
    conversation_id: str | None,
    timeout_s: float | None,
    idempotency_key: str | None = None,
) -> Request[Call]:
    body = {
        "tool": tool,
        "arguments": dict(arguments),
        **_given(agent=agent, conversation_id=conversation_id, timeout_s=timeout_s),
    }
    return _post("/v1/call", body, lambda response: Call.from_json(parse_json(response)), idempotency_key)


def get_run(run_id: str) -> Request[Run]:
    return _get(f"/v1/runs/{quote(run_id)}", lambda response: Run.from_json(parse_json(response)))


def environment() -> Request[dict[str, Any]]:
    return _get("/v1/environment", parse_json)


def describe_run_python(format: str, agent: str | None) -> Request[dict[str, Any]]:
    return _get("/v1/tools/run_python", parse_json, format=format, agent=agent)


# ---- files


def get_file(file_id: str) -> Request[bytes]:
    return _get(f"/v1/files/{quote(file_id)}", lambda response: response.body)


def list_files(conversation_id: str, latest: bool, after: str | None) -> Request[Page[RunFile]]:
    return _get(
        f"/v1/conversations/{quote(conversation_id)}/files",
        _page(RunFile.from_json, "files"),
        latest="1" if latest else None,
        after=after,
        limit=200,
    )


# ---- conversations and sessions


def list_conversations(agent: str | None, text: str | None, after: str | None) -> Request[Page[Conversation]]:
    return _get(
        "/v1/conversations",
        _page(lambda raw: make(Conversation, raw), "conversations"),
        agent=agent,
        q=text,
        after=after,
        limit=200,
    )


def get_conversation(conversation_id: str) -> Request[Conversation]:
    return _get(
        f"/v1/conversations/{quote(conversation_id)}", lambda response: make(Conversation, parse_json(response))
    )


def delete_conversation(conversation_id: str) -> Request[None]:
    return Request("DELETE", f"/v1/conversations/{quote(conversation_id)}", _nothing)


def list_runs(conversation_id: str, after: str | None) -> Request[Page[RunSummary]]:
    return _get(
        f"/v1/conversations/{quote(conversation_id)}/runs", _page(RunSummary.from_json, "runs"), after=after, limit=200
    )


def list_sessions() -> Request[list[Session]]:
    return _get("/v1/sessions", lambda response: [make(Session, entry) for entry in parse_json(response)["sessions"]])


def end_session(conversation_id: str) -> Request[bool]:
    return Request(
        "DELETE",
        f"/v1/conversations/{quote(conversation_id)}/session",
        lambda response: bool(parse_json(response)["ended"]),
    )


# ---- agents


def _agent(response: Response) -> Agent:
    return make(Agent, parse_json(response))


def _env(response: Response) -> AgentEnv:
    raw = parse_json(response)
    return make(AgentEnv, raw, env=raw["env"] if "env" in raw else {raw["name"]: raw["value"]})


def list_agents(after: str | None) -> Request[Page[Agent]]:
    return _get("/v1/agents", _page(lambda raw: make(Agent, raw), "agents"), after=after, limit=200)


def get_agent(name: str) -> Request[Agent]:
    return _get(f"/v1/agents/{quote(name)}", _agent)


def put_agent(name: str, image: str | None, tools: Iterable[Mapping[str, Any]] | None) -> Request[Agent]:
    listed = None if tools is None else [dict(entry) for entry in tools]
    return _put(f"/v1/agents/{quote(name)}", _given(image=image, tools=listed), _agent)


def delete_agent(name: str) -> Request[None]:
    return Request("DELETE", f"/v1/agents/{quote(name)}", _nothing)


def get_env(name: str) -> Request[AgentEnv]:
    return _get(f"/v1/agents/{quote(name)}/env", _env)


def set_env(name: str, key: str, value: str) -> Request[AgentEnv]:
    return _put(f"/v1/agents/{quote(name)}/env/{quote(key)}", {"value": value}, _env)


def delete_env(name: str, key: str) -> Request[None]:
    return Request("DELETE", f"/v1/agents/{quote(name)}/env/{quote(key)}", _nothing)
