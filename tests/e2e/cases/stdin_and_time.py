"""Standard input that never hangs, and time limits that always hold."""
from e2e.cases import case

LIMIT = {"timeout_s": 0.8}
OVER = {"exit_code": -1, "outcome": "timeout", "seconds": 2.5}

CASES = [
    case("input() without input", "name = input('name? ')\nprint('hi', name)", "neuron-team/vscode-ipe #41, Headline/discord-compiler-bot #110", exit_code=1, stdout="name? ",
         stderr_end="EOFError: EOF when reading a line\n", seconds=2),
    case("standard input is there and empty", "import sys\nprint(repr(sys.stdin.read()), sys.stdin.isatty(), list(sys.stdin))", "bytedance/SandboxFusion #41", stdout="'' False []\n"),
    case("standard input in a child", "import subprocess; print(subprocess.run(['cat'], capture_output=True).stdout)", stdout="b''\n", seconds=2),
    case("getpass without a terminal", "import getpass\ntry:\n    getpass.getpass()\nexcept EOFError:\n    print('none')", stdout_has="none", seconds=2),
    case("select on standard input", "import select, sys; print(select.select([sys.stdin], [], [], 1)[0] == [sys.stdin], sys.stdin.read())", stdout="True \n", seconds=2),
    case("breakpoint() does not hang", "x = 1\nbreakpoint()\nprint('after')", exit_code_in=[0, 1], outcome_in=["ok", "error"], seconds=3, stdout_has="(Pdb)"),
    case("code.interact() does not hang", "import code; code.interact('hi'); print('after')", stdout_has="after", seconds=3),
    case("an input that is read twice", "import sys\nprint(repr(sys.stdin.read()), repr(sys.stdin.read()))\nsys.stdin.seek(0)\nprint(sys.stdin.read())", request={"stdin": "once"}, stdout="'once' ''\nonce\n"),
    case("input() as a loop until the end", "total = 0\nwhile True:\n    try:\n        total += int(input())\n    except EOFError:\n        break\nprint(total)", request={"stdin": "1\n2\n3"}, stdout="6\n"),
    case("every exception swallowed", "while True:\n    try:\n        while True: pass\n    except BaseException:\n        continue", "CERT-Polska/karton #241", LIMIT, **OVER),
    case("an alarm of the program's own swallowed", "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\nsignal.setitimer(signal.ITIMER_REAL, .1, .1)\nwhile True: signal.pause()", None, LIMIT, **OVER),
    case("signals ignored", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('armed')\nwhile True: pass",
         "FoundationDB/fdb-joshua #123", LIMIT, stdout="armed\n", **OVER),
    case("signals blocked", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass", None, LIMIT, **OVER),
    case("a child goes on after its parent was stopped", "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', 'import time\\nwhile True: time.sleep(0.1)'], start_new_session=True)\ntime.sleep(60)",
         "BaseIntelligence/bounty-challenge #15639, computationalmodelling/nbval #41", LIMIT, **OVER),
    case("a long computation in one C call", "print(len(str(7 ** (7 ** 9))))", None, LIMIT, **OVER),
    case("a regular expression that takes for ever", "import re; re.match(r'(x+x+)+y', 'x' * 64)", None, LIMIT, **OVER),
    case("a lock that is never released", "import threading\nc = threading.Condition()\nwith c: c.wait()", None, LIMIT, **OVER),
    case("an event loop that never ends", "import asyncio\nasyncio.run(asyncio.Event().wait())", None, LIMIT, **OVER),
    case("a queue that is never filled", "import queue; queue.Queue().get()", None, LIMIT, **OVER),
    case("a process pool that never ends", "from multiprocessing import Pool\nimport time\nif __name__ == '__main__':\n    with Pool(2) as p: p.map(time.sleep, [99] * 4)", None, LIMIT, **OVER),
    case("a sort with a comparison that sleeps", "import functools, time\nsorted(range(9), key=functools.cmp_to_key(lambda a, b: time.sleep(9) or 0))", None, LIMIT, **OVER),
    case("an exit handler that hangs", "import atexit, time; atexit.register(time.sleep, 99); print('end')", None, LIMIT, stdout="end\n", **OVER),
    case("a thread that is not waited for", "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), daemon=True).start()\nprint('end')", stdout="end\n", seconds=2),
    *[case(f"a limit of {limit!r} is refused", "print(1)", "mozilla-ai/otari #1433" if index == 0 else None, {"timeout_s": limit}, status=400, message_has=["timeout_s", "60"])
      for index, limit in enumerate([61, 0, -1, 60000, 60.001])],
    *[case(f"a limit of {limit!r} is of the wrong type", "print(1)", None, {"timeout_s": limit}, status=400, message_has="timeout_s")
      for limit in (None, "ten", "10", [1], {"s": 1}, True)],
]
