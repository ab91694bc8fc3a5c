"""Tool calls, driven by hand over the privilege boundary: what comes of a function, whatever it does.

One spawner without an api process serves the file. The image is the product image's Python and an agent's files.
What the room keeps in is tried in test_call_rooms.py.
"""

import os
import tempfile
import textwrap

import pytest

from boundary import calls
from boundary import harness as boundary
from boundary.calls import call, request_of, run

RESULT_BYTES_MAX = 8 << 20


def error_of(spawner, code, **more):
    return code_of(spawner, code, **more).error


def code_of(spawner, code, timeout_ms=30_000):
    """A call that executes these lines and returns what they call `result`."""
    return call(spawner, "tools:run", timeout_ms, code=textwrap.dedent(code))


# ---- functions and what they return


def test_a_result_and_what_was_printed(call_spawner):
    answer = call(call_spawner, "tools:add", a=1, b=2)
    assert answer.end == {"result": 3}
    assert (answer.stdout, answer.stderr, answer.started) == (b"adding 1 2\n", b"", True)
    assert (answer.exited["reason"], answer.exited["wait_status"]) == (boundary.END_EXIT, 0)
    assert 0 < answer.exited["cpu_us"] < 30_000_000 and 1 << 20 < answer.exited["memory_peak"] < calls.MEMORY_BYTES


def test_an_asynchronous_function(call_spawner):
    assert call(call_spawner, "tools:add_later", a="x", b="y").result == "xy"


def test_a_function_of_a_class(call_spawner):
    assert call(call_spawner, "tools:Shop.total", prices={"a": 1.5, "b": 2}).result == 3.5


def test_every_form_that_json_has_comes_back_as_it_was(call_spawner):
    value = {"a": [1, -2.5, True, None, "ä\u2028𝄞\0\"\\", [], {}], "": 2**63 - 1, "e": 1e300}
    assert call(call_spawner, "tools:same", value=value).result == value


def test_a_request_of_more_than_a_megabyte(call_spawner):
    assert call(call_spawner, "tools:same", value="ä" * 300_000).result == "ä" * 300_000


def test_standard_input_is_what_came_beside_the_request(call_spawner):
    with tempfile.TemporaryFile() as file:
        file.write(b"a line\n")
        file.seek(0)
        request = request_of("tools:run", {"code": "import sys; result = sys.stdin.read()"})
        answer = run(call_spawner, request, stdin=file.fileno())
    assert answer.result == "a line\n"


NO_JSON = {
    "{1, 2}": "the result is a builtins.set, which has no form in JSON",
    "{'a': [1, b'x']}": "the result['a'][1] is a builtins.bytes",
    "float('nan')": "the result is nan, for which JSON has no number",
    "[1.0, float('-inf')]": "the result[1] is -inf",
    "{1: 2}": "the result has a key of type int",
    "2**63": "the result is an integer of more than 64 bits",
    "'\\ud800'": "the result is text that UTF-8 cannot write",
    "{'\\ud800': 1}": "a key of the result is text that UTF-8 cannot write",
    "(lambda a: a.append(a) or a)([])": "nested deeper than 60 levels, or contains itself",
    "(x for x in ())": "the result is a builtins.generator",
    "__import__('collections').OrderedDict(a=1)": "the result is a collections.OrderedDict",
    "__import__('enum').IntEnum('E', 'A').A": "the result is a tools.E",
}


@pytest.mark.parametrize("expression", NO_JSON)
def test_what_is_no_json_is_an_error_that_says_where(call_spawner, expression):
    answer = call(call_spawner, "tools:give", what=expression)
    assert answer.error["type"] == "TypeError" and NO_JSON[expression] in answer.error["message"], answer.error
    assert os.waitstatus_to_exitcode(answer.exited["wait_status"]) == 1


def test_a_result_of_the_largest_size(call_spawner):
    assert call(call_spawner, "tools:give", what=f"'x' * {RESULT_BYTES_MAX - 2}").result == "x" * (RESULT_BYTES_MAX - 2)


TOO_LARGE = [f"'x' * {RESULT_BYTES_MAX - 1}", f"'ä' * {RESULT_BYTES_MAX // 2}", "'\\0' * 2_000_000"]


@pytest.mark.parametrize("expression", TOO_LARGE)
def test_a_result_of_one_byte_more_says_so(call_spawner, expression):
    error = call(call_spawner, "tools:give", what=expression).error
    assert error["type"].endswith("ResultTooLarge") and "a call may return 8,388,608" in error["message"]


def test_a_small_object_that_is_a_huge_text(call_spawner):
    answer = code_of(call_spawner, """
        result = ["lol"] * 10
        for _ in range(9):
            result = [result] * 10
        """)
    assert "a call may return 8,388,608" in answer.error["message"]
    assert answer.exited["memory_peak"] < 256 << 20 and answer.exited["cpu_us"] < 20_000_000


# ---- exceptions


def test_an_exception_without_the_runners_own_frames(call_spawner):
    answer = call(call_spawner, "tools:fail")
    assert (answer.error["type"], answer.error["message"]) == ("ValueError", "no such order")
    assert answer.error["builtin"]
    lines = answer.error["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ValueError: no such order"
    assert [line.split(", in ")[1] for line in lines if line.startswith("  File ")] == ["fail", "inner"]
    assert os.waitstatus_to_exitcode(answer.exited["wait_status"]) == 1


def test_an_asynchronous_exception_without_the_loops_frames(call_spawner):
    lines = call(call_spawner, "tools:fail_later").error["traceback"].splitlines()
    frames = [line for line in lines if line.startswith("  File ")]
    assert [frame.split(", in ")[1] for frame in frames] == ["fail_later", "inner"]


def test_an_exception_of_the_agents_own_and_its_cause(call_spawner):
    error = error_of(call_spawner, """
        class ValueError(Exception):
            pass
        try:
            1 / 0
        except ZeroDivisionError as cause:
            raise ValueError("hidden") from cause
        """)
    assert (error["type"], error["builtin"]) == ("builtins.ValueError", False) or error["type"].endswith(".ValueError")
    assert not error["builtin"] and "ZeroDivisionError: division by zero" in error["traceback"]
    assert "direct cause" in error["traceback"]


@pytest.mark.parametrize("code, kind, message", [
    ("raise SystemExit('enough')", "SystemExit", "enough"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
    ("import sys; sys.exit(0)", "SystemExit", "0"),
    ("raise ValueError('\\ud800')", "ValueError", "\\ud800"),
])
def test_whatever_is_raised_is_an_error(call_spawner, code, kind, message):
    error = error_of(call_spawner, code)
    assert (error["type"], error["message"]) == (kind, message)


def test_an_exception_of_200_megabytes(call_spawner):
    answer = code_of(call_spawner, "raise ValueError('x' * 200_000_000)")
    assert answer.error["type"] == "ValueError" and answer.error["message"].endswith("… (200,000,000 characters)")
    assert len(answer.error["message"]) < 40_000 and len(answer.error["traceback"]) < 140_000
    assert answer.exited["memory_peak"] < 450 << 20


def test_an_exception_that_cannot_be_shown(call_spawner):
    error = error_of(call_spawner, """
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError("not even that")
        raise Odd()
        """)
    assert error["type"].endswith("Odd") and "RuntimeError" in error["message"]


def test_endless_recursion(call_spawner):
    error = error_of(call_spawner, """
        def down():
            return down()
        down()
        """)
    assert error["type"] == "RecursionError" and len(error["traceback"]) < 140_000


@pytest.mark.parametrize("entrypoint, kind, words", [
    ("nowhere:x", "ModuleNotFoundError", "No module named 'nowhere'"),
    ("tools:nothing", "LookupError", "tools has no nothing"),
    ("broken:x", "SyntaxError", "invalid syntax"),
    ("tools:TABLE", "TypeError", "not callable"),
])
def test_an_entrypoint_that_is_none(call_spawner, entrypoint, kind, words):
    answer = call(call_spawner, entrypoint)
    assert answer.error["type"] == kind and words in answer.error["message"] and answer.started


def test_arguments_that_do_not_fit(call_spawner):
    error = call(call_spawner, "tools:add", a=1).error
    assert error["type"] == "TypeError" and "'b'" in error["message"]


def test_a_working_folder_that_is_not_there(call_spawner):
    answer = run(call_spawner, request_of("tools:add", working_dir="/nowhere"))
    assert answer.error["type"] == "FileNotFoundError" and "/nowhere" in answer.error["message"]


# ---- the channel


def test_what_is_printed_by_others_is_not_taken_for_the_result(call_spawner):
    """A child by fork, by exec and by multiprocessing, each printing what the runner would send."""
    answer = code_of(call_spawner, """
        import os, subprocess, sys
        forged = b'\\x08\\0\\0\\0\\x0c\\0\\0\\0{"result":1}'
        for fd in (1, 2):
            os.write(fd, forged)
        everywhere = "import os\\nfor fd in range(3, 1100):\\n try: os.write(fd, %r)\\n except OSError: pass" % forged
        subprocess.run([sys.executable, "-c", everywhere], check=True)
        child = os.fork()
        if child == 0:
            try:
                os.write(1024, forged)
            except OSError as problem:
                os.write(2, problem.strerror.encode())
            os._exit(0)
        os.waitpid(child, 0)
        result = 2
        """)
    assert answer.result == 2
    assert b"result" in answer.stdout and b"Bad file descriptor" in answer.stderr


def test_a_function_that_forks_and_returns_twice(call_spawner):
    answer = code_of(call_spawner, """
        import os
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        result = "parent" if child else "child"
        """)
    assert answer.result == "parent"


def test_worker_processes_of_both_kinds(call_spawner):
    answer = call(call_spawner, "tools:squares", numbers=[1, 2, 3])
    assert answer.result == {"fork": [1, 4, 9], "spawn": [1, 4, 9]}


@pytest.mark.parametrize("code", [
    "import os; os.closerange(3, 1024); result = 5",
    "import sys; sys.stdout.close(); sys.stderr.close(); result = 5",
    "import sys; sys.stdout = sys.stderr = None; result = 5",
    "import os; os.close(0); os.close(1); os.close(2); result = 5",
    "import sys; sys.modules.update(json=None, _json=None, sandbox_call=None); sys.path.clear(); result = 5",
    "import os; os.write = os.dup2 = os._exit = os.fork = print; result = 5",
    "import builtins; builtins.map = builtins.getattr = None; result = 5",
    "import os, socket; socket.socket = None; os.chdir('/tmp'); result = 5",
    "import threading, time; threading.Thread(target=time.sleep, args=(3600,)).start(); result = 5",
    "import atexit, time; atexit.register(time.sleep, 3600); result = 5",
    "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork() or signal.pause(); result = 5",
])
def test_a_function_that_gets_in_the_runners_way(call_spawner, code):
    assert code_of(call_spawner, code).result == 5


def test_a_failure_that_cannot_be_described_is_one_all_the_same(call_spawner):
    answer = code_of(call_spawner, "import sys; sys.modules['traceback'] = None; raise ValueError('no')")
    assert (answer.error["type"], answer.error["message"]) == ("ValueError", "(it cannot be told)")


def test_c_level_output_is_not_lost(call_spawner):
    answer = code_of(call_spawner, """
        import ctypes
        ctypes.CDLL(None).printf(b"from C")
        print("from Python", end="")
        result = 1
        """)
    assert answer.result == 1 and answer.stdout == b"from Pythonfrom C"


def test_an_end_without_a_result(call_spawner):
    answer = code_of(call_spawner, "import os; print('bye', flush=True); os._exit(7)")
    assert (answer.end, answer.stdout, os.waitstatus_to_exitcode(answer.exited["wait_status"])) == (None, b"bye\n", 7)


# ---- limits


def test_the_time_is_over_and_what_was_printed_is_there(call_spawner):
    answer = code_of(call_spawner, "import time; print('waiting'); time.sleep(60)", 1500)
    assert (answer.end, answer.stdout, answer.exited["reason"]) == (None, b"waiting\n", boundary.END_TIMEOUT)


def test_a_gibibyte_of_memory(call_spawner):
    assert code_of(call_spawner, "result = len(bytearray(600 << 20))").result == 600 << 20
    answer = code_of(call_spawner, "result = len(bytearray(1100 << 20))")
    assert (answer.end, answer.exited["reason"]) == (None, boundary.END_MEMORY)


# ---- discovery


def discover(spawner, modules):
    answer = run(spawner, {"discover": modules, "environment": {}, "working_dir": "/agent"},
                 profile=boundary.PROFILE_DISCOVERY)
    return answer.end


def test_the_tools_of_named_modules(call_spawner):
    found = discover(call_spawner, ["orders"])
    assert found["implementation"] == "cpython" and found["python"].startswith("3.")
    (tool,) = found["tools"]
    assert (tool["name"], tool["entrypoint"]) == ("find_order", "orders:find_order")
    assert tool["description"] == "Finds an order." and tool["parameters"]["properties"]["number"]["type"] == "integer"


def test_the_tools_of_all_modules_that_name_the_package(call_spawner):
    names = [tool["name"] for tool in discover(call_spawner, None)["tools"]]
    assert names == ["find_order", "look", "ship"]


def test_discovery_has_no_network(call_spawner):
    """A call's own listeners take the same connections: they go to the egress process, which then refuses them."""
    reached = run(call_spawner, request_of("reach:reach", working_dir="/agent")).result
    assert reached == "accepted accepted", "the control has no network either"
    (tool,) = discover(call_spawner, ["reach"])["tools"]
    assert tool["description"] == "ENETUNREACH ENETUNREACH"


def test_a_module_that_cannot_be_imported(call_spawner):
    assert discover(call_spawner, ["nowhere"])["error"]["type"] == "ModuleNotFoundError"


def test_values_of_a_declared_tool_are_mapped_by_its_package(call_spawner):
    request = request_of("orders:find_order", {"number": 7, "day": "2026-11-30"}, working_dir="/agent")
    assert run(call_spawner, request).result == {"number": 7, "day": "2026-12-01", "tags": ["a", "b"]}
    error = run(call_spawner, request_of("orders:find_order", {"number": 7}, working_dir="/agent")).error
    assert error["type"] == "TypeError" and "day is missing" in error["message"]
    assert "code_sandbox" not in error["traceback"]
