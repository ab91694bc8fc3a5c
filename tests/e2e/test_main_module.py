"""A snippet runs as an ordinary script would: as `__main__`, from a file, with the user's own line numbers."""
import pytest

OK = {
    "the name": ("print(__name__, __file__)", "__main__ /home/nonroot/main.py\n"),
    "the guard": ('if __name__ == "__main__":\n    print("ran")', "ran\n"),
    "arguments": ("import sys; print(sys.argv)", "['/home/nonroot/main.py']\n"),
    "recursion of a top-level function": ("def tri(n): return n and n + tri(n - 1)\nprint(tri(30))", "465\n"),
    "globals inside functions and comprehensions": (
        "import re\nx = 2\ndef f(): return [re.sub('a', 'b', 'a' * x) for _ in range(x)]\nprint(f())", "['bb', 'bb']\n"),
    "doc string and future import": (
        '"""doc"""\nfrom __future__ import annotations\ndef f(x: Missing): return f.__annotations__["x"]\nprint(__doc__, f(1))',
        "doc Missing\n"),
    "no future flags of the runner leak in": (
        "def f(x: int): pass\nprint(f.__annotations__['x'] is int)", "True\n"),
    "getsource of a function": (
        "import inspect\ndef f():\n    return 1  # one\nprint(inspect.getsource(f), end='')", "def f():\n    return 1  # one\n"),
    "getsource of a class and of the module": (
        "import inspect, sys\nclass C:\n    x = 1\nprint(inspect.getsource(C), inspect.getsource(sys.modules['__main__'])[:6])",
        "class C:\n    x = 1\n import\n"),
    "pickling by name": (
        "import pickle\nclass P:\n    pass\nprint(type(pickle.loads(pickle.dumps(P()))) is P)", "True\n"),
    "import of main": ("import __main__\nx = 4\nprint(__main__.x)", "4\n"),
    "dataclasses and enums": (
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\nfrom enum import Enum\n"
        "class Color(Enum):\n    RED = 1\n@dataclass\nclass P:\n    x: int\n    tags: list[str] = field(default_factory=list)\n"
        "print(P(1), Color.RED)", "P(x=1, tags=[]) Color.RED\n"),
    "namespace is clean": (
        "print(sorted(n for n in globals() if not n.startswith('__')))", "[]\n"),
    "exit handlers": ("import atexit; atexit.register(print, 'bye'); print('hello')", "hello\nbye\n"),
    "finalizers": ("class C:\n    def __del__(self): print('finalized')\nc = C()\nprint('end')", "end\nfinalized\n"),
    "threads are waited for": (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\nprint('main')",
        "main\nthread\n"),
    "a module that was just written": ("open('helper.py', 'w').write('V = 42')\nimport helper\nprint(helper.V)", "42\n"),
    "a package that was just written": (
        "import os; os.mkdir('pkg'); open('pkg/__init__.py', 'w').write(''); open('pkg/m.py', 'w').write('from . import n')\n"
        "open('pkg/n.py', 'w').write('print(\"n\")')\nimport pkg.m", "n\n"),
    "a module changed and reloaded": (
        "import importlib\nopen('m.py', 'w').write('V = 1')\nimport m\nopen('m.py', 'w').write('V = 22')\n"
        "print(m.V, importlib.reload(m).V)", "1 22\n"),
    "the working directory is on the path": ("import sys; print('/mnt/data' in sys.path or '' in sys.path)", "True\n"),
    "signals at their default": (
        "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, signal.getsignal(signal.SIGPIPE).name,"
        " signal.pthread_sigmask(signal.SIG_BLOCK, []))", "True SIG_IGN set()\n"),
    "alarm": (
        "import signal\ndef ring(*_): raise TimeoutError('rang')\nsignal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, .1)\n"
        "try:\n    signal.pause()\nexcept TimeoutError as e: print(e)", "rang\n"),
    "encoding cookies": ("# -*- coding: utf-8 -*-\nprint('ü')", "ü\n"),
    "carriage returns": ("print(1)\r\nif True:\r\n    print(2)\r\n", "1\n2\n"),
    "no newline at the end": ("if True:\n    print('x')", "x\n"),
    "form feeds and tabs": ("\x0cif True:\n\tprint('x')", "x\n"),
    "byte order mark": ("\ufeffprint('bom')", "bom\n"),
    "exec and eval": ("exec('y = 3'); print(eval('y + 1'))", "4\n"),
    "the debugger's trace function is free": ("import sys; print(sys.gettrace(), sys.getprofile())", "None None\n"),
    "the recursion limit is the usual one": ("import sys; print(sys.getrecursionlimit())", "1000\n"),
    "warnings are shown once": ("import warnings\nfor _ in range(3): warnings.warn('w')\nprint('ok')", "ok\n"),
    "garbage collection is on": ("import gc; print(gc.isenabled(), gc.get_threshold()[0] > 0)", "True True\n"),
    "user name and home": (
        "import getpass, pathlib\n(pathlib.Path.home() / 'n').write_text('hi')\nprint(getpass.getuser(), (pathlib.Path.home() / 'n').read_text())",
        "nonroot hi\n"),
}


@pytest.mark.parametrize("name", OK)
def test_like_a_script(service, name):
    code, expected = OK[name]
    reply = service.execute(code)
    assert reply.stdout == expected, reply
    assert reply.exit_code == 0 and reply.outcome == "ok"


def test_traceback_shows_the_user_s_lines_only(service):
    reply = service.run("""
        # a comment on the first line
        def boom():
            raise KeyError("k9")

        boom()
        """)
    assert reply.exit_code == 1 and reply.outcome == "error"
    assert reply.stderr.startswith("Traceback (most recent call last):\n")
    assert 'main.py", line 5, in <module>\n    boom()' in reply.stderr
    assert 'main.py", line 3, in boom\n    raise KeyError("k9")' in reply.stderr
    assert reply.stderr.endswith("KeyError: 'k9'\n")
    assert reply.stderr.count('File "') == 2 and "runner" not in reply.stderr and "/opt" not in reply.stderr


def test_traceback_of_chained_and_grouped_exceptions(service):
    chained = service.run("""
        try:
            int("x")
        except ValueError as problem:
            raise RuntimeError("outer") from problem
        """)
    assert "invalid literal" in chained.stderr and "direct cause" in chained.stderr and chained.stderr.endswith("RuntimeError: outer\n")
    grouped = service.run("raise ExceptionGroup('both', [ValueError('a'), TypeError('b')])")
    assert "ValueError: a" in grouped.stderr and "TypeError: b" in grouped.stderr


def test_traceback_through_a_library(service):
    reply = service.run("""
        import json
        json.loads("{")
        """)
    assert 'main.py", line 2, in <module>' in reply.stderr and "json/decoder.py" in reply.stderr


def test_syntax_error(service):
    reply = service.run("""
        print("first")
        total = 3 ***** 2
        """)
    assert (reply.exit_code, reply.stdout, reply.outcome) == (1, "", "error")
    assert 'main.py", line 2\n    total = 3 ***** 2' in reply.stderr and "^" in reply.stderr
    assert reply.stderr.endswith("SyntaxError: invalid syntax\n") and reply.stderr.count('File "') == 1


@pytest.mark.parametrize("code, kind", [
    ("if True:\nprint(1)", "IndentationError"), ("if True:\n\tx = 1\n        y = 2", "TabError"),
    ("x = 'abc", "SyntaxError"), ("return 1", "SyntaxError"), ("print(", "SyntaxError"), ("await x", "SyntaxError"),
])
def test_other_syntax_errors(service, code, kind):
    reply = service.execute(code)
    assert reply.exit_code == 1 and reply.stdout == "" and kind in reply.stderr and "main.py" in reply.stderr


@pytest.mark.parametrize("code, exit_code, stderr", [
    ("import sys; sys.exit()", 0, ""), ("import sys; sys.exit(None)", 0, ""), ("import sys; sys.exit(0)", 0, ""),
    ("import sys; sys.exit(3)", 3, ""), ("import sys; sys.exit(-1)", 255, ""), ("import sys; sys.exit(300)", 44, ""),
    ("raise SystemExit(True)", 1, ""), ("raise SystemExit('text')", 1, "text\n"), ("raise SystemExit(2.5)", 1, "2.5\n"),
    ("raise SystemExit((1, 2))", 1, "(1, 2)\n"), ("exit(5)", 5, ""), ("quit()", 0, ""), ("import os; os._exit(7)", 7, ""),
    ("raise KeyboardInterrupt", 130, None), ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, ""),
    ("import os; os.abort()", 134, None), ("import ctypes; ctypes.string_at(0)", 139, None),
    ("import os, signal; os.kill(os.getpid(), signal.SIGUSR2)", 140, ""), ("import os; os.kill(0, 9)", 137, ""),
    ("import signal; signal.raise_signal(signal.SIGALRM)", 142, ""), ("1 / 0", 1, None),
    ("import atexit, os; atexit.register(os._exit, 9)", 9, ""),
    ("import threading; threading.Thread(target=lambda: 1 / 0).start()", 0, None),
    ("import sys; sys.excepthook = lambda *_: print('mine', file=sys.stderr); 1 / 0", 1, "mine\n"),
    ("import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass", 137, None),
])
def test_exit_codes(service, code, exit_code, stderr):
    reply = service.execute("print('x', flush=True)\n" + code)
    assert reply.exit_code == exit_code and reply.stdout == "x\n"
    assert reply.outcome == ("ok" if exit_code == 0 else "error")
    if stderr is not None:
        assert reply.stderr == stderr


def test_no_byte_code_files(service):
    reply = service.run("open('m.py', 'w').write('V = 1')\nimport m")
    assert list(reply.contents) == ["m.py"]


def test_a_file_that_shadows_the_standard_library_harms_nobody_but_the_snippet(service):
    reply = service.run("""
        for name in ("json", "traceback", "linecache", "io", "base64", "tokenize", "matplotlib"):
            open(name + ".py", "w").write("raise RuntimeError('shadow')")
        1 / 0
        """)
    assert reply.exit_code == 1 and "ZeroDivisionError" in reply.stderr and "shadow" not in reply.stderr
    assert len(reply.files) == 7


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(service, method):
    reply = service.run(f"""
        import multiprocessing as mp

        def square(x):
            return x * x

        if __name__ == "__main__":
            context = mp.get_context({method!r})
            with context.Pool(2) as pool:
                print(pool.map(square, range(5)))
            queue = context.Queue(); lock = context.Lock(); value = context.Value("i", 3)
            process = context.Process(target=queue.put, args=(7,)); process.start(); print(queue.get(timeout=15)); process.join()
            with lock:
                print(value.value)
        """)
    assert reply.stdout == "[0, 1, 4, 9, 16]\n7\n3\n", reply
    assert reply.stderr == "" and reply.exit_code == 0


def test_process_pool_and_manager(service):
    reply = service.run("""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import Manager, shared_memory

        def work(x):
            return x + 1

        if __name__ == "__main__":
            with ProcessPoolExecutor(2) as pool:
                print(list(pool.map(work, range(3))))
            with Manager() as manager:
                shared = manager.dict(); shared["a"] = 1; print(dict(shared))
            block = shared_memory.SharedMemory(create=True, size=1000)
            block.buf[:3] = b"abc"; print(bytes(block.buf[:3])); block.close(); block.unlink()
        """)
    assert reply.stdout == "[1, 2, 3]\n{'a': 1}\nb'abc'\n" and reply.stderr == ""


def test_subprocess_of_the_interpreter(service):
    reply = service.run("""
        import subprocess, sys
        done = subprocess.run([sys.executable, "-c", "import numpy, sys; print(6 * 7, sys.version_info[:2])"], capture_output=True, text=True)
        print(done.stdout, done.stderr, done.returncode, end="")
        """)
    assert reply.stdout == "42 (3, 12)\n  0"


@pytest.mark.parametrize("command, expected", [
    ("echo a | tr a-z A-Z", "A\n"), ("yes | head -n 1", "y\n"), ("printf 'b\\na\\n' | sort", "a\nb\n"),
    ("seq 3 | wc -l | tr -d ' '", "3\n"), ("cat /etc/passwd | cut -d: -f1", "nonroot\n"), ("exit 3", ""),
    ("echo x > f && cat f && rm f", "x\n"), ("ls /mnt/data | wc -l | tr -d ' '", "0\n"), ("echo $HOME", "/home/nonroot\n"),
    ("grep -c n /etc/group | head -c 1", "1"), ("sed s/a/b/ <<E\na\nE", "b\n"), ("awk 'BEGIN { print 6*7 }'", "42\n"),
])
def test_shell(service, command, expected):
    reply = service.run(f"""
        import subprocess
        done = subprocess.run({command!r}, shell=True, capture_output=True, text=True)
        print(repr([done.stdout, done.stderr]))
        """)
    assert eval(reply.stdout) == [expected, ""]


@pytest.mark.parametrize("body, expected", [
    ("import asyncio\nasync def main():\n    await asyncio.sleep(0.01)\n    return 8\nprint(asyncio.run(main()))", "8\n"),
    ("import asyncio\nasync def main():\n    p = await asyncio.create_subprocess_exec('echo', 'hi', stdout=-1)\n"
     "    print((await p.communicate())[0])\nasyncio.run(main())", "b'hi\\n'\n"),
    ("import asyncio\nasync def serve(r, w):\n    w.write(await r.read(5)); w.close()\nasync def main():\n"
     "    s = await asyncio.start_unix_server(serve, '/tmp/s')\n    r, w = await asyncio.open_unix_connection('/tmp/s')\n"
     "    w.write(b'hello'); print(await r.read())\n    s.close()\nasyncio.run(main())", "b'hello'\n"),
    ("import asyncio\nasync def main():\n    print(await asyncio.to_thread(sum, [1, 2]))\nasyncio.run(main())", "3\n"),
])
def test_asyncio(service, body, expected):
    reply = service.execute(body)
    assert reply.stdout == expected, reply
    assert reply.stderr == ""
