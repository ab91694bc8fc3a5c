"""@tool: where a call runs, what is sent, what comes back, and that nothing ever falls back to this process."""
import asyncio
import datetime
import inspect
import logging
import subprocess
import sys
import threading
import time
import traceback

import fake_platform
import pytest
import shop_tools
from fake_platform import busy, call_reply, error

import code_sandbox
from code_sandbox import ToolError, _inside

CALL = ("POST", "/v1/call")


@pytest.fixture(autouse=True)
def calls():
    shop_tools.CALLED.clear()
    return shop_tools.CALLED


def failing(kind, message, text="Traceback ...\n"):
    return call_reply(outcome="error", exit_code=1, error={"type": kind, "message": message, "traceback": text})


# ---- where


def test_without_any_variable_it_runs_here_and_says_so_once(calls, caplog):
    assert shop_tools.find_order(7).number == 7 and asyncio.run(shop_tools.search("a")) == []
    assert calls == [("find_order", 7, None), ("search", "a", "fast", 10)]
    said = [record.getMessage() for record in caplog.records if record.name == "code_sandbox"]
    assert said == ["None of the CODE_SANDBOX_* variables is set: tools run in this process, without a sandbox."]


def test_without_logging_it_is_said_on_standard_error():
    code = "import shop_tools; shop_tools.nothing(); shop_tools.nothing()"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count("without a sandbox") == 1


def test_inside_a_sandbox_it_just_runs(calls, platform, caplog):
    _inside.enter()
    assert shop_tools.find_order(7).number == 7 and asyncio.run(shop_tools.search("a")) == []
    assert len(calls) == 2 and platform.requests == [] and caplog.records == []


@pytest.mark.parametrize("name", ["CODE_SANDBOX_URL", "CODE_SANDBOX_KEY", "CODE_SANDBOX_AGENT"])
@pytest.mark.parametrize("gone", [True, False], ids=["unset", "empty"])
def test_one_variable_that_is_missing_is_an_error(calls, platform, monkeypatch, name, gone):
    monkeypatch.delenv(name) if gone else monkeypatch.setenv(name, "")
    with pytest.raises(ToolError, match=f"{name} is not set"):
        shop_tools.find_order(7)
    with pytest.raises(ToolError, match=f"{name} is not set"):
        asyncio.run(shop_tools.search("a"))
    assert calls == [] and platform.requests == []


def test_in_a_sandbox_next_to_nothing_is_imported(tmp_path):
    """Each call starts an interpreter anew."""
    (tmp_path / "agent.py").write_text("from code_sandbox import ToolError, run_python, tool\n@tool\ndef f(a: int):\n    return [a]\n")
    code = ("import sys, agent; from code_sandbox import _inside, _values; _inside.enter()\n"
            "args, kwargs = _values.decode_arguments(agent.f, {'a': 1}); assert _values.encode_result(agent.f(*args, **kwargs)) == [1]\n"
            "print(*sys.modules)")
    done = subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": ":".join([str(tmp_path), *sys.path])},
                          capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert done.stderr == "" and "code_sandbox._tool" in loaded
    assert loaded & {"typing", "inspect", "re", "ssl", "http.client", "asyncio", "logging", "dataclasses", "json"} == set()
    assert sum(name.startswith("code_sandbox.") for name in loaded) <= 8


def test_any_variable_of_that_kind_counts(calls, monkeypatch):
    monkeypatch.setenv("CODE_SANDBOX_ULR", "http://127.0.0.1:1")
    with pytest.raises(ToolError, match="CODE_SANDBOX_URL, CODE_SANDBOX_KEY, CODE_SANDBOX_AGENT are not set, but "
                                        "CODE_SANDBOX_ULR is"):
        shop_tools.nothing()
    assert calls == []


def test_no_variable_can_pretend_to_be_a_sandbox(calls, monkeypatch):
    monkeypatch.setenv("CODE_SANDBOX_INSIDE", "1")
    with pytest.raises(ToolError):
        shop_tools.nothing()
    assert calls == []


def test_a_platform_that_is_not_there(calls, platform, monkeypatch):
    monkeypatch.setenv("CODE_SANDBOX_URL", f"http://127.0.0.1:{fake_platform.socket.create_server(('127.0.0.1', 0)).getsockname()[1]}")
    with pytest.raises(ToolError, match="The tool nothing has not been run: No service can be reached at"):
        shop_tools.nothing()
    assert calls == []


@pytest.mark.parametrize("url", ["sandbox.example.org", "ftp://x", "http://user:secret@127.0.0.1", "http://127.0.0.1/?key=1"])
def test_an_address_that_is_none(calls, platform, monkeypatch, url):
    monkeypatch.setenv("CODE_SANDBOX_URL", url)
    with pytest.raises(ToolError, match="CODE_SANDBOX_URL or CODE_SANDBOX_KEY is wrong") as caught:
        shop_tools.nothing()
    assert calls == [] and "secret" not in str(caught.value)


@pytest.mark.parametrize("answer, words, status", [
    ((401, error("unauthorized", "This key is not known."), {}), "401 unauthorized: This key is not known", 401),
    ((404, error("not_found", "This project has no agent."), {}), "404 not_found: This project has no agent", 404),
    ((400, error("invalid_request", "number must be a number.", "number"), {}), "400 invalid_request: number must", 400),
    ((500, error("internal", "A fault."), {}), "500 internal: A fault", 500),
    ((502, b"<html>Bad gateway</html>", {"Content-Type": "text/html"}), "no answer of a Code Sandbox: '<html>", 502),
    ((200, b"<html>Sign in</html>", {"Content-Type": "text/html"}), "no answer of a Code Sandbox: it is not JSON", 200),
    ((307, b"", {"Location": "http://127.0.0.1:1/"}), "is not followed", 307),
])
def test_a_platform_that_refuses(calls, platform, answer, words, status):
    platform.on(*CALL, answer)
    with pytest.raises(ToolError, match=words) as caught:
        shop_tools.find_order(7)
    assert caught.value.status == status and calls == [] and len(platform.requests) == 1


def test_an_answer_that_is_lost_is_not_asked_for_again(calls, platform):
    platform.on(*CALL, "drop")
    with pytest.raises(ToolError, match="The tool find_order may or may not have been run"):
        shop_tools.find_order(7)
    assert calls == [] and len(platform.requests) == 1


def test_a_platform_that_is_busy_is_asked_again(platform):
    platform.on(*CALL, busy(), busy(), call_reply(None))
    began = time.monotonic()
    assert shop_tools.nothing() is None
    assert len(platform.requests) == 3 and time.monotonic() - began < 2


# ---- what is sent


def test_what_is_sent(calls, platform):
    platform.on(*CALL, call_reply({"number": 7, "placed": "2030-01-02", "size": "l", "parts": []}))
    with code_sandbox.conversation("talk-1"):
        order = shop_tools.find_order(number=7, since=datetime.date(2030, 1, 2))
    assert order == shop_tools.Order(7, datetime.date(2030, 1, 2), shop_tools.Size.LARGE) and calls == []
    assert platform.last.json == {"agent": "shop", "tool": "find_order", "conversation_id": "talk-1",
                                  "arguments": {"number": 7, "since": "2030-01-02"}}
    assert platform.last.headers["Authorization"] == f"Bearer {fake_platform.KEY}"
    shop_tools.find_order(8)
    assert platform.last.json == {"agent": "shop", "tool": "find_order", "arguments": {"number": 8}}


def test_what_an_async_tool_sends(calls, platform):
    platform.on(*CALL, call_reply([{"number": 7, "placed": "2030-01-02"}]))
    found = asyncio.run(shop_tools.search("a", limit=3))
    assert found[0].placed == datetime.date(2030, 1, 2) and calls == []
    assert platform.last.json == {"agent": "shop", "tool": "search-orders", "timeout_s": 90,
                                  "arguments": {"text": "a", "limit": 3}}


def test_a_value_without_a_form_is_named_and_nothing_is_sent(platform):
    with pytest.raises(TypeError, match=r"anything\.a\[0\] is a object, which has no form in JSON"):
        shop_tools.sphinx and shop_tools.everything(None, None, None, None, None, None, anything={"a": [object()]})
    with pytest.raises(TypeError, match="missing a required argument: 'number'"):
        shop_tools.find_order()
    assert platform.requests == []


def test_conversations_of_tasks_do_not_mix(platform):
    platform.on(*CALL, lambda request: (200, call_reply([]), {}))

    async def talk(name):
        with code_sandbox.conversation(name):
            await asyncio.sleep(0.01)
            await shop_tools.search(name)

    async def both():
        await asyncio.gather(*(talk(f"talk-{i}") for i in range(8)))

    asyncio.run(both())
    assert sorted((r.json["conversation_id"], r.json["arguments"]["text"]) for r in platform.requests) == \
        [(f"talk-{i}", f"talk-{i}") for i in range(8)]


def test_what_is_known_of_the_last_call(platform, caplog):
    caplog.set_level(logging.INFO, "code_sandbox")
    platform.on(*CALL, call_reply(None, sandbox_id="sbx_7", stdout="hello\n", egress=[
        {"host": "example.org", "address": "203.0.113.1", "port": 443, "decision": "allowed", "rule": "public",
         "bytes": 3, "bytes_sent": 1, "bytes_received": 2}]))
    shop_tools.nothing()
    last = code_sandbox.last_call()
    assert (last.sandbox_id, last.stdout, last.egress[0].bytes_sent, last.usage.wall_ms) == ("sbx_7", "hello\n", 1, 2)
    assert "in sandbox sbx_7" in caplog.text and "wrote to stdout: hello" in caplog.text
    platform.on(*CALL, "drop")
    with pytest.raises(ToolError):
        shop_tools.nothing()
    assert code_sandbox.last_call() is None


# ---- exceptions


@pytest.mark.parametrize("kind, message, expected", [
    ("ValueError", "no such order", ValueError("no such order")), ("builtins.ValueError", "x", ValueError("x")),
    ("KeyError", "'order'", KeyError("order")), ("KeyError", "7", KeyError(7)), ("ZeroDivisionError", "", ZeroDivisionError()),
    ("FileNotFoundError", "[Errno 2] No such file or directory: 'a: b'",
     FileNotFoundError(2, "No such file or directory", "a: b")),
    ("OSError", "[Errno 28] No space left on device", OSError(28, "No space left on device")),
    ("TimeoutError", "slow", TimeoutError("slow")), ("RecursionError", "deep", RecursionError("deep")),
    ("UserWarning", "w", UserWarning("w")), ("AssertionError", "", AssertionError()),
])
def test_builtin_exceptions_are_raised_as_they_are(platform, kind, message, expected):
    platform.on(*CALL, failing(kind, message, 'Traceback\n  File "tools.py", line 3\n'))
    with pytest.raises(type(expected)) as caught:
        shop_tools.nothing()
    assert type(caught.value) is type(expected) and caught.value.args == expected.args
    assert str(caught.value) == str(expected) and getattr(caught.value, "errno", None) == getattr(expected, "errno", None)
    assert 'File "tools.py", line 3' in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["requests.exceptions.HTTPError", "MyError", "SystemExit", "KeyboardInterrupt",
                                  "StopIteration", "StopAsyncIteration", "GeneratorExit", "UnicodeDecodeError",
                                  "BaseException", "print", "__import__", "ExceptionGroup", "shop.ValueError"])
def test_other_exceptions_are_tool_errors(platform, kind):
    platform.on(*CALL, failing(kind, "bad", "the traceback\n"))
    with pytest.raises(ToolError) as caught:
        shop_tools.nothing()
    assert str(caught.value) == f"{kind}: bad\n\nIn the sandbox:\nthe traceback"
    assert (caught.value.type, caught.value.remote_traceback, caught.value.sandbox_id) == (kind, "the traceback\n", "sbx_1")


def test_exceptions_of_async_tools(platform):
    platform.on(*CALL, failing("LookupError", "none"))
    with pytest.raises(LookupError, match="none"):
        asyncio.run(shop_tools.search("a"))


@pytest.mark.parametrize("outcome, words", [
    ("timeout", "The tool nothing reached its time limit and was stopped"), ("out_of_memory", "needed too much memory"),
    ("output_limit", "printed too much"), ("killed", "was lost"), ("internal", "could not be run, by a fault of the platform"),
    ("error", "ended with exit code 3"), ("something_new", "ended with exit code 3")])
def test_other_ends_are_tool_errors(platform, outcome, words):
    platform.on(*CALL, call_reply(outcome=outcome, exit_code=3))
    with pytest.raises(ToolError, match=words) as caught:
        shop_tools.nothing()
    assert caught.value.outcome == outcome and caught.value.run_id == "run_1"


def test_a_time_limit_is_no_exception_of_the_tool_s_own(platform):
    platform.on(*CALL, call_reply(outcome="timeout", exit_code=-1, error={"type": "TimeoutError", "message": "30 s", "traceback": ""}))
    with pytest.raises(ToolError, match="was stopped. 30 s"):
        shop_tools.nothing()


def test_the_hint_of_the_platform_is_there(platform):
    platform.on(*CALL, {**failing("ModuleNotFoundError", "No module named 'x'"), "hint": "Add it to the image."})
    with pytest.raises(ModuleNotFoundError) as caught:
        shop_tools.nothing()
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["Add it to the image."]
    platform.on(*CALL, call_reply(outcome="timeout", exit_code=-1, hint="Ask for more."))
    with pytest.raises(ToolError, match="was stopped. Ask for more."):
        shop_tools.nothing()


# ---- the function itself


def test_it_still_looks_like_the_function():
    assert shop_tools.find_order.__name__ == "find_order" and shop_tools.find_order.__doc__.startswith("Finds")
    assert list(inspect.signature(shop_tools.find_order).parameters) == ["number", "since"]
    assert inspect.iscoroutinefunction(shop_tools.search) and not inspect.iscoroutinefunction(shop_tools.find_order)
    assert inspect.isfunction(shop_tools.Group.grouped)


def test_twenty_calls_at_once_are_twenty_at_once(platform):
    barrier = threading.Barrier(20, timeout=10)

    def together(request):
        barrier.wait()
        return 200, call_reply([]), {}

    platform.on(*CALL, together)

    async def all_of_them():
        return await asyncio.gather(*(shop_tools.search(str(i)) for i in range(20)))

    assert asyncio.run(all_of_them()) == [[]] * 20


def test_a_task_that_is_cancelled_ends_its_call(platform):
    platform.on(*CALL, "hang")

    async def give_up():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(shop_tools.search("a"), 0.3)

    asyncio.run(give_up())
    assert platform.gone.wait(5) and len(platform.requests) == 1


def test_calls_from_many_threads(platform):
    platform.on(*CALL, lambda request: (200, call_reply({"number": request.json["arguments"]["number"], "placed": "2030-01-02"}), {}))
    found = {}
    threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, shop_tools.find_order(i).number)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: i for i in range(16)}


def test_a_result_that_does_not_fit_comes_as_it_is(platform):
    platform.on(*CALL, call_reply("x"))
    assert shop_tools.find_order(1) == "x"
