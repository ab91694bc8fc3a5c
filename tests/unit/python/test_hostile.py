"""A snippet that works against the runner changes neither how the run ends nor the form of what is reported."""

import pytest

SNIPPETS = {
    # name: (source, exit code, standard output)
    "json and struct replaced": ("import json, struct, base64, _json\njson.dumps = struct.pack = _json.encode_basestring = None\nprint('x')\n[1]", 0, "x\n"),
    "builtins emptied, with a value": ("import builtins\nprint('x')\nx = [1]\nd = delattr\nfor n in list(vars(builtins)):\n    if n[:2] != '__': d(builtins, n)\nx", 0, "x\n"),
    "builtins emptied": ("import builtins\nprint('x')\nd = delattr\nfor n in list(vars(builtins)):\n    if n[:2] != '__': d(builtins, n)", 0, "x\n"),
    "thread started at the end": ("import threading, atexit\natexit.register(lambda: threading.Thread(target=lambda: None).start())\nprint('x')", 0, "x\n"),
    "builtins lie": ("import builtins\nprint('x')\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda x: -1\nbuiltins.repr = builtins.str = lambda x: 5\n1 / 0", 1, "x\n"),
    "exit through a replaced SystemExit": ("import builtins, sys\nreal = SystemExit\nbuiltins.SystemExit = ValueError\nprint('x')\nraise real(4)", 4, "x\n"),
    "every descriptor closed": ("import os\nprint('x')\nos.closerange(3, 70000)\n[1]", 0, "x\n"),
    "all descriptors closed": ("import os\nprint('x')\nos.closerange(0, 70000)", 0, "x\n"),
    "every descriptor written to": ("import os\nprint('x')\nfor fd in range(3, 1024):\n    try: os.write(fd, b'junk')\n    except OSError: pass", 0, "x\n"),
    "sys.exit in an exit function": ("import atexit, sys\natexit.register(sys.exit, 5)\nprint('x')", 0, "x\n"),
    "exit function that never stops registering": ("import atexit\nn = 0\ndef f():\n    global n\n    n += 1\n    if n < 1000: atexit.register(f)\natexit.register(f)\nprint('x')", 0, "x\n"),
    "alarms at the end": (
        "import signal, atexit, time\ndef ring(*_): raise TimeoutError\nsignal.signal(signal.SIGALRM, ring)\nprint('x')\n"
        "signal.setitimer(signal.ITIMER_REAL, .0005, .0005)\n", None, "x\n"),
    "alarms while figures are drawn": (
        "import signal, matplotlib.pyplot as plt\nplt.plot([1])\nclass B(BaseException): pass\ndef ring(*_): raise B\nsignal.signal(signal.SIGALRM, ring)\n"
        "print('x')\nsignal.setitimer(signal.ITIMER_REAL, .02)\n", 0, "x\n"),
    "audit hook that refuses everything": ("import sys\nprint('x')\ndef no(event, args): raise RuntimeError(event)\nsys.addaudithook(no)", None, "x\n"),
    "trace function left behind": ("import sys\ndef t(f, e, a):\n    raise ValueError('traced')\nprint('x')\nsys.settrace(t)", 0, "x\n"),
    "profile function left behind": ("import sys\nprint('x')\nsys.setprofile(lambda *a: print(a))", None, None),
    "sys emptied": ("import sys\nprint('x')\nfor n in list(vars(sys)):\n    if n not in ('stdout', 'stderr'): delattr(sys, n)", 0, "x\n"),
    "streams deleted": ("import sys\nprint('x')\ndel sys.stdout, sys.stderr, sys.stdin, sys.__stdout__, sys.__stderr__, sys.__stdin__", 0, "x\n"),
    "stdout that raises everywhere": ("import sys\nprint('x')\nclass W:\n    def __getattr__(self, n): raise KeyboardInterrupt\nsys.stdout = sys.stderr = W()", None, "x\n"),
    "an exception whose parts fail": (
        "print('x')\nclass E(Exception):\n    def __getattribute__(self, n): raise RuntimeError(n)\n    def __str__(self): raise RuntimeError\nraise E", 1, "x\n"),
    "an exception whose class is strange": ("print('x')\nclass M(type):\n    def __instancecheck__(c, o): 1 / 0\n    def __getattribute__(c, n): 1 / 0\nclass E(Exception, metaclass=M): pass\nraise E", 1, "x\n"),
    "an int that lies": ("class I(int):\n    def __int__(self): return 9\n    def __index__(self): return 8\n    def __and__(self, o): return 7\nprint('x')\nraise SystemExit(I(5))", 5, "x\n"),
    "a value that lies": ("print('x')\nclass A:\n    __class__ = int\n    def __repr__(self): return 'A'\n    def __eq__(self, o): 1 / 0\n    def __bool__(self): 1 / 0\n    def __len__(self): return -1\nA()", 0, "x\n"),
    "a module that is none": ("import sys\nsys.modules['matplotlib._pylab_helpers'] = sys.modules['matplotlib.figure'] = 5\nprint('x')\n[1]", 0, "x\n"),
    "pyplot managers replaced": ("import matplotlib._pylab_helpers as h\nh.Gcf.get_all_fig_managers = lambda: [1, None]\nprint('x')", 0, "x\n"),
    "gc switched off and frozen": ("import gc\ngc.disable(); gc.collect = None; gc.get_objects = None\nclass C:\n    def __del__(self): print('gone')\nc = C(); c.c = c", 0, "gone\n"),
    "weakref broken": ("import weakref\nweakref.ref = None\nprint('x')", 0, "x\n"),
    "main is a strange object": ("import sys\nclass M:\n    def __getattribute__(self, n): 1 / 0\nsys.modules['__main__'] = M()\nprint('x')", 0, "x\n"),
    "own file is a folder": ("import os\nos.remove(__file__); os.mkdir(__file__)\nprint('x')\n1 / 0", 1, "x\n"),
    "linecache poisoned": ("import linecache\nlinecache.cache = None\nprint('x')\n1 / 0", 1, "x\n"),
    "threads that print for ever": ("import threading\ndef f():\n    while True: pass\nfor _ in range(5): threading.Thread(target=f, daemon=True).start()\nprint('x')", 0, "x\n"),
    "thread that takes everything apart": ("import threading, sys\ndef f():\n    while True:\n        sys.stdout = None\nthreading.Thread(target=f, daemon=True).start()\nimport os; os.write(1, b'x\\n')", None, "x\n"),
    "fork bomb of the polite kind": ("import os\nprint('x')\nfor _ in range(3): os.fork()\n[1]", 0, "x\n"),
    "file size limit": ("import resource, signal\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nprint('x')\n[1]", 0, "x\n"),
    "no descriptors left": ("import os\nprint('x')\nkeep = []\ntry:\n    while True: keep.append(os.open('/dev/null', 0))\nexcept OSError: pass\n1 / 0", 1, "x\n"),
    "huge exit text": ("print('x')\nraise SystemExit('y' * 1000000)", 1, "x\n"),
    "frames of the runner are not reachable": ("import sys\nf = sys._getframe()\nprint(f.f_back)\nassert f.f_back is None", 0, "None\n"),
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_ends_well(runner, name):
    source, exit_code, stdout = SNIPPETS[name]
    outcome = runner.run(source)
    assert outcome.exit_code >= 0, "not killed for taking too long, no crash"
    assert outcome.exit_code != 99, "the exception of a snippet came through the runner"
    if exit_code is not None:
        assert outcome.exit_code == exit_code, outcome
    if stdout is not None:
        assert outcome.stdout == stdout
    assert "sandbox_runner" not in outcome.stderr and "template_process" not in outcome.stderr
    assert outcome.seconds < 30
    for result in outcome.results:
        assert all(isinstance(mime, str) and isinstance(data, str) for mime, data in result.items())


def test_a_thousand_alarms_never_change_the_status(runner):
    """The end of a run is interrupted at every possible place."""
    source = (
        "import signal, time\ndef ring(*_): raise TimeoutError\nsignal.signal(signal.SIGALRM, ring)\n"
        "class C:\n    def __del__(self): pass\nc = [C() for _ in range(100)]\ntry:\n    signal.setitimer(signal.ITIMER_REAL, {delay})\n"
        "except TimeoutError: pass\nraise SystemExit(3)")
    for step in range(40):
        outcome = runner.run(source.format(delay=0.0001 + step * 0.0002))
        assert outcome.exit_code in (1, 3), outcome  # 1: it rang while the snippet was still running
        assert "sandbox_runner" not in outcome.stderr, outcome.stderr
