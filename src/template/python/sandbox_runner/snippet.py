"""The snippet as a program: its file, its ``__main__``, its code.

What ``python /home/nonroot/main.py`` does between reading the file and running it (pymain_run_file() and pyrun_file()
in CPython), with two differences on purpose: the first entry of ``sys.path`` is the working directory, where a snippet
writes its modules, and not the folder of the file; and the value of a last expression is kept (last_value.py).
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import builtins
import linecache
import os
import sys
import types
from importlib.machinery import SourceFileLoader

from . import last_value
from .guard import MODULES, release_signals, run_at_root

_open, _write, _close = os.open, os.write, os.close
_pwrite, _ftruncate, _fstat = os.pwrite, os.ftruncate, os.fstat
# A FIFO that an earlier call has put there must not make the next one wait for a reader.
_FILE = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_LINES_AT_ONCE = 256 << 10  # bytes of source that are split into lines before the run; more, when asked for


def new_main(script: str):
    """A module like the one that a script runs in: the same names in the same order."""
    main = types.ModuleType("__main__")
    names = vars(main)
    names["__loader__"] = SourceFileLoader("__main__", script)
    names["__annotations__"] = {}
    names["__builtins__"] = builtins
    names["__file__"] = script
    names["__cached__"] = None
    return main


_PAGE = 4096  # bytes
_waiting = {}  # descriptors of files, until there is something to write to them


def make_file(script: str) -> None:
    """Makes the file of a run to come, with a page of memory, while there is time. One that is there stays as it is."""
    try:
        fd = _open(script, _FILE, 0o644)
    except OSError:
        return
    _waiting[script] = fd
    try:
        if _fstat(fd).st_size == 0:
            _write(fd, bytes(_PAGE))
    except OSError:
        pass


def _made_file(script: str) -> int:
    fd = _waiting.pop(script, -1)
    if fd >= 0 and _fstat(fd).st_nlink == 0:  # a thread of a session has deleted it since
        _close(fd)
        fd = -1
    return fd if fd >= 0 else _open(script, _FILE, 0o644)


def write_file(script: str, source: bytes) -> bool:
    """The file that tracebacks and other processes of the snippet read. Without it a run goes on, less clear.

    Whether there is one: not if its folder is gone.
    """
    try:
        fd = _made_file(script)
    except OSError:
        return False
    try:
        at = 0
        while at < len(source):
            at += _pwrite(fd, memoryview(source)[at:], at)
        _ftruncate(fd, at)
    except OSError:
        pass
    finally:
        _close(fd)
    return True


def remember_lines(script: str, source: bytes) -> None:
    """Keeps the lines for ``linecache``, which shows them even when the snippet has deleted its own file."""
    if len(source) <= _LINES_AT_ONCE:
        lines = _text(source).split("\n")
        linecache.cache[script] = (
            len(source),
            None,
            [line + "\n" for line in lines[: -1 if not lines[-1] else None]],
            script,
        )
    else:
        linecache.cache[script] = ((lambda: _text(source)),)  # a lazy entry: made into lines when asked for


def _text(source: bytes) -> str:
    return source.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def load(source: bytes, script: str, flags: int = 0):
    """(code, None), or (None, exception) if the source is no program. Bytes, so that encoding declarations count."""
    try:
        return last_value.return_it(compile(source, script, "exec", flags, True)), None
    except BaseException as problem:
        return None, _as_from_file(problem.with_traceback(None))


def _as_from_file(problem):
    """Trouble with the encoding declaration is put a little differently when a file is read."""
    if type(problem) is SyntaxError and problem.lineno == 0:
        return SyntaxError(problem.msg.replace("unknown encoding:", "encoding problem:", 1))
    return problem


def run(code, main):
    """(value of a last expression or None, None), or (None, exception)."""
    return run_at_root(code, vars(main))


def rehearse(script: str) -> None:
    """Takes the way of a run, without a snippet: what it touches is then in memory."""
    main = new_main(script)
    code, _ = load(b"print(end='')\n", script)
    run(code, main)
    release_signals()


def take_stage(main, script: str, workdir: str, path: list) -> None:
    """From here on the interpreter looks as if it had been started for this script."""
    MODULES["__main__"] = MODULES["__mp_main__"] = main  # the second is set by `import multiprocessing`
    sys.argv = [script]
    sys.orig_argv = [sys.executable, script]
    sys.path[:] = [workdir, *path]
