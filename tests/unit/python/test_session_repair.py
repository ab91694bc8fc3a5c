"""What a cell breaks does not break the next; what its threads and processes say later is not said in the next."""

import time

import pytest

PROBE = """
import sys, builtins
print('out', len([1, 2]), isinstance(3, int))
print('err', file=sys.stderr)
try:
    {}['x']
except KeyError as problem:
    print(repr(problem), sys.stdin.read())
sum(range(5))
"""

BREAKAGE = {
    "standard output replaced": "import sys, io\nsys.stdout = io.StringIO()",
    "standard output closed": "import sys\nsys.stdout.close()",
    "standard error closed": "import sys\nsys.stderr.close()",
    "standard input closed": "import sys\nsys.stdin.close()",
    "no standard streams": "import sys\nsys.stdout = sys.stderr = sys.stdin = None",
    "no names of standard streams": "import sys\ndel sys.stdout, sys.stderr, sys.stdin, sys.__stdout__",
    "a detached buffer": "import sys\nsys.stdout.detach()",
    "a closed buffer": "import sys\nsys.stdout.buffer.close()",
    "another encoding": "import sys\nsys.stdout.reconfigure(encoding='utf-16')",
    "a stream that raises": "import sys\nclass Bad:\n    def write(self, text): raise OSError('no')\n"
                            "    flush = write\nsys.stdout = sys.stderr = Bad()",
    "descriptors closed": "import os\nfor fd in (0, 1, 2): os.close(fd)",
    "all low descriptors closed": "import os\nos.closerange(0, 256)",
    "descriptors swapped": "import os\nfd = os.open('/dev/null', os.O_RDWR)\n"
                           "for target in (0, 1, 2): os.dup2(fd, target)",
    "descriptors used up": "files = []\ntry:\n    while True: files.append(open('/dev/null'))\nexcept OSError: pass",
    "print is 5": "print = 5\nimport builtins\nbuiltins.print = 5\ndel print",
    "len is gone": "import builtins\ndel builtins.len",
    "all builtins are gone": "import builtins\nvars(builtins).clear()",
    "import is broken": "import builtins\ndef no(*a, **k): raise ImportError('no')\nbuiltins.__import__ = no",
    "no builtins in main": "__builtins__ = {}",
    "isinstance lies": "import builtins\nbuiltins.isinstance = lambda *a: False",
    "an exception hook that raises": "import sys\ndef hook(*a): raise RuntimeError('hook')\nsys.excepthook = hook",
    "hooks deleted": "import sys\ndel sys.excepthook, sys.displayhook, sys.unraisablehook",
    "modules replaced": "import sys\nsys.modules = {}",
    "main taken away": "import sys\ndel sys.modules['__main__']",
    "a tiny recursion limit": "import sys\nsys.setrecursionlimit(40)",
    "a trace function": "import sys\ndef trace(*a): raise RuntimeError('trace')\nsys.settrace(trace)",
    "a profile function": "import sys\ndef profile(*a): raise RuntimeError('profile')\nsys.setprofile(profile)",
    "an alarm": "import signal\nsignal.alarm(1)",
    "a timer with a handler": "import signal\ndef ring(*a): raise RuntimeError('ring')\n"
                              "signal.signal(signal.SIGALRM, ring)\n"
                              "signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)",
    "a timer of processor time": "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)",
    "all signals blocked": "import signal, os\nsignal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())\n"
                           "os.kill(os.getpid(), signal.SIGTERM)",
    "Ctrl-C ignored": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "a traceback to come": "import faulthandler\nfaulthandler.dump_traceback_later(0.3, exit=True)",
    "the hook of threads": "import threading\ndel threading.excepthook",
    "a folder that is gone": "import os\nos.makedirs('gone')\nos.chdir('gone')\nos.rmdir('../gone')",
    "linecache broken": "import linecache\nlinecache.cache = None\nlinecache.getlines = None",
    "os broken": "import os, io\n"
                 "os.write = os.open = os.close = os.dup2 = io.open = io.FileIO = io.TextIOWrapper = None",
    "json, signal, threading broken": "import json, signal, threading, _signal, _thread\njson.dumps = None\n"
                                      "vars(_signal).clear()\n_thread.allocate_lock = None",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error')",
    "garbage collection off": "import gc\ngc.disable()\ngc.set_threshold(0)",
}


@pytest.fixture
def session(runner):
    with runner.open_session() as opened:
        yield opened


@pytest.mark.parametrize("name", BREAKAGE)
def test_the_next_cell_works(session, name):
    session.run("kept = 'kept'")
    session.run(BREAKAGE[name])
    time.sleep(0.5 if "to come" in name else 0.1)
    for _ in range(2):
        outcome = session.run(PROBE, stdin=b"in")
        assert outcome.stderr == "err\n" and outcome.exit_code == 0, outcome
        assert outcome.stdout == "out 2 True\nKeyError('x') in\n" and outcome.texts == ["10"]
    outcome = session.run("import time\ntime.sleep(1.2 if 'alarm' in " + repr(name) + " else 0.1)\nprint(kept)\n1 / 0")
    assert outcome.stdout == "kept\n" and outcome.stderr.endswith(
        "ZeroDivisionError: division by zero\n") and outcome.exit_code == 1


def test_added_builtins_stay(session):
    session.run("import builtins\nbuiltins.mine = 7\nbuiltins.len = 5")
    assert session.run("print(mine, len('abc'))").stdout == "7 3\n"


def test_logging_set_up_once_works_in_every_cell(session):
    session.run("import logging\nlogging.basicConfig(level=logging.INFO)\nlogging.info('one')")
    for word in ("two", "three"):
        assert session.run(f"logging.info('{word}')").stderr == f"INFO:root:{word}\n"


# --- what comes late ---


def test_a_thread_that_goes_on_is_not_heard(session):
    outcome = session.run(
        "import threading, time, sys\nlog = []\ndef talk():\n    while not done.is_set():\n        print('late')\n"
        "        print('late', file=sys.stderr)\n"
        "        log.append(1)\n        time.sleep(0.002)\ndone = threading.Event()\n"
        "thread = threading.Thread(target=talk)\nthread.start()\ntime.sleep(0.05)")
    assert outcome.stdout.startswith("late\n") and outcome.exit_code == 0
    for number in range(5):
        outcome = session.run("before = len(log)\ntime.sleep(0.05)\nprint(len(log) > before, thread.is_alive())")
        assert (outcome.stdout, outcome.stderr) == ("True True\n", ""), "it goes on, without an exception, unheard"
    assert session.run("done.set(); thread.join(); print(thread.is_alive())").stdout == "False\n"


def test_timers_that_set_themselves_again_stay_late(session):
    session.run("import threading\ncount = 0\ndef tick():\n    global count\n    count += 1\n    print('tick', count)\n"
                "    timer = threading.Timer(0.01, tick)\n"
                "    timer.daemon = True\n    timer.start()\ntick()")
    outcome = session.run("import time\nbefore = count\ntime.sleep(0.2)\nprint(count > before)")
    assert (outcome.stdout, outcome.stderr) == ("True\n", "")


def test_the_exception_of_a_late_thread_is_not_heard(session):
    session.run("import threading, time\ndef fail():\n    time.sleep(0.1)\n    1 / 0\n"
                "threading.Thread(target=fail).start()\nimport _thread\n_thread.start_new_thread(fail, ())")
    assert session.run("time.sleep(0.3)").stderr == ""
    assert "ZeroDivisionError" in session.run("threading.Thread(target=fail).start()\ntime.sleep(0.3)").stderr


@pytest.mark.parametrize("pool, submit", [
    ("from concurrent.futures import ThreadPoolExecutor\n"
     "pool = ThreadPoolExecutor(2)", "pool.submit(say, {0!r}).result()"),
    ("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(2)", "list(pool.map(say, [{0!r}]))"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)", "pool.apply(say, ({0!r},))"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)", "pool.map(say, [{0!r}])"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)", "pool.starmap(say, [({0!r},)])"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)", "list(pool.imap(say, [{0!r}]))"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(2)", "list(pool.imap_unordered(say, [{0!r}], 2))"),
    ("import asyncio, threading\npool = asyncio.new_event_loop()\n"
     "threading.Thread(target=pool.run_forever, daemon=True).start()\n"
     "async def coro(word): say(word)", "asyncio.run_coroutine_threadsafe(coro({0!r}), pool).result()"),
    ("import asyncio\nasync def main(word): await asyncio.to_thread(say, word)", "asyncio.run(main({0!r}))"),
])
def test_work_for_an_old_pool_is_the_present_cells(session, pool, submit):
    outcome = session.run("import time\ndef say(word):\n    print(word)\n"
                          "    return word\n" + pool + "\n" + submit.format("first"))
    assert outcome.stdout == "first\n", outcome.stderr
    outcome = session.run(submit.format("second"))
    assert (outcome.stdout, outcome.stderr) == ("second\n", "")


def test_work_that_was_given_earlier_stays_late(session):
    session.run("import time, threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
                "pool = ThreadPoolExecutor(1)\ngo = threading.Event()\n"
                "def wait():\n    go.wait()\n    print('late')\nfuture = pool.submit(wait)")
    outcome = session.run("later = pool.submit(print, 'mine')\ngo.set()\nfuture.result(); later.result()")
    assert outcome.stdout == "mine\n"


def test_results_of_late_threads_are_dropped(session):
    session.run("import threading, matplotlib.pyplot as plt\ngo, done = threading.Event(), threading.Event()\n"
                "figure = plt.figure()\nfigure.add_subplot().plot([1])\n"
                "def show():\n    go.wait()\n    from PIL import Image\n    Image.new('RGB', (9, 9)).show()\n"
                "    figure.show()\n    done.set()\n"
                "threading.Thread(target=show).start()")
    assert session.run("go.set()\ndone.wait();").results == []


def test_a_process_of_an_earlier_cell_writes_to_its_own(session):
    session.run("import subprocess\n"
                "child = subprocess.Popen('while sleep 0.02; do echo late; echo late >&2; done', shell=True)")
    outcome = session.run("import time\ntime.sleep(0.2)\nprint('mine')")
    assert (outcome.stdout, outcome.stderr) == ("mine\n", "")
    assert session.run("child.kill()").exit_code == 0


def test_a_flood_of_a_late_thread_delays_nobody(session):
    session.run("import threading\ndef flood():\n    while True: print('x' * 1000)\n"
                "threading.Thread(target=flood, daemon=True).start()")
    times = [session.run("x = 1").seconds for _ in range(5)]
    assert sorted(times)[2] < 1.0, times
    assert session.run("print(x)").stdout == "1\n"


def test_threads_look_as_ever(session):
    outcome = session.run(
        "import threading, _thread, contextvars, inspect, time\n"
        "def look():\n"
        "    print(len(inspect.stack()), [v.name for v in contextvars.copy_context() if v.name == 'user'])\n"
        "user = contextvars.ContextVar('user')\nuser.set(1)\nthread = threading.Thread(target=look)\n"
        "thread.start(); thread.join()\n"
        "for wrong in ((5, ()), (look, 5), (look, (), 5)):\n    try: _thread.start_new_thread(*wrong)\n"
        "    except TypeError as problem: print(problem)")
    assert outcome.stdout == ("4 []\nfirst arg must be callable\n2nd arg must be a tuple\n"
                              "optional 3rd arg must be a dictionary\n"), outcome


@pytest.mark.parametrize("emptied", ["globals().clear()", "for name in list(globals()): del globals()[name]"])
def test_the_module_is_still_main_when_its_names_were_cleared(session, emptied):
    session.run(emptied)
    outcome = session.run("if __name__ == '__main__': print(__file__)")
    assert (outcome.stdout, outcome.exit_code) == ("/home/nonroot/main.py\n", 0)
