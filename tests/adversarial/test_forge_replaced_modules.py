"""Replacing what the runner may use: built-ins, json, sys, import hooks, trace functions, audit hooks, codecs."""
import pytest

WRECKS = {
    "built-ins": "import builtins\nfor name in dir(builtins):\n    if name not in ('BaseException', 'SystemExit', '__import__', 'setattr', 'dir'):\n        try: setattr(builtins, name, None)\n        except Exception: pass",
    "exit functions": "import os, sys\nsys.exit = os._exit = exit = quit = lambda *a: None\nraise SystemExit(3)",
    "json and base64": "import sys\nsys.modules['json'] = sys.modules['base64'] = sys.modules['struct'] = sys.modules['traceback'] = None\n1 / 0",
    "all modules": "import sys\nsys.modules.clear()\nraise SystemExit(3)",
    "sys itself": "import sys\nfor name in list(vars(sys)):\n    if name not in ('modules',):\n        try: delattr(sys, name)\n        except Exception: pass",
    "import hook": "import sys\nclass H:\n    def find_spec(self, *a): raise RuntimeError('hook')\nsys.meta_path.insert(0, H())\nsys.path_hooks.clear(); sys.path_importer_cache.clear()\n1 / 0",
    "except hook": "import sys\ndef h(*a): raise RuntimeError('hook')\nsys.excepthook = sys.unraisablehook = h\n1 / 0",
    "trace": "import sys, threading\ndef t(*a): raise RuntimeError('trace')\nsys.setprofile(t)\nx = 1",
    "audit hook": "import sys\ndef h(name, args):\n    if name not in ('sys.addaudithook',): raise RuntimeError(name)\nsys.addaudithook(h)\nopen('f')",
    "display hook": "import sys\nsys.displayhook = lambda v: (_ for _ in ()).throw(RuntimeError('d'))\n42",
    "standard streams": "import sys\nsys.stdout = sys.stderr = sys.stdin = sys.__stdout__ = sys.__stderr__ = object()\n1 / 0",
    "garbage collector": "import gc\nfor o in gc.get_objects():\n    if type(o) is dict and 'claim' in str(o.keys()): o.clear()",
    "frames": "import sys\nf = sys._getframe()\nwhile f:\n    f.f_globals.clear() if f.f_globals is not globals() else None\n    f = f.f_back",
    "threading shut down": "import threading\nthreading._shutdown = lambda: int('x')",
    "linecache": "import linecache\nlinecache.getlines = linecache.checkcache = None\n1 / 0",
    "matplotlib": "import matplotlib.pyplot as plt\nplt.show = plt.get_fignums = plt.figure = None\nx = 1",
}


@pytest.mark.parametrize("name", WRECKS)
def test_the_run_still_ends_with_a_true_result(service, name):
    reply = service.execute("import os\nos.write(1, b'begun\\n')\n" + WRECKS[name], timeout_s=5)
    assert reply.stdout.startswith("begun\n")
    assert reply.outcome in ("ok", "error") and reply.exit_code is not None
    if "1 / 0" in WRECKS[name]:
        assert reply.exit_code != 0
    if "SystemExit(3)" in WRECKS[name]:
        assert reply.exit_code == 3


def test_files_are_collected_whatever_the_interpreter_became(service):
    reply = service.run("""
        import builtins, os, sys
        open("kept.txt", "w").write("kept")
        builtins.open = os.listdir = os.scandir = os.stat = os.walk = None
        sys.modules.clear()
        os._exit(0)
        """)
    assert reply.contents == {"kept.txt": b"kept"}
