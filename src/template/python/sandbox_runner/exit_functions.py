"""Whether the exit functions of the template's own libraries have anything to do for a run.

They end pools of processes, flush log files, remove temporary files, close figures. Running all of them takes a caller
a fifth of a millisecond, mostly to find that there is nothing to do. So their libraries' lists of things to do are
looked at instead, and they run as soon as one of those is not what it was; as they do when the run has registered a
function of its own. Where a library is not the one that was looked into here, they always run.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import _thread
import atexit
import operator
import threading

from .guard import MODULES

# Of each exit function: its module, its name, and where in its module the list is of what it has to do.
REGISTERED = (
    ("multiprocessing.util", "_exit_function", "_finalizer_registry"),
    ("logging", "shutdown", "_handlerList"),
    ("PIL._imaging", "clear_cache", None),  # gives memory back, as the end of the process does
    ("openpyxl.worksheet._writer", "_openpyxl_shutdown", "ALL_TEMP_FILES"),
    ("matplotlib._pylab_helpers", "Gcf.destroy_all", "Gcf.figs"),
)
OF_THREADING = (
    ("concurrent.futures.thread", "_python_exit", "_threads_queues"),
    ("concurrent.futures.process", "_python_exit", "_threads_wakeups"),
)
_CHILDREN = ("multiprocessing.process", "", "_children")  # also ended by _exit_function

_count, _threads = atexit._ncallbacks, _thread._count
_threading, _shutdown = threading, threading._shutdown
_lists = []  # (what an exit function goes through, what was in it at the end of the template)
_registered = []  # what was registered with `threading` then; `atexit` tells no more than how many


def know() -> None:
    """Looks at the template's; without it, and if they are others than those above, they always run."""
    _lists.clear()
    if _count() != len(REGISTERED) or [_place(function) for function in threading._threading_atexits] != [
        (module, name) for module, name, _ in OF_THREADING
    ]:
        return
    _registered[:] = threading._threading_atexits
    for module, _, path in (*REGISTERED, *OF_THREADING, _CHILDREN):
        if path is not None:
            things = operator.attrgetter(path)(MODULES[module])
            _lists.append((things, list(things)))


def _place(function) -> tuple:
    function = getattr(function, "func", function)  # of a functools.partial
    return function.__module__, function.__qualname__


def are_idle() -> bool:
    """True if no thread of this process is left and no exit function has anything to do."""
    return (
        len(_lists) > 0
        and _threads() == 0
        and _count() == len(REGISTERED)
        and MODULES.get("threading") is _threading
        and _threading._shutdown is _shutdown
        and _threading._threading_atexits == _registered
        and all(list(things) == known for things, known in _lists)
    )
