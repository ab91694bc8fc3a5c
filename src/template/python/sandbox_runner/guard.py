"""Names that keep their meaning, whatever a snippet does to the interpreter around it.

A snippet may replace or delete anything in ``builtins``, in ``sys`` or in any module. What runs after it (its end, its
results) looks names up in its own module, and builtins in the copy made here, before any snippet existed: a module that
begins with ``from .guard import BUILTINS as __builtins__`` gives the copy to every function that it defines. This
protects the way in which a run ends, not the truth of what the snippet reports about itself.
"""

import _signal as signals
import builtins
import gc
import resource
import sys
import warnings

BUILTINS = dict(vars(builtins))
__builtins__ = BUILTINS

MODULES = sys.modules  # the interpreter's own, even when a snippet puts another in its place

_collect, _get_stats = gc.collect, gc.get_stats
_getrusage, _RUSAGE_SELF = resource.getrusage, resource.RUSAGE_SELF
_getsignal, _signal, _setitimer = signals.getsignal, signals.signal, signals.setitimer
_SIGALRM, _ITIMER_REAL = signals.SIGALRM, signals.ITIMER_REAL
_sigmask, _sigpending, _sigtimedwait = signals.pthread_sigmask, signals.sigpending, signals.sigtimedwait
_SIG_BLOCK, _SIG_UNBLOCK, _SIG_SETMASK = signals.SIG_BLOCK, signals.SIG_UNBLOCK, signals.SIG_SETMASK
_ALL_SIGNALS = signals.valid_signals() - {
    signals.SIGSEGV,
    signals.SIGBUS,
    signals.SIGFPE,
    signals.SIGILL,
    signals.SIGABRT,
}

try:  # built beside this package; see src/template/root_frame_module.c
    import _root_frame
except ImportError:
    _root_frame = None


def run_at_root(code, globals):
    """Runs ``code`` in ``globals``; gives (value, None) or (None, exception), the traceback without frames of ours.

    Afterwards signals are held: the snippet's handlers run only in what is called by ``call_at_root``.
    """
    if _root_frame is not None:
        return _root_frame.run(code, globals)
    try:
        return eval(code, globals), None
    except BaseException as problem:
        drop_own_frame(problem)
        return None, problem


def call_at_root(function, *arguments):
    """The same for a function: (value, None) or (None, exception)."""
    if _root_frame is not None:
        return _root_frame.call(function, *arguments)
    try:
        return function(*arguments), None
    except BaseException as problem:
        drop_own_frame(problem)
        return None, problem


def release_signals() -> None:
    """Lets signals through again after ``run_at_root``, when no snippet was run."""
    if _root_frame is not None:
        _root_frame.release()


def drop_own_frame(problem) -> None:
    """Takes the frame that caught ``problem`` off its traceback."""
    if problem.__traceback__ is not None:
        problem.__traceback__ = problem.__traceback__.tb_next


def ignore(problem, where) -> None:
    """Reports an exception that nobody can catch, in the interpreter's own way ("Exception ignored in: ...")."""
    try:
        if _root_frame is not None:
            _root_frame.ignore(problem, where)
        else:
            sys.stderr.write(f"Exception ignored in: {where!r}\n")
            sys.__excepthook__(type(problem), problem, problem.__traceback__)
    except BaseException:
        pass


class no_warnings:
    """No warning is shown, raised or remembered meanwhile.

    Unlike ``warnings.catch_warnings`` this does not make the interpreter forget which warnings it has shown already, so
    that a snippet's own are still shown once.
    """

    _ignore_all = [("ignore", None, Warning, None, 0)]

    def __enter__(self):
        self._filters = warnings.filters
        warnings.filters = self._ignore_all

    def __exit__(self, *_):
        warnings.filters = self._filters


class signals_held:
    """The snippet's signal handlers, which may raise, wait meanwhile."""

    def __enter__(self):
        self._mask = _sigmask(_SIG_BLOCK, _ALL_SIGNALS)

    def __exit__(self, *_):
        _sigmask(_SIG_SETMASK, self._mask)


class TooSlow(BaseException):
    """Raised by ``time_limit``; no ``except Exception`` of a library is meant to catch it."""


def _too_slow(*_):
    raise TooSlow


class time_limit:
    """Interrupts Python code of the main thread that takes longer. To be used while signals are held.

    A timer of the snippet goes on afterwards.
    """

    def __init__(self, seconds: float):
        self._seconds = seconds

    def __enter__(self):
        self._handler = _getsignal(_SIGALRM)
        if self._handler is None:  # not made by Python: leave it alone
            return
        self._left = _setitimer(_ITIMER_REAL, self._seconds)
        if _SIGALRM in _sigpending():
            _sigtimedwait((_SIGALRM,), 0)  # the snippet's
        _signal(_SIGALRM, _too_slow)
        self._mask = _sigmask(_SIG_UNBLOCK, (_SIGALRM,))

    def __exit__(self, *_):
        if self._handler is None:
            return
        try:
            _sigmask(_SIG_SETMASK, self._mask)
        except TooSlow:
            _sigmask(_SIG_SETMASK, self._mask)
        _setitimer(_ITIMER_REAL, 0)
        _signal(_SIGALRM, self._handler)
        if self._left[0]:
            _setitimer(_ITIMER_REAL, *self._left)


def mute_signals() -> None:
    """From here on no handler of the snippet runs any more, not even while its destructors do."""
    call_at_root(_sigmask, _SIG_BLOCK, _ALL_SIGNALS)


def collect() -> None:
    """Collects cyclic garbage that was made since the start of the run.

    The template's objects are frozen (``gc.freeze``) and not looked at. The oldest generation is left out while it is
    still empty: collecting it empties the interpreter's free lists, which touches some hundred more pages.
    """
    _, middle, old = _get_stats()
    if middle["collections"] == _middle_collections and old["collections"] == _old_collections:
        call_at_root(_collect, 1)
    else:
        call_at_root(_collect)


_middle_collections = _old_collections = -1
_resident = 0


def note_start() -> None:
    """The state of the collector and the memory at the start of a run, for ``collect`` and ``has_grown_by``."""
    global _middle_collections, _old_collections, _resident
    _, middle, old = _get_stats()
    _middle_collections, _old_collections = middle["collections"], old["collections"]
    _resident = _getrusage(_RUSAGE_SELF).ru_maxrss


def has_grown_by(size: int) -> bool:
    """True if this process has at some time of the run held ``size`` bytes more than at its start."""
    return (_getrusage(_RUSAGE_SELF).ru_maxrss - _resident) * 1024 > size
