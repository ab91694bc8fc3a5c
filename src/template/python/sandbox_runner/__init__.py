"""Runs one snippet as if it were a script: the Python side of a sandbox.

It lives in two places. In the template (fork server) it is trusted and alone: ``prepare`` and ``warm`` are called once,
and ``profile_workloads`` serves to find out which pages a run needs. In each forked child, in a room and confined,
``park`` makes the interpreter look freshly started, and ``serve`` waits for the code, runs it and ends the process.

The way of a run:

    run.py         all of the following in their order
    claim.py       the code and standard input come in over the claim channel; news and results go out
    snippet.py     the file, ``__main__``, compiling, running without a frame of ours below
    last_value.py  the value of a last expression
    display.py     shown figures and that value, as MIME maps (represent.py makes text of values)
    ending.py      exceptions, exit status, threads, exit functions, destructors, in CPython's order

In a session there are many runs in one process, kept apart by session.py:

    cells.py       which call a thread belongs to
    repair.py      what a call must not leave broken for the next

Around it: imports.py and warmup.py (what is imported and run beforehand), template_place.py (libraries that look at
their surroundings), stdio.py, finder.py, reseed.py, and guard.py (names that a snippet cannot take away).

Units: sizes in bytes unless a name says characters, times in seconds. Paths and limits are arguments or come from
frames.py.
"""

import contextvars
import gc
import os
import signal
import sys
import threading

from . import (
    compacting,
    display,
    ending,
    finder,
    imports,
    mappings,
    reseed,
    run,
    snippet,
    stdio,
    template_place,
    warmup,
)
from .guard import MODULES

SCRIPT = "/home/nonroot/main.py"
WORKDIR = "/mnt/data"

_own_folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_path = []  # of a fresh interpreter, without its first entry
_own_modules = []  # names and modules of the fork server, which no snippet is to find
_unused = []  # keeps what left sys.modules alive


def prepare() -> None:
    """Imports everything and puts the hooks in. Leaves one thread, no open descriptor, no file."""
    _check_interpreter()
    _settle_executable()
    with template_place.prepared_place():
        _in_own_context(imports.import_everything)
    display.hook_matplotlib()
    display.hook_pillow()
    finder.install()
    _path[:] = [entry for entry in sys.path if entry and os.path.abspath(entry) != _own_folder]
    _check_threads()


def warm() -> None:
    """Runs typical code once, so that children share what comes of it."""
    warm.failed = _in_own_context(warmup.run_all)
    reseed.find_generators()
    reseed.forget_names()
    finder.forget_folders()
    ending.know_modules()
    _own_modules[:] = [name for name, module in MODULES.items() if _is_ours(module)]
    _check_threads()


def join_mappings() -> int:
    """Joins the pieces in which libraries are mapped; call when everything is loaded. Returns how many were changed."""
    return mappings.join()


def compact() -> int:
    """Puts the heap on huge pages where the kernel can; call last, after gc.freeze(). Returns the bytes put there."""
    return compacting.compact()


def profile_workloads() -> list:
    """Callables for a throwaway child that has parked: they touch what a parked child should have in memory.

    To be run after gc.freeze(), like a snippet: the end of a run looks at every object that is not frozen.
    """
    return warmup.workloads()


def park(script: str = SCRIPT, workdir: str = WORKDIR) -> None:
    """Makes a forked child an interpreter that might have been started for ``script``. Cheap; nothing of a run yet."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)
    gc.enable()
    try:
        os.chdir(workdir)
    except OSError:
        pass
    threading.main_thread()._set_native_id()
    reseed.reseed()
    stdio.open_output()
    stdio.open_input()
    template_place.give_font_list()
    _leave_modules()
    gc.freeze()  # so that the collector, at the end, looks at nothing older than __main__
    main = snippet.new_main(script)
    snippet.take_stage(main, script, workdir, _path)
    snippet.rehearse(script)
    snippet.make_file(script)


def serve(claim_fd: int, script: str = SCRIPT, workdir: str = WORKDIR) -> None:
    """Waits for a claim on ``claim_fd``, runs the snippet or a session's cells, ends the process. Does not return."""
    run.serve(claim_fd, script, workdir)


def _in_own_context(function):
    """What is set in context variables meanwhile (the flags of decimal's context, say) is gone afterwards."""
    return contextvars.copy_context().run(function)


# --- checks: what must hold before a sandbox is promised to be like a script ---


def _check_interpreter() -> None:
    """Flags are inherited by every interpreter that a snippet starts, and cannot be changed later."""
    odd = [
        name
        for name in ("isolated", "ignore_environment", "no_site", "safe_path", "optimize", "dev_mode")
        if getattr(sys.flags, name)
    ]
    if odd:
        raise RuntimeError(f"start the template without interpreter flags; set: {', '.join(odd)}")
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        raise RuntimeError("the template must be started with SIGINT at its default")


def _check_threads() -> None:
    """A lock that another thread holds at the fork stays locked in every child for ever."""
    count = threading.active_count()
    try:
        count = max(count, len(os.listdir("/proc/self/task")))
    except OSError:
        pass
    if count != 1:
        raise RuntimeError(f"the template has {count} threads after importing everything; it must have one")


def _settle_executable() -> None:
    """`python3` is a link to `python3.12` beside it: the real name is what child processes are started by."""
    path = sys.executable
    for _ in range(8):
        try:
            target = os.readlink(path)
        except OSError:
            break
        if "/" in target:
            break
        path = os.path.join(os.path.dirname(path), target)
    sys.executable = path
    if os.path.dirname(sys._base_executable) == os.path.dirname(path):
        sys._base_executable = path


def _is_ours(module) -> bool:
    path = getattr(module, "__file__", None)
    return (
        isinstance(path, str)
        and os.path.dirname(os.path.abspath(path)).startswith(_own_folder)
        and module.__name__ != "__main__"
    )


def _leave_modules() -> None:
    """A snippet that imports a module of one of our names gets its own."""
    _unused.append(MODULES.get("__main__"))
    for name in _own_modules:
        module = MODULES.pop(name, None)
        if module is not None:
            _unused.append(module)
