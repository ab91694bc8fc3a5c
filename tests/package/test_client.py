"""Client and AsyncClient: each method asks for the right thing and gives it back as a type. Both are tried by one test."""
import asyncio
import base64
import copy
import dataclasses
import inspect
import io
import json
import pickle
import signal
import threading
import time

import pytest
from conftest import TREE
from fake_platform import KEY, call_reply, error, event, run_reply

import code_sandbox
from code_sandbox import (ApiError, AsyncClient, Client, ConnectionFailed, Done, FileWritten, Result, RunFile, Started, Stderr,
                          Stdout)

RUN = ("POST", "/v1/execute")
PNG = b"\x89PNG"
FILE = {"file_id": "file_1", "name": "a/b.csv", "size": 3, "media_type": "text/csv", "sha256": "00", "url": "/v1/files/file_1"}
WHOLE = run_reply(
    stdout="hi\n", outcome="error", exit_code=1, stderr="ZeroDivisionError", conversation_id="talk-1",
    results=[{"image/png": base64.b64encode(PNG).decode(), "text/plain": "<Figure>"}, {"text/plain": "42"}],
    files=[FILE, {**FILE, "name": "c", "url": None, "content_base64": "YWJj"}],
    files_skipped=[{"name": "big", "size": 9, "reason": "too_large"}], hint="Do not divide by zero.",
    session={"stateful": True, "restarted": True, "message": "Variables were lost."})


class Both:
    """Calls a method of either client, waits for it, and collects what comes in pieces."""

    def __init__(self, kind, url):
        self.kind, self.url = kind, url

    def __call__(self, path, *args, **kwargs):
        if self.kind is Client:
            with Client(self.url, KEY) as client:
                return self.collect(self.find(client, path)(*args, **kwargs))
        return asyncio.run(self.later(path, args, kwargs))

    async def later(self, path, args, kwargs):
        async with AsyncClient(self.url, KEY) as client:
            made = self.find(client, path)(*args, **kwargs)
            if hasattr(made, "__aiter__"):
                return [entry async for entry in made]
            return await made

    @staticmethod
    def find(client, path):
        for name in path.split("."):
            client = getattr(client, name)
        return client

    @staticmethod
    def collect(made):
        return list(made) if hasattr(made, "__next__") else made


@pytest.fixture(params=[Client, AsyncClient], ids=["sync", "async"])
def do(request, fake):
    return Both(request.param, fake.url)


def test_both_have_the_same_methods():
    def public(kind):
        return {name: inspect.signature(getattr(kind, name)) for name in vars(kind) if not name.startswith("_")}

    for name in ("Files", "Conversations", "Sessions", "Agents"):
        sync, later = (public(getattr(module, prefix + name)) for module, prefix in
                       ((code_sandbox._client, ""), (code_sandbox._async_client, "Async")))
        assert {key: list(value.parameters) for key, value in sync.items()} == \
            {key: list(value.parameters) for key, value in later.items()}
    sync, later = public(Client), public(AsyncClient)
    assert {key: list(value.parameters) for key, value in sync.items()} == \
        {key: list(value.parameters) for key, value in later.items()}


def test_run(fake, do, tmp_path):
    (tmp_path / "in.bin").write_bytes(b"\xff")
    fake.on(*RUN, WHOLE)
    kept = RunFile("file_9", "x", 1, "text/plain", "00")
    run = do("run", "1/0", agent="shop", conversation_id="talk-1", timeout_s=5, stdin="in", inline_files=True,
             files={"t.txt": "é", "b.bin": b"\x00", "p.bin": tmp_path / "in.bin", "k": kept})
    assert fake.last.json == {
        "code": "1/0", "agent": "shop", "conversation_id": "talk-1", "timeout_s": 5, "stdin": "in", "inline_files": True,
        "files": [{"name": "t.txt", "content": "é"}, {"name": "b.bin", "content_base64": "AA=="},
                  {"name": "p.bin", "content_base64": "/w=="}, {"name": "k", "file_id": "file_9"}]}
    assert (run.outcome, run.ok, run.exit_code, run.stdout, run.hint) == ("error", False, 1, "hi\n", "Do not divide by zero.")
    assert run.session.restarted and run.session.message == "Variables were lost." and run.usage.cpu_ms == 3
    assert run.images == [PNG] and run.file("c").content == b"abc" and run.file("a/b.csv").content is None
    assert run.files_skipped[0].reason == "too_large" and run.raw["new_in_a_later_version"] == 1
    with pytest.raises(KeyError):
        run.file("none")


def test_the_least_that_is_sent(fake, do):
    fake.on(*RUN, run_reply())
    assert do("run", "1").ok and fake.last.json == {"code": "1"}
    assert fake.last.headers["Content-Type"] == "application/json" and "Idempotency-Key" not in fake.last.headers


def test_what_a_model_reads():
    text = str(code_sandbox.Run.from_json(WHOLE))
    assert text == ("Variables were lost.\n\nIt ended with exit code 1.\n\nstdout:\nhi\n\nstderr:\nZeroDivisionError\n\n"
                    "value:\n42\n\n1 chart was drawn.\n\nfiles written: a/b.csv (3 bytes), c (3 bytes)\n\n"
                    "files not handed over: big (too_large)\n\nhint: Do not divide by zero.")
    assert str(code_sandbox.Run.from_json(run_reply())) == "It ran, and printed nothing."
    long = str(code_sandbox.Run.from_json(run_reply(stdout="x" * 10**6, outcome="timeout", exit_code=-1)))
    assert len(long) < 21000 and "characters are left out here" in long and long.startswith("It was stopped at its time limit")


def test_call(fake, do):
    fake.on("POST", "/v1/call", call_reply({"a": 1}, outcome="error", error={"type": "E", "message": "m", "traceback": "t"}))
    call = do("call", "find", {"n": 1}, agent="shop", conversation_id="c", timeout_s=7, idempotency_key="k")
    assert fake.last.json == {"tool": "find", "arguments": {"n": 1}, "agent": "shop", "conversation_id": "c", "timeout_s": 7}
    assert fake.last.headers["Idempotency-Key"] == "k" and call.error.traceback == "t" and call.result == {"a": 1}


def test_files(fake, do, tmp_path):
    fake.on("GET", "/v1/files/file_1", (200, b"\x00bytes", {"Content-Type": "text/csv"}))
    assert do("files.get", "file_1") == b"\x00bytes"
    assert do("files.save", RunFile.from_json(FILE), tmp_path / "x").read_bytes() == b"\x00bytes"
    asked = len(fake.requests)
    assert do("files.get", RunFile.from_json({**FILE, "content_base64": "YWJj"})) == b"abc" and len(fake.requests) == asked


def test_lists_come_whole(fake, do):
    first = {"conversation_id": "a", "run_count": 2}
    fake.on("GET", "/v1/conversations?agent=shop&q=x+%26&limit=200", {"conversations": [first], "next": "a&b"})
    fake.on("GET", "/v1/conversations?agent=shop&q=x+%26&after=a%26b&limit=200",
            {"conversations": [{**first, "conversation_id": "b"}], "next": None})
    listed = do("conversations.list", agent="shop", text="x &")
    assert [entry.conversation_id for entry in listed] == ["a", "b"] and listed[0].run_count == 2
    fake.on("GET", "/v1/conversations/a%2Fb/files?latest=1&limit=200", {"files": [FILE], "next": None})
    assert do("files.list", "a/b", latest=True)[0].name == "a/b.csv"
    summary = {"run_id": "run_1", "conversation_id": "a", "sandbox_id": "sbx_1", "outcome": "ok", "exit_code": 0,
               "usage": {"wall_ms": 1.5, "cpu_ms": 1, "max_memory_bytes": 5}}
    fake.on("GET", "/v1/conversations/a/runs?limit=200", {"runs": [summary], "next": None})
    assert do("conversations.runs", "a")[0].usage.wall_ms == 1.5
    fake.on("GET", "/v1/agents?limit=200", {"agents": [{"name": "shop", "image": None}], "next": None})
    assert do("agents.list")[0].name == "shop"


def test_conversations_and_sessions(fake, do):
    fake.on("GET", "/v1/conversations/a", {"conversation_id": "a", "bytes": 5}).on("DELETE", "/v1/conversations/a", (204, b"", {}))
    assert do("conversations.get", "a").bytes == 5 and do("conversations.delete", "a") is None
    fake.on("GET", "/v1/runs/run_1", {**WHOLE, "code": "1/0", "started_at": "2030"})
    assert do("conversations.run", "run_1").code == "1/0"
    fake.on("GET", "/v1/sessions", {"sessions": [{"conversation_id": "a", "agent": "shop", "idle_ms": 5}]})
    assert do("sessions.list")[0].raw["idle_ms"] == 5
    fake.on("DELETE", "/v1/conversations/a/session", {"conversation_id": "a", "ended": True})
    assert do("sessions.end", "a") is True


def test_agents(fake, do):
    shop = {"name": "shop", "image": None, "tools": [], "stateful": True, "timeout_s": 20.0}
    fake.on("PUT", "/v1/agents/shop", (201, shop, {})).on("GET", "/v1/agents/shop", shop).on("DELETE", "/v1/agents/shop", (204, b"", {}))
    tools = [{"name": "f", "entrypoint": "m:f"}]
    assert do("agents.put", "shop", image="docker://x", tools=tools).stateful
    assert fake.last.json == {"image": "docker://x", "tools": tools}
    do("agents.put", "shop")
    assert fake.last.json == {}
    assert do("agents.get", "shop").timeout_s == 20 and do("agents.delete", "shop") is None
    fake.on("PUT", "/v1/agents/shop/env/A_B", {"name": "A_B", "value": "1", "effective": {"stateful": True}, "warnings": ["w"]})
    answer = do("agents.set_env", "shop", "A_B", "1")
    assert (answer.env, answer.warnings, fake.last.json) == ({"A_B": "1"}, ["w"], {"value": "1"})
    fake.on("GET", "/v1/agents/shop/env", {"env": {"A": "1"}, "effective": {}, "warnings": []})
    fake.on("DELETE", "/v1/agents/shop/env/A", (204, b"", {}))
    assert do("agents.env", "shop").env == {"A": "1"} and do("agents.delete_env", "shop", "A") is None


def test_descriptions(fake, do):
    fake.on("GET", "/v1/tools/run_python?format=anthropic&agent=shop", {"name": "run_python"})
    fake.on("GET", "/v1/tools/run_python?format=openai", {"type": "function"})
    assert do("describe_run_python", "anthropic", agent="shop") == {"name": "run_python"}
    assert do("describe_run_python") == {"type": "function"}


def test_errors(fake, do):
    fake.on(*RUN, (400, error("invalid_request", "timeout_s must be ...", "timeout_s"), {"X-Request-Id": "req_1"}))
    with pytest.raises(ApiError) as caught:
        do("run", "1")
    problem = caught.value
    assert (problem.status, problem.type, problem.param, problem.request_id) == (400, "invalid_request", "timeout_s", "req_1")
    assert str(problem) == "400 invalid_request: timeout_s must be ..."


def test_defaults_of_the_environment(fake, monkeypatch):
    monkeypatch.setenv("CODE_SANDBOX_URL", fake.url)
    monkeypatch.setenv("CODE_SANDBOX_KEY", KEY)
    monkeypatch.setenv("CODE_SANDBOX_AGENT", "shop")
    fake.on(*RUN, run_reply())
    with Client() as client, code_sandbox.conversation("talk-5"):
        client.run("1")
        assert fake.last.json == {"code": "1", "agent": "shop", "conversation_id": "talk-5"}
        client.run("1", agent="other", conversation_id="mine")
        assert fake.last.json == {"code": "1", "agent": "other", "conversation_id": "mine"}


# ---- streams

NEWS = [": keep-alive\n\n", event("start", {"run_id": "run_1", "sandbox_id": "sbx_1"}), event("stdout", {"text": "a\né"})[:9],
        event("stdout", {"text": "a\né"})[9:], event("unheard_of", {}) + event("stderr", {"text": "b"}),
        event("result", {"text/plain": "42"}), event("file", {**FILE, "content_base64": "YWJj"}), event("done", WHOLE)]


def test_stream(fake, do):
    fake.on(*RUN, (200, "events", NEWS))
    news = do("stream", "1", timeout_s=3)
    assert fake.last.json == {"code": "1", "timeout_s": 3, "stream": True}
    assert [type(entry) for entry in news] == [Started, Stdout, Stderr, Result, FileWritten, Done]
    assert news[0].sandbox_id == "sbx_1" and news[1].text == "a\né" and news[3].data == {"text/plain": "42"}
    assert news[4].file.content == b"abc" and news[5].run.exit_code == 1


def test_a_run_that_tells_what_happens(fake, do):
    fake.on(*RUN, (200, "events", NEWS))
    seen = []
    run = do("run", "1", timeout_s=3, agent="shop", idempotency_key="key-1", on_event=seen.append)
    assert fake.last.headers["Idempotency-Key"] == "key-1"
    assert run.hint == "Do not divide by zero." and len(seen) == 6 and seen[-1].run == run
    assert fake.last.json == {"code": "1", "timeout_s": 3, "agent": "shop", "stream": True}
    with Client(fake.url, KEY) as client:
        client.run("1", on_event=seen.append)
        client.run("1", on_event=seen.append)
    assert len(fake.peers) == 2  # the connection was used again


def test_one_who_listens_and_fails_ends_the_run(fake, do):
    fake.on(*RUN, (200, "events", [NEWS[1], "hang"]))
    with pytest.raises(ZeroDivisionError):
        do("run", "1", on_event=lambda event: 1 / 0)
    assert fake.gone.wait(5)


def test_lines_may_end_otherwise(fake, do):
    fake.on(*RUN, (200, "events", ["event:stdout\r\ndata:{\"text\":\r\ndata: \"x\"}\r\n\r\n", event("done", WHOLE)]))
    assert do("stream", "1")[0] == Stdout("x")


@pytest.mark.parametrize("steps, kind, words", [
    ([NEWS[1], "cut"], ConnectionFailed, "lost|ended before"), ([NEWS[1]], ConnectionFailed, "ended before the run did"),
    ([event("error", error("internal", "A fault."))], ApiError, "internal: A fault")])
def test_a_stream_that_ends_badly(fake, do, steps, kind, words):
    fake.on(*RUN, (200, "events", steps))
    with pytest.raises(kind, match=words):
        do("stream", "1")
    assert len(fake.requests) == 1


def test_a_stream_that_is_refused(fake, do):
    fake.on(*RUN, (400, error("invalid_request", "no code"), {}))
    with pytest.raises(ApiError, match="no code"):
        do("stream", "1")


def test_to_leave_a_stream_ends_the_run(fake):
    fake.on(*RUN, (200, "events", [NEWS[1], "hang"]))
    with Client(fake.url, KEY) as client, client.stream("1") as news:
        for entry in news:
            assert isinstance(entry, Started)
            break
    assert fake.gone.wait(5)


@pytest.mark.parametrize("how", ["leave", "cancel", "silent"])
def test_to_leave_an_async_stream_ends_the_run(fake, how):
    fake.on(*RUN, (200, "events", ["hang"] if how == "silent" else [NEWS[1], "hang"]))

    async def read(client):
        async with client.stream("1") as news:
            async for _ in news:
                if how == "leave":
                    return

    async def main():
        async with AsyncClient(fake.url, KEY) as client:
            if how == "leave":
                await read(client)
            else:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(read(client), 0.3)

    asyncio.run(main())
    assert fake.gone.wait(5)


def test_a_cancelled_task_ends_its_run(fake):
    fake.on(*RUN, "hang")

    async def main():
        async with AsyncClient(fake.url, KEY) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.run("1"), 0.3)

    asyncio.run(main())
    assert fake.gone.wait(5) and len(fake.requests) == 1


@pytest.mark.parametrize("answer", ["hang", (200, "events", ["{", "hang"])], ids=["no answer", "in its middle"])
def test_an_interrupted_run_ends(fake, answer):
    """Ctrl-C: also while the exception is kept, as an interactive Python does."""
    fake.on(*RUN, answer)

    def interrupt():
        while not fake.requests:
            time.sleep(0.01)
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with Client(fake.url, KEY) as client:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt) as kept:
            client.run("1")
        thread.join()
        assert fake.gone.wait(5), kept


def test_a_cancelled_task_does_not_try_again(fake):
    fake.on(*RUN, (503, error("overloaded", "busy"), {"Retry-After": "1"}))

    async def main():
        async with AsyncClient(fake.url, KEY) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.run("1"), 0.2)
            await asyncio.sleep(1.3)

    asyncio.run(main())
    assert len(fake.requests) == 1


# ---- types


def properties_of(schema, schemas):
    if "$ref" in schema:
        return properties_of(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    parts = [properties_of(part, schemas) for part in schema.get("allOf", [])]
    return set(schema.get("properties", {})).union(*parts)


@pytest.mark.parametrize("name, kind, elsewhere", [
    ("Usage", "Usage", ()), ("SessionNote", "SessionState", ()), ("SkippedFile", "SkippedFile", ()),
    ("OutputFile", "RunFile", ("content_base64",)), ("KeptFile", "RunFile", ()), ("ExecuteReply", "Run", ()),
    ("KeptRun", "Run", ()), ("RunSummary", "RunSummary", ()), ("CallError", "RemoteError", ()), ("Egress", "Egress", ()),
    ("CallReply", "Call", ()), ("Conversation", "Conversation", ()), ("LiveSession", "Session", ()), ("Agent", "Agent", ()),
    ("AgentEnv", "AgentEnv", ()), ("Setting", "AgentEnv", ("name", "value"))])
def test_every_field_that_the_service_describes_has_its_type(name, kind, elsewhere):
    schemas = json.loads((TREE / "docs" / "openapi.json").read_text())["components"]["schemas"]
    described = properties_of(schemas[name], schemas)
    fields = {field.name for field in dataclasses.fields(getattr(code_sandbox, kind))}
    assert described and described - fields == set(elsewhere)


# ---- what is handed on


def test_a_file_of_a_run_without_a_conversation_is_sent_again(fake, do):
    """It is kept nowhere: its id would be unknown."""
    fake.on(*RUN, WHOLE)
    run = do("run", "1")
    do("run", "2", files={"kept": run.file("a/b.csv"), "brought": run.file("c")})
    assert fake.last.json["files"] == [{"name": "kept", "file_id": "file_1"}, {"name": "brought", "content_base64": "YWJj"}]


def test_what_cannot_be_an_input_file_is_named(do):
    with pytest.raises(TypeError, match="The input file 'a.csv' must be text, bytes, a pathlib.Path or .*, not StringIO"):
        do("run", "1", files={"a.csv": io.StringIO("x")})


@pytest.mark.parametrize("copied", [copy.copy, lambda problem: pickle.loads(pickle.dumps(problem))], ids=["copied", "pickled"])
def test_errors_come_out_of_other_processes_whole(copied):
    problem = copied(ApiError(429, "rate_limited", "Too fast.", "code", 2.5, "req_1"))
    assert str(problem) == "429 rate_limited: Too fast." and vars(problem) == {
        "status": 429, "type": "rate_limited", "message": "Too fast.", "param": "code", "retry_after": 2.5, "request_id": "req_1"}
    lost = copied(ConnectionFailed("It went away.", True))
    assert str(lost) == "It went away." and lost.may_have_run
    failed = copied(code_sandbox.ToolError("It failed.", outcome="timeout", status=429))
    assert failed.outcome == "timeout" and failed.status == 429 and failed.message == "It failed."
