"""Tool calls, driven by hand over the privilege boundary: rooms from an agent's image, and what comes of a function.

One spawner without an api process serves the file. The image is the product image's Python with the agent's files beside.
"""

import os
import pathlib
import select
import textwrap

import pytest

from boundary import agent_image, calls
from boundary import harness as boundary
from boundary.calls import call, create, request_of, run
from boundary.harness import Spawner

TOOLS = textwrap.dedent('''
    import asyncio, os, sys, threading, time

    def add(a, b):
        print("adding", a, b)
        return a + b

    async def add_later(a, b):
        await asyncio.sleep(0.01)
        return a + b

    class Shop:
        @staticmethod
        def total(prices):
            return sum(prices.values())

    def give(what):
        return eval(what)

    def run(code):
        scope = {}
        exec(code, scope)
        return scope.get("result")

    def inner():
        raise ValueError("no such order")

    def fail():
        inner()

    async def fail_later():
        inner()
''')

CALL_MEMORY_BYTES = 1 << 30


@pytest.fixture(scope="module")
def spawner(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    agent_image.make(folder, folder / "data" / "images" / calls.IMAGE_NAME, {"/app/tools.py": TOOLS, "/app/broken.py": "1 +"})
    running = Spawner(folder, SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="20")
    running.receive(boundary.HELLO)
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


# ---- what comes of a function


def test_a_result_and_what_was_printed(spawner):
    answer = call(spawner, "tools:add", a=1, b=2)
    assert answer.end == {"result": 3}
    assert (answer.stdout, answer.stderr, answer.started) == (b"adding 1 2\n", b"", True)
    assert (answer.exited["reason"], answer.exited["wait_status"]) == (boundary.END_EXIT, 0)
    assert 0 < answer.exited["cpu_us"] < 30_000_000 and 1 << 20 < answer.exited["memory_peak"] < CALL_MEMORY_BYTES


def test_an_asynchronous_function(spawner):
    assert call(spawner, "tools:add_later", a="x", b="y").result == "xy"


def test_a_function_of_a_class(spawner):
    assert call(spawner, "tools:Shop.total", prices={"a": 1.5, "b": 2}).result == 3.5


def test_an_exception_without_the_runners_own_frames(spawner):
    answer = call(spawner, "tools:fail")
    assert answer.error["type"] == "ValueError" and answer.error["message"] == "no such order" and answer.error["builtin"]
    lines = answer.error["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ValueError: no such order"
    assert [line.split(", in ")[1] for line in lines if line.startswith("  File ")] == ["fail", "inner"]
    assert os.waitstatus_to_exitcode(answer.exited["wait_status"]) == 1


def test_an_asynchronous_exception_without_the_loops_frames(spawner):
    frames = [line for line in call(spawner, "tools:fail_later").error["traceback"].splitlines() if line.startswith("  File ")]
    assert [frame.split(", in ")[1] for frame in frames] == ["fail_later", "inner"]


# ---- the room


def test_an_unknown_image_is_answered(spawner):
    create(spawner, request=77, image=(1, 2))
    message, _ = spawner.receive(boundary.CREATE_FAILED)
    assert message["request"] == 77 and os.strerror(message["error"]) == "No such file or directory"
