"""Cells of a session: one interpreter, and what of it the next cell finds."""

import os
import signal

import pytest

import runner_support as support
from runner_support import CELL, RESULT, STARTED


@pytest.fixture
def session(runner):
    with runner.open_session() as opened:
        yield opened


def test_names_stay(session):
    assert session.run("import math\nx = 2\ndef f(): return x + 1").exit_code == 0
    outcome = session.run("x = 5\nprint(f(), math.floor(2.5))")
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == ("6 2\n", "", 0)
    assert session.run("class A:\n    y = 1").exit_code == 0
    assert session.run("import pickle; print(pickle.loads(pickle.dumps(A())).y)").stdout == "1\n"


def test_frames_of_each_cell(session):
    for _ in range(2):
        outcome = session.run("print('a')\n40 + 2")
        assert [kind for kind, _, _ in outcome.frames] == [STARTED, RESULT] and outcome.texts == ["42"]


@pytest.mark.parametrize("source, exit_code, error", [
    ("1 / 0", 1, "ZeroDivisionError: division by zero\n"), ("raise SystemExit", 0, ""), ("raise SystemExit(3)", 3, ""),
    ("raise SystemExit('bye')", 1, "bye\n"), ("exit(4)", 4, ""), ("quit()", 0, ""), ("import sys; sys.exit(5)", 5, ""),
    ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"), ("x = = 1", 1, "SyntaxError: invalid syntax\n"),
    ("raise GeneratorExit", 1, "GeneratorExit\n"), ("x" * 9, 1, "NameError: name 'xxxxxxxxx' is not defined\n"),
    ("import signal, os; os.kill(os.getpid(), signal.SIGINT)", 130, "KeyboardInterrupt\n"),
    ("def f(): f()\n"
     "f()", 1, "RecursionError: maximum recursion depth exceeded\n"), ("b'\\xff'.decode()", 1, "invalid start byte\n"),
])
def test_no_end_but_the_cells(session, source, exit_code, error):
    session.run("kept = 'still here'")
    outcome = session.run(source)
    assert outcome.exit_code == exit_code and outcome.stderr.endswith(error)
    outcome = session.run("print(kept)")
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == ("still here\n", "", 0)


def test_input_is_the_cells_own(session):
    assert session.run("print(input())", stdin=b"one\ntwo\n").stdout == "one\n"
    assert session.run("import sys; print(sys.stdin.read())", stdin=b"three").stdout == "three\n"
    assert session.run("input()").stderr.endswith("EOFError: EOF when reading a line\n")
    assert session.run("print(open(0, closefd=False).read())", stdin=b"four").stdout == "four\n"


def test_tracebacks_show_the_lines_of_each_cell(session):
    session.run("def f(a):\n    # of the first\n    return 1 / a")
    session.run("def g(a):\n    return f(a)")
    outcome = session.run("x = 1\ng(0)")
    assert outcome.stderr == (
        'Traceback (most recent call last):\n'
        '  File "/home/nonroot/cells/cell3.py", line 2, in <module>\n    g(0)\n'
        '  File "/home/nonroot/cells/cell2.py", line 2, in g\n    return f(a)\n           ^^^^\n'
        '  File "/home/nonroot/cells/cell1.py", line 3, in f\n    return 1 / a\n           ~~^~~\n'
        'ZeroDivisionError: division by zero\n')
    printed = session.run("import traceback\ntry:\n    g(0)\nexcept Exception:\n"
                          "    print(traceback.format_exc())").stdout
    assert "return 1 / a" in printed and "return f(a)" in printed and "    g(0)" in printed
    assert session.run("import inspect\n"
                       "print(inspect.getsource(f))").stdout == "def f(a):\n    # of the first\n    return 1 / a\n\n"


def test_old_sources_go(session):
    session.run("def f():\n    return 1 / 0")
    session.run("y = '''" + "z" * (17 << 20) + "'''")
    assert "ZeroDivisionError" in session.run("f()").stderr


@pytest.mark.parametrize("where", ["main.py", "cells/cell2.py", "cells/cell3.py"])
@pytest.mark.parametrize("reader", [
    "", "import threading; threading.Thread(target=open, args=(path,), daemon=True).start()"])
def test_a_pipe_in_the_place_of_a_source_stops_nothing(session, where, reader):
    """Opening one waits for a reader; sources of cells to come are put where the snippet can put things, too."""
    session.run(f"import os\npath = os.path.join(os.path.expanduser('~'), '{where}')\n"
                f"if os.path.exists(path): os.unlink(path)\nos.mkfifo(path)\n{reader}")
    for number in (2, 3, 4):
        outcome = session.run(f"print({number})")
        assert (outcome.stdout, outcome.exit_code) == (f"{number}\n", 0) and outcome.seconds < 5


def test_tracebacks_show_lines_after_the_home_directory_was_emptied(session):
    session.run("import os, shutil\nhome = os.path.expanduser('~')\n"
                "for name in os.listdir(home):\n    shutil.rmtree(os.path.join(home, name), ignore_errors=True)")
    for _ in range(2):
        assert "    1 / 0\n    ~~^~~\n" in session.run("x = 1\n1 / 0").stderr


def test_the_file_is_the_present_cells(session):
    session.run("x = 1")
    assert session.run("print(open(__file__).read())  # 2").stdout == "print(open(__file__).read())  # 2\n"


def test_future_imports_hold(session):
    session.run("from __future__ import annotations")
    assert session.run("def f(a: no_such_name): pass\nprint(f.__annotations__)").stdout == "{'a': 'no_such_name'}\n"


def test_folder_and_environment_stay(session):
    session.run("import os\nos.makedirs('deep', exist_ok=True)\nos.chdir('deep')\nos.environ['MINE'] = 'yes'")
    assert session.run("print(os.path.basename(os.getcwd()), os.environ['MINE'])").stdout == "deep yes\n"
    session.run("os.rmdir(os.getcwd())")
    assert session.run("import subprocess\n"
                       "print(os.getcwd(), subprocess.run(['echo', '$MINE'], capture_output=True).returncode)"
    ).stdout == "/mnt/data 0\n"


def test_process_pools_have_functions_of_earlier_cells(session):
    session.run("def square(n): return n * n")
    outcome = session.run("import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
                          "    print(pool.map(square, range(4)))")
    assert (outcome.stdout, outcome.exit_code) == ("[0, 1, 4, 9]\n", 0), outcome.stderr
    outcome = session.run("import multiprocessing\ndef cube(n): return n ** 3\nif __name__ == '__main__':\n"
                          "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
                          "        print(pool.map(cube, range(3)))")
    assert (outcome.stdout, outcome.exit_code) == ("[0, 1, 8]\n", 0), outcome.stderr


def test_a_fork_that_comes_to_the_end_ends(session):
    outcome = session.run("import os\npid = os.fork()\nprint('child' if pid == 0 else os.waitpid(pid, 0)[1])")
    assert sorted(outcome.stdout.split()) == ["0", "child"] and outcome.exit_code == 0
    outcome = session.run("pid = os.fork()\nif pid == 0: raise SystemExit(7)\n"
                          "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))")
    assert outcome.stdout == "7\n"
    assert session.run("print('one')").stdout == "one\n"


@pytest.mark.parametrize(
    "source, status", [(
        "import os; os._exit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("import os; os.abort()", -6)])
def test_the_end_of_the_process_is_the_end(runner, source, status):
    session = runner.open_session()
    session.run("x = 1")
    with pytest.raises(EOFError):
        session.run(source)
    assert os.waitstatus_to_exitcode(session.end()) == status


def test_hanging_up_ends_it(runner):
    session = runner.open_session()
    session.run("x = 1")
    assert session.end() == 0


def test_what_is_no_cell_ends_it(runner):
    session = runner.open_session()
    session.run("x = 1")
    session.channel.sendall(support.frame(support.CODE, b"print(1)"))
    assert session.channel.recv(10) == b""
    assert session.end() == 0


def test_open_files_are_flushed(session):
    session.run("f = open('a.txt', 'w')\nprint('hello', file=f)\ng = open('b.bin', 'wb')\ng.write(b'12')")
    read = "import os\nfd = os.open({!r}, os.O_RDONLY)\nprint(os.read(fd, 100))\nos.close(fd)"
    assert session.run(read.format("a.txt")).stdout == "b'hello\\n'\n"
    assert session.run(read.format("b.bin")).stdout == "b'12'\n"
    session.run("print('more', file=f)")
    assert session.run(read.format("a.txt")).stdout == "b'hello\\nmore\\n'\n"


def test_a_pipe_that_nobody_reads_does_not_delay_the_end(session):
    outcome = session.run(
        "import os\nr, w = os.pipe()\nf = open(w, 'wb')\nf.write(b'x' * 8000)\nos.set_blocking(w, False)\ntry:\n"
        "    while True: os.write(w, b'y' * 1000)\nexcept BlockingIOError:\n    os.set_blocking(w, True)")
    assert outcome.exit_code == 0 and outcome.seconds < 10
    assert session.run("1").texts == ["1"]


def test_a_cell_is_quick(session):
    session.run("x = 41")
    best = min(session.run("x").seconds for _ in range(30))
    assert best < 0.005, "about 0.3 ms on an idle machine"


def test_many_cells_leave_nothing_behind(session):
    session.run("import os, gc\ndef state(): return len(os.listdir('/proc/self/fd')), len(gc.get_objects())")
    session.run("x = 1")
    before = eval(session.run("print(state())").stdout)
    for number in range(200):
        session.run(f"x = {number}\nprint(x)\nx")
    after = eval(session.run("print(state())").stdout)
    assert after[0] == before[0] and after[1] - before[1] < 1000, (before, after)  # their sources, for tracebacks


def test_signals_of_a_cell_are_its_own(runner):
    """Even one that comes between two cells, when there is nobody to catch what its handler raises."""
    with runner.open_session() as session:
        session.run("x = 1")
        os.kill(session.pid, signal.SIGINT)
        assert session.run("x").texts == ["1"]
