"""How a run ends: what CPython does between the last line of a script and the exit status, without taking itself apart.

Py_FinalizeEx() would visit every object of the template, page by page, for most of a second. Here only what a snippet
can notice is done, in the same order: the exception is reported, threads are joined, exit functions run, output is
flushed, the snippet's own objects are destroyed (so that files are flushed and ``__del__`` runs), and the status is the
same.
See Python/pythonrun.c (handle_system_exit, _PyErr_PrintEx) and Python/pylifecycle.c (Py_FinalizeEx, finalize_modules).
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import _signal
import atexit
import gc
import io
import os
import sys
import types
import weakref

from . import exit_functions
from .guard import MODULES, call_at_root, collect, drop_own_frame, has_grown_by, ignore, mute_signals

_exit, _getpid, _kill, _write = os._exit, os.getpid, os.kill, os.write
_SIGINT, _SIG_DFL, _SIG_UNBLOCK = _signal.SIGINT, _signal.SIG_DFL, _signal.SIG_UNBLOCK
_set_signal, _sigmask = _signal.signal, _signal.pthread_sigmask
_exit_functions = atexit._run_exitfuncs
_audit, _get_objects, _reference = sys.audit, gc.get_objects, weakref.ref
_ModuleType = types.ModuleType
_display = sys.__excepthook__
_IMAGE = tuple({prefix.rstrip("/") + "/" for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)})

FLUSH_FAILED = 120
_CROWDED = 200 << 20  # bytes of memory that a run has taken from which on a list of all its objects is one too many
_MAINS = ("__main__", "__mp_main__")
_known_modules = frozenset()
_last_known = ""


def know_modules() -> None:
    """Everything that is imported now belongs to the template, not to a snippet."""
    global _known_modules, _last_known
    exit_functions.know()
    _known_modules = frozenset(MODULES)
    _last_known = next(reversed(MODULES))


# --- the exception ---


class Outcome:
    """The exit status so far, and whether it is to be death by SIGINT."""

    def __init__(self, status: int = 0, interrupted: bool = False):
        self.status = status
        self.interrupted = interrupted


FAILED = Outcome(1)


def report(problem) -> Outcome:
    """Reports what ended the snippet, if anything; never raises."""
    try:
        if problem is None:
            outcome = Outcome()
        elif isinstance(problem, SystemExit):
            outcome = Outcome(_status_of_exit(problem))
        else:
            outcome = _show(problem)
    except BaseException:
        outcome = Outcome(1)
    _flush_quietly("stderr")
    _flush_quietly("stdout")
    return outcome


def _status_of_exit(problem) -> int:
    """``sys.exit(value)``: the low bits of an integer; anything else is printed and means 1."""
    try:
        value = problem.code
    except BaseException:
        value = problem
    if value is None:
        return 0
    if isinstance(value, int):
        number = int.__int__(value)
        if -(1 << 63) <= number < 1 << 63:
            return number & 0xFF
        _say("OverflowError: Python int too large to convert to C long\n")
        return 0xFF
    _print_value(value)
    return 1


def _print_value(value) -> None:
    """What ``sys.exit("text")`` prints, and what becomes of a value that has no text."""
    text, problem = call_at_root(str, value)
    if problem is None and getattr(sys, "stderr", None) is None:
        _say(text)
    elif problem is None:
        call_at_root(_print, text)
    _say("\n")
    if problem is not None:
        _display(type(problem), problem, problem.__traceback__)


def _print(text: str) -> None:
    sys.stderr.write(text)


def _show(problem) -> Outcome:
    """sys.excepthook, with what the interpreter does if that is missing or fails itself."""
    kind, traceback = type(problem), problem.__traceback__
    sys.last_exc, sys.last_type, sys.last_value, sys.last_traceback = problem, kind, problem, traceback
    outcome = Outcome(1, kind is KeyboardInterrupt)
    hook = getattr(sys, "excepthook", None)
    _, objection = call_at_root(_audit, "sys.excepthook", hook, kind, problem, traceback)
    if isinstance(objection, RuntimeError):
        return outcome
    if objection is not None:
        ignore(objection, None)
    if not hasattr(sys, "excepthook"):
        _say("sys.excepthook is missing\n")
        _display(kind, problem, traceback)
        return outcome
    if hook is _display:
        hook(kind, problem, traceback)
        return outcome
    _, failure = call_at_root(hook, kind, problem, traceback)
    if isinstance(failure, SystemExit):
        return Outcome(_status_of_exit(failure))
    if failure is not None:
        _say("Error in sys.excepthook:\n")
        _display(type(failure), failure, failure.__traceback__)
        _say("\nOriginal exception was:\n")
        _display(kind, problem, traceback)
    return outcome


def _say(text: str) -> None:
    """PySys_WriteStderr(): to sys.stderr, or if that is of no use to the descriptor."""
    try:
        sys.stderr.write(text)
    except BaseException:
        try:
            _write(2, text.encode("utf-8", "backslashreplace"))
        except OSError:
            pass


# --- from the last line to the exit status ---


def leave(outcome: Outcome):
    """Ends the process. Does not return, whatever the snippet has done to the interpreter."""
    status = outcome.status
    try:
        if not finalize():
            status = FLUSH_FAILED
        if outcome.interrupted:
            status = 128 + _SIGINT
            _die_by_sigint()
    finally:
        _exit(status)


def finalize() -> bool:
    """Everything but the end itself. False if the snippet's output could not be flushed."""
    steps = (_flush_standard, _destroy)
    if not _is_idle():
        steps = (_join_threads, _run_exit_functions, *steps)
    flushed = True
    for step in steps:
        try:
            flushed = (step() is not False) and flushed
        except BaseException:
            pass
    return flushed


def _is_idle() -> bool:
    try:
        return exit_functions.are_idle()
    except BaseException:
        return False


def _join_threads() -> None:
    threading = MODULES.get("threading")
    if threading is None:
        return
    _, problem = call_at_root(getattr(threading, "_shutdown", None))
    if problem is not None:
        ignore(problem, threading)


def _run_exit_functions() -> None:
    call_at_root(_exit_functions)


def _die_by_sigint() -> None:
    """As a shell expects it of a program that was interrupted."""
    _set_signal(_SIGINT, _SIG_DFL)
    _sigmask(_SIG_UNBLOCK, (_SIGINT,))
    _kill(_getpid(), _SIGINT)


# --- flushing ---


def _flush_quietly(name: str) -> None:
    try:
        getattr(sys, name).flush()
    except BaseException:
        pass


def _is_closed(stream) -> bool:
    try:
        return bool(stream.closed)
    except BaseException:
        return False


def _flush_standard() -> bool:
    """flush_std_files(): a failure is reported for standard output, and counts for both."""
    flushed = True
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name, None)
        if stream is None or _is_closed(stream):
            continue
        try:
            stream.flush()
        except BaseException as problem:
            flushed = False
            if name == "stdout":
                drop_own_frame(problem)
                ignore(problem, stream)
    return flushed


# --- destroying what the snippet has made ---


def _destroy() -> None:
    """Destroys the snippet's modules and objects, and flushes the files that are still open after that."""
    mute_signals()
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        setattr(sys, name, None)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, f"__{name}__", None))
    modules = _take_modules()
    # First: the collector may close the lower half of a file before the upper half has written what it holds.
    crowded = has_grown_by(_CROWDED)
    if not crowded:
        _flush_files()
    collect()
    left = [module for module in (reference() for reference in modules) if module is not None]
    for module in reversed(left):
        _clear(vars(module))
    if left:
        collect()
    if crowded:
        _flush_files()
    _flush_quietly("stdout")
    _flush_quietly("stderr")


def _take_modules() -> list:
    """Takes the snippet's modules off ``sys.modules``; weak references to them, in the order of their import."""
    references = []
    for name in [*_MAINS, *_new_names()]:
        module = MODULES.get(name)
        if isinstance(module, _ModuleType) and not _of_image(module):
            del MODULES[name]
            references.append(_reference(module))
    return references


def _new_names() -> list:
    """What was imported since, oldest first. Looks at the end of the dictionary only: its keys lie in many pages."""
    names = []
    for name in reversed(MODULES):
        if name is _last_known:
            break
        if name not in _known_modules:
            names.append(name)
    return names[::-1]


def _of_image(module) -> bool:
    path = vars(module).get("__file__")
    return vars(module).get("__name__") not in _MAINS and (
        path is None or (isinstance(path, str) and path.startswith(_IMAGE))
    )


def _clear(names: dict) -> None:
    """_PyModule_ClearDict(): private names first, then the others, for a predictable order of destructors."""
    for private in (True, False):
        for name, value in list(names.items()):
            if value is None or name == "__builtins__":
                continue
            if not private or (isinstance(name, str) and name[:1] == "_" and name[1:2] != "_"):
                names[name] = None
    del value


_FILES = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


def _flush_files() -> None:
    """Files that nobody has closed: in a cycle, in a variable of a library, in a thread that goes on."""
    for file in [thing for thing in _get_objects() if type(thing) in _FILES]:
        try:
            if not file.closed:
                file.flush()
        except BaseException:
            pass
