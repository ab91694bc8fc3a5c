"""Every way to crash the interpreter: each is a result of that run, none a loss of the service."""
import pytest

CRASHES = {
    "null pointer": ("import ctypes; ctypes.string_at(0)", {139}),
    "wild write": ("import ctypes; ctypes.memset(0x4141414141, 0, 100)", {139}),
    "stack smash": ("import ctypes\nb = ctypes.create_string_buffer(1)\nctypes.memset(ctypes.addressof(b), 0x41, 1 << 24)", {139, 134, 138}),
    "abort": ("import os; os.abort()", {134}),
    "illegal instruction": ("import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7); m.write(b'\\x0f\\x0b')\nctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()", {132, 139}),
    "division in C": ("import os, signal; os.kill(os.getpid(), signal.SIGFPE)", {136}),
    "bus error": ("import mmap, os\nf = open('f', 'w+b'); f.truncate(8192)\nm = mmap.mmap(f.fileno(), 8192); f.truncate(0); m[5000]", {135}),
    "broken reference counts": ("import ctypes\nfor n in range(200000): ctypes.pythonapi.Py_DecRef(ctypes.py_object(None))\nctypes.memset(id(None), 0, 16)\nNone", {0, 139, 134, 1}),
    "fatal error": ("import ctypes; ctypes.pythonapi.Py_FatalError(b'made up')", {134}),
    "exit at once": ("import ctypes; ctypes.CDLL(None)._exit(42)", {42}),
    "interpreter finalized": ("import ctypes; ctypes.pythonapi.Py_Finalize()", {0, 1, 134, 139}),
    "faulthandler": ("import faulthandler; faulthandler._sigsegv()", {139}),
    "bad byte code": ("def f(): pass\nf.__code__ = f.__code__.replace(co_code=bytes(64), co_stacksize=1)\nf()", {0, 1, 132, 134, 139}),
    "trap": ("import os, signal; os.kill(os.getpid(), signal.SIGTRAP)", {133}),
}


@pytest.mark.parametrize("kind", CRASHES)
def test_is_a_result(service, kind):
    code, exit_codes = CRASHES[kind]
    reply = service.execute("print('before', flush=True)\n" + code, timeout_s=5)
    assert reply.exit_code in exit_codes, reply
    assert reply.stdout == "before\n" and reply.outcome in ("error", "ok")
