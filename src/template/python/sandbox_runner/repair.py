"""What a call of a session may have broken for the next one, put back as it was.

A snippet may do to its interpreter what it likes, and keeps what it has made. But the names of ``builtins``, the hooks,
the standard streams, signals and timers are everybody's: a next call that prints, or catches an exception, is to find
them working. Names that were added stay, so do the working directory, the environment, ``sys.path`` and the modules.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import _signal
import builtins
import faulthandler
import os
import sys
import threading

from .guard import BUILTINS, MODULES, call_at_root

_chdir, _getcwd = os.chdir, os.getcwd
_getsignal, _set_signal, _setitimer = _signal.getsignal, _signal.signal, _signal.setitimer
_sigmask, _sigpending, _sigtimedwait = _signal.pthread_sigmask, _signal.sigpending, _signal.sigtimedwait
_SIG_SETMASK, _TIMERS = _signal.SIG_SETMASK, (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF)
_set_wakeup_fd, _set_switch_interval = _signal.set_wakeup_fd, sys.setswitchinterval
_get_recursion_limit, _set_recursion_limit = sys.getrecursionlimit, sys.setrecursionlimit
_cancel_traceback = faulthandler.cancel_dump_traceback_later
_MISSING = object()
_PENDING_MAX = 1000  # a process of the snippet may go on sending them

_names = vars(builtins)
_sys_names = vars(sys)
_kept_builtins = tuple(BUILTINS.items())
_kept_of_sys = ("excepthook", "displayhook", "unraisablehook", "breakpointhook", "modules")


def drop_signals() -> None:
    """Forgets those that wait: they were meant for a call that is over."""
    for _ in range(_PENDING_MAX):
        if not (pending := _sigpending()):
            break
        _sigtimedwait(pending, 0)


def _quietly(step) -> None:
    try:
        step()
    except BaseException:
        pass


class State:
    """How things are before the first call."""

    def __init__(self, main, workdir: str):
        self._main, self._workdir = main, workdir
        self._module = {name: vars(main)[name] for name in ("__name__", "__file__")}
        self._sys = [(name, _sys_names[name]) for name in _kept_of_sys]
        self._thread_hook = threading.excepthook
        self._recursion_limit, self._switch_interval = sys.getrecursionlimit(), sys.getswitchinterval()
        handlers = [(number, _getsignal(number)) for number in _signal.valid_signals()]
        self._handlers = [(number, handler) for number, handler in handlers if handler is not None]

    def quiet(self) -> None:
        """After a call, while signals are held, and before anything else of it is looked at."""
        _quietly(self._quiet)

    def restore(self) -> None:
        """Between two calls."""
        _quietly(self._restore_names)
        _quietly(self._restore_folder)

    def _quiet(self) -> None:
        """No timer, handler or pending signal of the snippet strikes the next call."""
        for timer in _TIMERS:
            _setitimer(timer, 0)
        _cancel_traceback()
        _set_wakeup_fd(-1)
        for number, handler in self._handlers:
            if _getsignal(number) is not handler:
                try:
                    _set_signal(number, handler)
                except (OSError, ValueError):  # SIGKILL and SIGSTOP
                    pass
        drop_signals()
        call_at_root(_sigmask, _SIG_SETMASK, ())  # the mask of the next call, not of what runs now

    def _restore_names(self) -> None:
        for name, value in _kept_builtins:
            if _names.get(name, _MISSING) is not value:
                _names[name] = value
        for name, value in self._sys:
            if _sys_names.get(name, _MISSING) is not value:
                _sys_names[name] = value
        MODULES["__main__"], MODULES["sys"], MODULES["builtins"] = self._main, sys, builtins
        vars(self._main)["__builtins__"] = builtins
        for name, value in self._module.items():  # gone with globals().clear()
            vars(self._main).setdefault(name, value)
        if threading.excepthook is not self._thread_hook:
            threading.excepthook = self._thread_hook
        if _get_recursion_limit() != self._recursion_limit:
            _set_recursion_limit(self._recursion_limit)
        _set_switch_interval(self._switch_interval)

    def _restore_folder(self) -> None:
        """The working directory stays where it is, unless it is gone."""
        try:
            _getcwd()
        except OSError:
            _chdir(self._workdir)
