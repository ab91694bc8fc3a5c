"""Stateful sessions: one interpreter for all calls of a conversation, and what is said when it is another one."""
import time

import pytest

from support.host import wait_until
from support.projects import Project


@pytest.fixture
def project(service):
    made = Project(service)
    yield made
    for session in made.sessions():
        made.delete(session["conversation_id"])


def lost(reply):
    """The reply says that variables were lost."""
    message = reply.session["message"]
    return reply.session["restarted"] and "variables" in message and "lost" in message


# ---- what is there in the second call


def test_everything_of_the_first_call_is_there_in_the_second(project):
    first = project.call("""
        import math, os
        import pandas as pd
        x = 41
        def inc(n):
            return n + 1
        frame = pd.DataFrame({"a": [1, 2, 3]})
        os.makedirs("sub")
        os.chdir("sub")
        open("here.txt", "w").write("kept")
        """)
    assert first.session == {"stateful": True, "restarted": False, "message": None}
    second = project.call("""
        print(inc(x), math.floor(2.5), frame.a.sum(), os.getcwd(), open("here.txt").read())
        inc(x)
        """)
    assert second.stdout == "42 2 6 /mnt/data/sub kept\n"
    assert second.results == [{"text/plain": "42"}]
    assert second.sandbox_id == first.sandbox_id and second.run_id != first.run_id
    assert second.session == {"stateful": True, "restarted": False, "message": None}


def test_an_exception_loses_nothing(project):
    project.call("data = [1, 2]")
    failed = project.call("print('once')\ndata.append(3)\ndata[9]\n")
    assert (failed.exit_code, failed.outcome, failed.stdout) == (1, "error", "once\n")
    assert "IndexError: list index out of range" in failed.stderr and "line 3, in <module>" in failed.stderr
    after = project.call("print(data)")
    assert after.stdout == "[1, 2, 3]\n" and after.session["restarted"] is False


@pytest.mark.parametrize("code, exit_code", [("import sys; sys.exit(3)", 3), ("raise SystemExit", 0), ("exit('why')", 1)])
def test_leaving_ends_the_call_and_not_the_interpreter(project, code, exit_code):
    project.call("x = 5")
    assert project.call(code).exit_code == exit_code
    after = project.call("print(x)")
    assert after.stdout == "5\n" and after.session["restarted"] is False


def test_a_figure_stays_open(project):
    first = project.call("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    assert [list(result) for result in first.results if "image/png" in result], first.results
    second = project.call("figure = plt.figure(7)\nplt.plot([3, 1])\nnumber = figure.number\nplt.savefig('later.png')\nnumber")
    assert [file["name"] for file in second.files] == ["later.png"]
    assert project.file(second.files[0]).startswith(b"\x89PNG")


def test_without_the_setting_or_a_conversation_every_run_is_fresh(project):
    project.agent("plain", CODE_INTERPRETER_SESSION="false")
    for fields in ({"agent": "plain", "conversation_id": "c"}, {"agent": "notebook"}, {"conversation_id": "d"}):
        project.execute("x = 1", **fields)
        reply = project.execute("print('x' in globals())", **fields)
        assert reply.stdout == "False\n" and reply.session["stateful"] is False, fields
    assert project.sessions() == []


def test_two_conversations_have_two_interpreters(project):
    project.call("x = 'a'", "one")
    project.call("x = 'b'", "two")
    assert project.call("print(x)", "one").stdout == "a\n"
    assert project.call("print(x)", "two").stdout == "b\n"


def test_tracebacks_and_sources_are_those_of_their_call(project):
    project.call("def check(v):\n    if v < 0:\n        raise ValueError('negative')\n")
    project.call("print('x')")
    failed = project.call("# one\ncheck(-1)\n")
    for part in ("line 3, in check", "raise ValueError('negative')", "line 2, in <module>", "check(-1)"):
        assert part in failed.stderr
    assert project.call("import inspect\nprint(inspect.getsource(check), end='')").stdout.startswith("def check(v):\n")


# ---- files


def test_files_are_those_that_the_call_has_changed(project):
    first = project.call("open('a.txt', 'w').write('1')\nopen('b.txt', 'w').write('2')")
    assert [file["name"] for file in first.files] == ["a.txt", "b.txt"]
    assert project.call("print(open('a.txt').read())").files == []
    second = project.call("open('b.txt', 'a').write('3')")
    assert [file["name"] for file in second.files] == ["b.txt"]
    assert second.files[0]["file_id"] != first.files[1]["file_id"]
    assert project.file(second.files[0]) == b"23" and project.file(first.files[1]) == b"2"


def test_a_file_is_handed_over_once_however_quick_the_calls_are(project):
    project.call("n = 0")
    for number in range(1, 30):
        reply = project.call("n += 1\n_ = open(f'f{n}', 'w').write('x')")
        assert [file["name"] for file in reply.files] == [f"f{number}"], reply


def test_a_file_that_is_written_again_with_the_same_size_comes_again(project):
    for text in ("aaaa", "bbbb", "cccc", "dddd"):
        reply = project.call(f"_ = open('same', 'w').write('{text}')")
        assert project.file(reply.files[0]) == text.encode()


def test_input_files_are_put_beside_those_that_are_there(project):
    first = project.call("print(open('in.csv').read())", files=[{"name": "in.csv", "content": "a,b"}])
    assert first.stdout == "a,b\n" and first.files == []
    second = project.call("print(open('in.csv').read(), open('two').read())",
                          files=[{"name": "in.csv", "content": "other"}, {"name": "two", "content": "2"}])
    assert second.stdout == "other 2\n" and second.files == []
    assert [file["name"] for file in project.call("open('in.csv', 'a').write('!')").files] == ["in.csv"]


def test_an_input_that_does_not_fit_costs_nothing_but_the_call(project):
    project.call("x = 1\nopen('big', 'wb').write(bytes(120 << 20))")
    refusal = project.refused("print(1)", files=[{"name": "more", "content": "x" * (12 << 20)}])
    assert refusal.status == 400 and "more" in refusal.error["message"], refusal
    after = project.call("print(x)")
    assert after.stdout == "1\n" and after.session["restarted"] is False


# ---- turns


def test_two_calls_at_once_take_turns(project):
    project.call("pass")
    code = "import time\nfor i in range(3):\n    print('{0}', i)\n    time.sleep(0.1)\n"
    waiting = [project.start(code.format(name)) for name in "ABC"]
    for name, thread in zip("ABC", waiting):
        assert thread.result().stdout == "".join(f"{name} {i}\n" for i in range(3))


def test_a_time_limit_counts_from_the_start_of_its_call(project):
    project.call("import time")
    first = project.start("time.sleep(2)")
    time.sleep(0.2)
    second = project.call("print('in time')", timeout_s=1)
    assert second.stdout == "in time\n" and second.outcome == "ok"
    assert second.usage["queue_ms"] > 1000 and second.usage["wall_ms"] < 1000
    assert first.result().outcome == "ok"


def test_a_full_queue_says_so(project):
    project.call("import time")
    first = project.start("time.sleep(3)")
    time.sleep(0.2)
    others = [project.start("print('ran')") for _ in range(20)]
    outcomes = []
    for thread in others:
        thread.join(60)
        outcomes.append(thread.problem.response if thread.problem else thread.reply)
    refused = [answer for answer in outcomes if hasattr(answer, "status")]
    assert len(refused) == 4 and all(answer.status == 503 and "16" in answer.error["message"] for answer in refused)
    assert all(answer.error["type"] == "overloaded" and answer.headers["Retry-After"] for answer in refused)
    assert [answer.stdout for answer in outcomes if answer not in refused] == ["ran\n"] * 16
    assert first.result().outcome == "ok"


# ---- the end of an interpreter


ENDS = {
    "a time-out": ("while True: pass", {"timeout_s": 1}, "timeout", -1, "time limit"),
    "os._exit": ("import os; os._exit(7)", {}, "error", 7, "os._exit"),
    "a crash": ("import ctypes; ctypes.string_at(0)", {}, "error", 139, "crash"),
    "too much memory": ("b = bytearray(700 << 20)", {}, "out_of_memory", 137, "512 MiB"),
    "too much output": ("while True: print('x' * 65536)", {}, "output_limit", 137, "printed"),
}


@pytest.mark.parametrize("name", ENDS)
def test_variables_are_lost_and_files_stay(project, name):
    code, fields, outcome, exit_code, why = ENDS[name]
    before = project.call("x = 1\nopen('keep.txt', 'w').write('k')\nopen('large', 'wb').write(bytes(20 << 20))")
    ended = project.call("print('before', flush=True)\n" + code, **fields)
    assert (ended.outcome, ended.exit_code) == (outcome, exit_code), ended
    assert ended.stdout.startswith("before\n") and ended.sandbox_id == before.sandbox_id
    assert lost(ended) and why in ended.session["message"]

    after = project.call("import os\nprint('x' in globals(), open('keep.txt').read(), os.path.getsize('large'))")
    assert after.stdout == f"False k {20 << 20}\n", "the whole working directory carries over, whatever the sizes"
    assert lost(after) and why in after.session["message"] and after.sandbox_id != before.sandbox_id
    assert after.files == []
    last = project.call("print(1)")
    assert last.session == {"stateful": True, "restarted": False, "message": None}
    assert last.sandbox_id == after.sandbox_id


def test_files_of_the_call_that_timed_out_are_handed_over(project):
    reply = project.call("open('partial.txt', 'w').write('half')\nwhile True: pass", timeout_s=1)
    assert [file["name"] for file in reply.files] == ["partial.txt"] and project.file(reply.files[0]) == b"half"


def test_nothing_goes_on_running_after_a_time_out(project):
    project.call("""
        import subprocess, sys, time
        subprocess.Popen([sys.executable, "-c", "import time\\nwhile True: open('beat', 'a').write('x'); time.sleep(0.05)"])
        time.sleep(60)
        """, timeout_s=1)
    reply = project.call("import os, time\na = os.path.getsize('beat')\ntime.sleep(0.5)\nprint(a == os.path.getsize('beat'), a > 0)")
    assert reply.stdout == "True True\n"


def test_files_survive_one_restart_after_the_other(project):
    for name in "abc":
        project.call(f"open('{name}', 'w').write('{name}')")
        project.call("import os; os._exit(1)")
    assert project.call("print(open('a').read() + open('b').read() + open('c').read())").stdout == "abc\n"


def test_an_interpreter_that_dies_between_calls(project):
    project.call("import os, threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), os._exit(1))).start()")
    time.sleep(1)
    reply = project.call("print('x' in globals())")
    assert reply.stdout == "False\n" and lost(reply)


def test_a_client_that_leaves_ends_the_call(project):
    project.call("x = 1\nopen('keep', 'w').write('k')")
    with project.stream("print('on', flush=True)\nimport time\ntime.sleep(50)", agent="notebook", conversation_id="talk") as stream:
        stream.until("stdout")
    reply = project.call("print('x' in globals(), open('keep').read())")
    assert reply.stdout == "False k\n" and lost(reply) and "cancelled" in reply.session["message"]


def test_ending_a_session(project):
    project.call("x = 1\nopen('keep', 'w').write('k')\nopen('large', 'wb').write(bytes(5 << 20))")
    assert [session["conversation_id"] for session in project.sessions()] == ["talk"]
    assert project.end_session().json == {"conversation_id": "talk", "ended": True}
    assert project.end_session().json == {"conversation_id": "talk", "ended": False}
    assert project.sessions() == []
    reply = project.call("import os\nprint('x' in globals(), open('keep').read(), os.path.exists('large'))")
    assert reply.stdout == "False k False\n", "what was kept beside the conversation comes back"
    assert lost(reply) and "large" in reply.session["message"], "and what was not is named"
    assert reply.files == []
    assert project.end_session("never-seen").status == 404


def test_a_file_that_nobody_may_read_comes_back_only_when_it_has_changed(project):
    first = project.call("import os\nopen('f', 'w').write('1')\nos.chmod('f', 0)")
    assert [file["name"] for file in first.files] == ["f"]
    for _ in range(3):
        assert project.call("x = 1").files == []
        time.sleep(0.05)
    changed = project.call("os.chmod('f', 0o600)\nopen('f', 'w').write('2')\nos.chmod('f', 0)")
    assert [file["name"] for file in changed.files] == ["f"]
    assert project.call("print(oct(os.stat('f').st_mode))").stdout == "0o100000\n"


def test_a_running_call_ends_with_its_session(project):
    project.call("pass")
    running = project.start("print('on', flush=True)\nimport time\ntime.sleep(50)")
    wait_until(lambda: project.sessions()[0]["state"] == "running")
    time.sleep(0.3)
    project.end_session()
    reply = running.result()
    assert (reply.outcome, reply.stdout, reply.hint) == ("killed", "on\n", None) and lost(reply)


def test_a_running_call_ends_with_its_conversation(project):
    running = project.start("open('f', 'w').write('k')\nimport time\ntime.sleep(50)")
    wait_until(lambda: project.sessions() and project.sessions()[0]["state"] == "running")
    time.sleep(0.3)
    assert project.delete().status == 204
    reply = running.result()
    assert (reply.outcome, reply.hint) == ("killed", None) and lost(reply)
    message = reply.session["message"]
    assert message.startswith("The conversation was deleted") and "next call" not in message
    assert project.get("/v1/conversations/talk").status == 404


def test_deleting_the_conversation_leaves_nothing(project):
    reply = project.call("x = 1\nopen('f', 'w').write('k')")
    assert project.delete().status == 204
    assert project.sessions() == []
    assert project.get(reply.files[0]["url"]).status == 404
    assert project.get("/v1/conversations/talk").status == 404
    again = project.call("import os\nprint('x' in globals(), os.listdir())")
    assert again.stdout == "False []\n" and again.session["restarted"] is False


# ---- caps


def test_the_cap_of_a_project(project):
    project.call("x = 1", "one")
    project.call("x = 2", "two")
    refusal = project.refused("x", "three")
    assert refusal.status == 429 and refusal.error["type"] == "session_limit"
    for part in ("SANDBOX_SESSIONS_PER_PROJECT", " 2 ", "\"one\"", "\"two\"", "DELETE"):
        assert part in refusal.error["message"], part
    assert project.get("/v1/conversations/three").status == 404, "a refused call leaves no conversation behind"
    assert project.call("print(x)", "one").stdout == "1\n", "the live ones go on"
    project.end_session("two")
    assert project.call("print('free')", "three").stdout == "free\n", "and a place that is given up is usable at once"
    project.delete("three")


def test_no_race_lets_one_more_in(project):
    waiting = [project.start("import time\ntime.sleep(0.5)\nprint('in')", f"c{i}") for i in range(10)]
    answers = []
    for thread in waiting:
        thread.join(60)
        answers.append(thread.problem.response.status if thread.problem else thread.reply.stdout)
    assert sorted(answers, key=str) == [429] * 8 + ["in\n"] * 2


# ---- robustness


BREAKERS = {
    "builtins": "import builtins\nbuiltins.print = None\nbuiltins.len = None\nbuiltins.open = None\ndel builtins.range",
    "names that hide builtins": "print = 3\nlen = None\nopen = 0\nstr = 1\nException = 5",
    "closed streams": "import sys\nsys.stdout.close()\nsys.stderr.close()\nsys.stdin.close()",
    "streams that are none": "import sys\nsys.stdout = sys.stderr = None",
    "streams of its own": "import sys, io\nsys.stdout = sys.__stdout__ = io.StringIO()",
    "closed descriptors": "import os\nfor fd in (0, 1, 2): os.close(fd)",
    "every descriptor": "import os\nos.closerange(0, 1000)",
    "hooks": "import sys\nsys.excepthook = sys.displayhook = lambda *a: 1 / 0",
    "an alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.2)",
    "a handler that raises": "import signal, os\nsignal.signal(signal.SIGCHLD, lambda *a: 1 / 0)",
    "the recursion limit": "import sys\nsys.setrecursionlimit(60)",
    "modules": "import sys\nfor name in ('linecache', 'traceback', 'io', 'os'): sys.modules[name] = None",
    "the working directory": "import os, shutil\nos.mkdir('gone'); os.chdir('gone'); os.rmdir('/mnt/data/gone')",
    "files named like modules": "for n in ('json', 'traceback', 'linecache', 'io'): open(n + '.py', 'w').write('raise RuntimeError(1)')",
}


@pytest.mark.parametrize("name", BREAKERS)
def test_the_next_call_works(project, name):
    project.call("x = 1")
    project.call(BREAKERS[name])
    time.sleep(0.25)
    after = project.call("import builtins\nbuiltins.print('printed')\nx + 1")
    assert after.stdout == "printed\n" and after.results == [{"text/plain": "2"}], after
    assert after.session["restarted"] is False
    failed = project.call("1 / 0")
    assert failed.exit_code == 1 and "ZeroDivisionError: division by zero" in failed.stderr


def test_a_call_sees_nothing_of_an_earlier_ones_threads(project):
    first = project.call("""
        import threading, time
        def tick():
            while True:
                print('tick')
                time.sleep(0.02)
        def again():
            print('again')
            timer = threading.Timer(0.02, again); timer.daemon = True; timer.start()
        threading.Thread(target=tick, daemon=True).start()
        again()
        time.sleep(0.1)
        """)
    assert "tick" in first.stdout and "again" in first.stdout
    for _ in range(5):
        assert project.call("time.sleep(0.1)\nprint('mine')").stdout == "mine\n"
    assert project.call("print(threading.active_count() > 1)").stdout == "True\n", "and they go on"


def test_a_child_in_the_background_is_not_heard_and_lives_on(project):
    project.call("""
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time\\nfor i in range(10**6): print('noise ' * 99, flush=True); time.sleep(0.002)"])
        """)
    for _ in range(5):
        assert project.call("import time; time.sleep(0.2)\nprint('mine')").stdout == "mine\n"
    assert project.call("print(child.poll())").stdout == "None\n"


def test_a_pool_of_threads_prints_into_the_call_that_uses_it(project):
    project.call("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)\nlist(pool.map(print, 'ab'))")
    printed = project.call("list(pool.map(print, 'cd'))").stdout
    assert sorted(printed) == ["\n", "\n", "c", "d"], "in any order: print() writes its line break on its own"


def test_the_limits_are_those_of_the_whole_session(project):
    reply = project.call("""
        import subprocess, sys
        children, problem = [], None
        try:
            for _ in range(200):
                children.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        except OSError as error:
            problem = error
        print(len(children) < 130, problem is not None)
        """)
    assert reply.stdout == "True True\n"
    assert project.call("print(len(children) > 5)").stdout == "True\n"


def test_a_stream_in_a_session(project):
    project.call("x = 1")
    with project.stream("print('a')\nopen('f', 'w').write('1')\nx + 1", agent="notebook", conversation_id="talk") as stream:
        events = [(name, data) for name, data, _ in stream]
    names = [name for name, _ in events]
    assert [name for name in names if name != "stdout"] == ["start", "result", "file", "done"]
    assert "".join(data["text"] for name, data in events if name == "stdout") == "a\n", "in one piece or in two"
    assert "stdout" in names[1:-2], "output and results take different ways, but both come before the files"
    done = events[-1][1]
    assert done["session"]["stateful"] and done["files"] == [events[-2][1]]


def test_an_interpreter_that_kills_itself(project):
    ended = project.call("x = 1\nimport os\nos.kill(os.getpid(), 9)")
    assert (ended.outcome, ended.exit_code) == ("error", 137) and lost(ended)
    after = project.call("print('x' in globals())")
    assert after.stdout == "False\n" and lost(after)
