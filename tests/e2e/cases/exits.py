"""Exit codes, tracebacks and crashes: told as they were, never made up."""
from e2e.cases import case

CASES = [
    case("line numbers of a traceback are the user's", """
        # the first line is a comment
        def boom():
            raise KeyError("k9")

        boom()
        """, "vercel-labs/just-bash #425", exit_code=1,
         stderr_has=["line 3, in boom", "line 5, in <module>", 'raise KeyError("k9")'], stderr_end="KeyError: 'k9'\n",
         stderr_lacks=["runner", "exec(", "/opt/"]),
    case("line numbers after a long text with line breaks", 'x = """' + "\n" * 50 + '"""\n1 / 0', exit_code=1, stderr_has="line 52, in <module>"),
    case("a traceback through a lambda and a generator", "f = lambda: next(x for x in [1] if x / 0)\nf()", exit_code=1,
         stderr_has=["in <lambda>", "in <genexpr>", "line 2, in <module>"]),
    case("sys.exit with a text", "import sys\nprint('read 0 rows')\nsys.exit('no input rows')", "vercel-labs/just-bash #425",
         exit_code=1, stdout="read 0 rows\n", stderr="no input rows\n"),
    case("sys.exit inside a function inside try", "import sys\ntry:\n    sys.exit(4)\nfinally:\n    print('cleaned')", exit_code=4, stdout="cleaned\n", stderr=""),
    case("sys.exit in a thread ends the thread only", "import sys, threading\nt = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()\nprint('on')",
         stdout="on\n", stderr=""),
    *[case(f"exit value {text}", f"import sys\n{text}", "ipython/ipython #15158, #15132" if index == 0 else None, exit_code=code, stderr=stderr)
      for index, (text, code, stderr) in enumerate([
          ("sys.exit(3)", 3, ""), ("sys.exit()", 0, ""), ("sys.exit(None)", 0, ""), ("sys.exit(-1)", 255, ""), ("sys.exit(300)", 44, ""),
          ("raise SystemExit(True)", 1, ""), ("raise SystemExit(2.5)", 1, "2.5\n"), ("sys.exit(255)", 255, ""), ("sys.exit(256)", 0, ""),
          ("sys.exit([])", 1, "[]\n"), ("raise SystemExit", 0, ""), ("sys.exit('größe')", 1, "größe\n"), ("exit('bye')", 1, "bye\n"),
      ])],
    case("syntax error: nothing runs, the error is shown", 'print("first")\ntotal = 3 ***** 2\n', "rllm-org/rllm #164", exit_code=1, stdout="",
         stderr_has=["line 2", "total = 3 ***** 2", "^", "SyntaxError: invalid syntax"]),
    case("a bracket that is never closed", "print('x')\nvalues = [1, 2\n", exit_code=1, stdout="", stderr_has=["'[' was never closed", "line 2"]),
    case("a hard exit passes through", "import os\nprint('x', flush=True)\nos._exit(7)", "dagucloud/dagu #610", exit_code=7, stdout="x\n"),
    case("a hard exit with zero from a thread", "import os, threading, time\nprint('x', flush=True)\nthreading.Thread(target=os._exit, args=(0,)).start()\ntime.sleep(9)",
         exit_code=0, stdout="x\n", seconds=4),
    case("exec replaces the process and its exit code counts", "import os\nprint('before', flush=True)\nos.execv('/bin/sh', ['sh', '-c', 'echo after; exit 9'])",
         exit_code=9, stdout="before\nafter\n"),
    case("endless recursion", "def f(n):\n    return f(n + 1)\n\nf(0)", "LiveCodeBench/LiveCodeBench #56, RustPython/RustPython #1374", exit_code=1,
         stderr_has=["RecursionError", "Previous line repeated"]),
    case("recursion in __repr__", "class C:\n    def __repr__(self): return repr(self)\nprint(C())", exit_code=1, stderr_has="RecursionError"),
    case("a native crash", "import ctypes\nprint('before', flush=True)\nctypes.string_at(0)", "jpy-consortium/jpy #157", exit_code=139, stdout="before\n"),
    *[case(f"death by {name}", f"import os, signal\nprint('before', flush=True)\nos.kill(os.getpid(), signal.{name})", exit_code=128 + number, stdout="before\n")
      for name, number in (("SIGKILL", 9), ("SIGTERM", 15), ("SIGSEGV", 11), ("SIGHUP", 1), ("SIGQUIT", 3), ("SIGXCPU", 24))],
    case("an interrupt is an exception like any other", "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    signal.pause()\nexcept KeyboardInterrupt:\n    print('caught')",
         stdout="caught\n"),
    case("an uncaught exception: code and text, with what was printed before", "print('before')\nvalue = {}['k']\nprint('after')",
         "agent-infra/sandbox #98, volcano-sh/agentcube #70", exit_code=1, stdout="before\n", stderr_has=["line 2", "KeyError: 'k'"]),
    case("an exception whose text is not encodable", r"raise ValueError('\ud800 and \0')", exit_code=1, stderr_has="ValueError"),
    case("an exception whose text fails itself", "class E(Exception):\n    def __str__(self): raise TypeError('no')\nraise E", exit_code=1, stderr_has="<exception str() failed>"),
    case("an exception that is a megabyte long", "raise ValueError('x' * 3_000_000)", exit_code=1, truncated=True),
    case("notes and groups", "e = ValueError('v'); e.add_note('a note'); raise ExceptionGroup('g', [e])", exit_code=1, stderr_has=["a note", "ExceptionGroup: g"]),
    case("a failing exit handler", "import atexit\natexit.register(lambda: 1 / 0)\nprint('x')", exit_code=0, stdout="x\n", stderr_has="ZeroDivisionError"),
    case("an exception in a finalizer does not count", "class C:\n    def __del__(self): 1 / 0\nC()\nprint('on')", exit_code=0, stdout="on\n", stderr_has="ZeroDivisionError"),
    case("an error in a thread does not count", "import threading\nt = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()\nprint('on')", stdout="on\n",
         stderr_has=["Exception in thread", "ZeroDivisionError"]),
    case("generator exit and stop iteration at the top level", "next(iter([]))", exit_code=1, stderr_has="StopIteration"),
    case("an exception without a class in the builtins", "class Mine(BaseException): pass\nraise Mine('m')", exit_code=1, stderr_end="Mine: m\n"),
    case("warnings name the user's line", "import warnings\n\nwarnings.warn('careful')", stderr_has=["main.py:3", "UserWarning: careful"]),
    case("a syntax warning does not stop anything", "x = 1\nprint(x is 1)", stdout="True\n", stderr_has="SyntaxWarning"),
]
