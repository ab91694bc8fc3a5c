"""Which call of a session a thread belongs to, so that nothing of an earlier call appears in a later one.

A thread belongs to the call that started it, and whatever such a thread starts belongs there too: a timer that sets
itself again stays where it was. Work that is given to a pool belongs to the call that gave it, however old the threads
of the pool are; so does what is handed to an event loop in another thread. The main thread belongs to the call that is
on. A context variable carries the number, because pools of ``asyncio`` hand contexts on by themselves.

In a run without a session there is nothing to tell apart, and nothing here is in use.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import _thread
import contextvars
import multiprocessing.pool
import os
import threading
from concurrent.futures import thread as futures_thread

_get_ident, _start_thread, _RLock = _thread.get_ident, _thread.start_new_thread, _thread.RLock
_Context = contextvars.Context

_mark = contextvars.ContextVar("call")
_now = None  # the call that is on; 0: none; None: this is no session
_main = 0
_calls = {}  # by the number of the thread; numbers come again
switching = _RLock()  # held by a thread that writes for the present call


def begin_session() -> None:
    """From here on threads are marked. To be called once, in the main thread."""
    global _now, _main
    _now, _main = 0, _get_ident()
    _thread.start_new_thread = _thread.start_new = threading._start_new_thread = start_new_thread
    futures_thread._WorkItem = _WorkItem
    for name in ("apply_async", "imap", "imap_unordered", "_map_async"):
        setattr(multiprocessing.pool.ThreadPool, name, _handing_in(name))
    os.register_at_fork(after_in_child=_forget_holder)


def change(number: int) -> None:
    """Another call is on, or none (0)."""
    global _now
    _now = number
    if number:
        _mark.set(number)


def now():
    return _now


def in_main_thread() -> bool:
    return _get_ident() == _main


def is_late() -> bool:
    """True in a thread of an earlier call. What no call has started, as a library's, belongs to the present one."""
    if _now is None or _get_ident() == _main:
        return False
    return _now == 0 or _call_of_thread() != _now


def _call_of_thread():
    # The context is not there yet or any more when the interpreter itself speaks for a thread, of its failure say.
    call = _mark.get(None)
    return _calls.get(_get_ident(), _now) if call is None else call


def _forget_holder() -> None:
    """In a forked child nobody will give back what another thread held."""
    global switching
    switching = _RLock()


def start_new_thread(function, args, kwargs=None, /):
    """Starts a new thread and returns its identifier."""
    rest = () if kwargs is None else (kwargs,)
    if not callable(function) or not isinstance(args, tuple) or not isinstance(kwargs, (dict, type(None))):
        return _start_thread(function, args, *rest)  # its own words
    context = _Context()  # empty, as that of every thread
    call = _call_of_thread()
    context.run(_mark.set, call)
    number = _start_thread(context.run, (function, *args), *rest)
    _calls[number] = call
    return number


class _WorkItem(futures_thread._WorkItem):
    def __init__(self, future, fn, args, kwargs):
        super().__init__(future, fn, args, kwargs)
        self._call = _call_of_thread()

    def run(self):
        token = _mark.set(self._call)
        try:
            super().run()
        finally:
            _mark.reset(token)


def _handing_in(name: str):
    """A method of ThreadPool whose function will run as part of the present call."""
    original = getattr(multiprocessing.pool.Pool, name)

    def method(self, func, *args, **kwargs):
        return original(self, _Marked(func, _call_of_thread()), *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"ThreadPool.{name}", original.__doc__
    return method


class _Marked:
    def __init__(self, function, call):
        self._function, self._call = function, call

    def __call__(self, *args, **kwargs):
        token = _mark.set(self._call)
        try:
            return self._function(*args, **kwargs)
        finally:
            _mark.reset(token)
