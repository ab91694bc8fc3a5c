"""run_python as a ready tool: it runs on the platform or not at all, and is described by the service."""
import asyncio
import functools
import inspect
import types
import typing

import pytest
from fake_platform import error, run_reply

import code_sandbox
from code_sandbox import ToolError, _inside, describe, run_python, run_python_async

RUN = ("POST", "/v1/execute")
BOTH = pytest.mark.parametrize("run", [run_python, lambda *args, **kwargs: asyncio.run(run_python_async(*args, **kwargs))],
                               ids=["sync", "async"])


@BOTH
def test_it_runs_on_the_platform(platform, run):
    platform.on(*RUN, run_reply(stdout="42\n"))
    with code_sandbox.conversation("talk-1"):
        result = run("print(6 * 7)", timeout_s=3)
    assert str(result) == "stdout:\n42" and result.ok
    assert platform.last.json == {"code": "print(6 * 7)", "timeout_s": 3, "agent": "shop", "conversation_id": "talk-1"}


@BOTH
def test_it_never_runs_here(run, tmp_path):
    code = f"open({str(tmp_path / 'ran')!r}, 'w')"
    with pytest.raises(ToolError, match="never runs code in this process: set CODE_SANDBOX_URL"):
        run(code)
    _inside.enter()
    with pytest.raises(ToolError, match="cannot be called in a sandbox"):
        run(code)
    assert not (tmp_path / "ran").exists()


@BOTH
def test_a_service_that_refuses(platform, run):
    platform.on(*RUN, (429, error("session_limit", "2 sessions are live, which is the most."), {}))
    with pytest.raises(ToolError, match="run_python has not been run: 429 session_limit: 2 sessions are live") as caught:
        run("1")
    assert caught.value.status == 429


def test_its_description_is_the_service_s(platform):
    for name in ("openai", "anthropic"):
        platform.on("GET", f"/v1/tools/run_python?format={name}&agent=shop", {"name": "run_python", "format": name})
        assert describe(run_python, name) == describe(run_python_async, name) == {"name": "run_python", "format": name}
    platform.on("GET", "/v1/tools/run_python?format=openai&agent=shop", {"changed": True})
    assert describe(run_python) == {"changed": True}  # the agent's mode may change: it is asked each time


def test_a_wrapper_of_it_counts_as_it(platform):
    """So that a program can show what is run."""
    from code_sandbox.adapters import openai as for_openai

    shown = []

    @functools.wraps(run_python)
    def wrapper(code, timeout_s=None):
        shown.append(code)
        return run_python(code, timeout_s)

    @functools.wraps(run_python_async)
    async def wrapper_async(code, timeout_s=None):
        shown.append(code)
        return await run_python_async(code, timeout_s)

    platform.on("GET", "/v1/tools/run_python?format=openai&agent=shop", {"name": "run_python"})
    platform.on(*RUN, run_reply(stdout="42\n"))
    function = types.SimpleNamespace(name="run_python", arguments='{"code": "print(42)", "timeout_s": 3}')
    message = types.SimpleNamespace(tool_calls=[types.SimpleNamespace(id="call_1", function=function)])
    answer = [{"role": "tool", "tool_call_id": "call_1", "content": "stdout:\n42"}]
    for each in (wrapper, wrapper_async):
        assert for_openai.tools(each) == [{"name": "run_python"}]
        assert asyncio.run(for_openai.answers_async(message, each)) == answer
    assert for_openai.answers(message, wrapper) == answer and shown == ["print(42)"] * 3
    assert platform.last.json["timeout_s"] == 3


def test_it_can_be_listed_as_a_function():
    assert list(inspect.signature(run_python).parameters) == ["code", "timeout_s"] and run_python.__doc__
    assert inspect.iscoroutinefunction(run_python_async)
    assert typing.get_type_hints(run_python)["timeout_s"] == typing.get_type_hints(run_python_async)["timeout_s"] == float | None
