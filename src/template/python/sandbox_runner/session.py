"""A session: calls ("cells") that share one interpreter, one after the other.

Each call brings its own standard input, output and error, so that nothing that an earlier call has left behind can be
taken for part of it; late output of an earlier call's threads is dropped (cells.py), unless they write to descriptors
themselves. ``__main__`` stays; what a call has broken for the next is repaired (repair.py). The source of each call has
a file of its own, so that tracebacks and ``inspect.getsource`` show the right lines of functions of earlier calls;
``main.py`` is the present call's, as in a run without a session, for processes that ``multiprocessing`` spawns: such a
process finds functions of the present call only, a forked one all of them.

At the end of a call nothing is joined and nothing torn down. Exit functions (``atexit``) do not run: the end of a
session is that of its process.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import __future__
import collections
import fcntl
import gc
import io
import linecache
import os
import resource
import stat
import weakref

from . import cells, display, ending, frames, last_value, repair, snippet, stdio
from .claim import ClaimLost
from .guard import MODULES, call_at_root

_exit, _open, _close, _dup2, _fstat = os._exit, os.open, os.close, os.dup2, os.fstat
_unlink, _mkdir, _listdir = os.unlink, os.mkdir, os.listdir
_get_objects, _is_regular = gc.get_objects, stat.S_ISREG
_fcntl, _F_GETFL, _O_ACCMODE = fcntl.fcntl, fcntl.F_GETFL, os.O_ACCMODE
_getrlimit, _setrlimit, _FILES = resource.getrlimit, resource.setrlimit, resource.RLIMIT_NOFILE
_LATE_WRITER_SECONDS = 1.0
_SOURCES_MAX = 1000
_SOURCES_BYTES_MAX = 16 << 20
_SPARE_DESCRIPTORS = 8
_SIGINT_STATUS = 130
_ANSWER_MS = 4  # by then the caller of the call before has its answer, which would wait for the processor otherwise

_FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    _FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag


def serve(channel, source: bytes, descriptors: list, script: str, workdir: str):
    """Runs cells until the service hangs up or the process ends. Does not return."""
    try:
        session = _Session(channel, script, workdir)
        while True:
            status = session.run(source, descriptors)
            if not channel.send(frames.CELL_END, status.to_bytes(4, "little", signed=True)):
                break
            channel.wait(_ANSWER_MS)
            session.prepare()
            _, source, descriptors = channel.receive((frames.CELL,))
    except (ClaimLost, OSError):
        pass
    finally:
        _exit(0)


class _Session:
    def __init__(self, channel, script: str, workdir: str):
        self._channel, self._script = channel, script
        self._main = MODULES["__main__"]
        self._state = repair.State(self._main, workdir)
        self._sources = _Sources(os.path.join(os.path.dirname(script), "cells"))
        self._number = 0
        self._flags = 0  # `from __future__ import` of an earlier call holds for the later ones, as at a prompt
        self._descriptors = _getrlimit(_FILES)[0]
        cells.begin_session()

    def run(self, source: bytes, descriptors: list) -> int:
        """Runs one cell and returns its status."""
        self._number += 1
        repair.drop_signals()
        self._spare_descriptors(_SPARE_DESCRIPTORS)
        _take_streams(descriptors, self._number)
        display.begin(self._channel)
        outcome = ending.FAILED
        try:
            outcome = self._run(source)
        finally:
            if not self._channel.is_ours():  # a fork that has come to the end of the cell
                ending.leave(outcome)
        self._spare_descriptors(0)
        self._state.quiet()
        _open_files.flush()
        _leave_streams()
        return _SIGINT_STATUS if outcome.interrupted else outcome.status

    def prepare(self) -> None:
        """What a next call needs in any case."""
        self._state.restore()
        stdio.prepare_input()
        snippet.make_file(self._script)
        snippet.make_file(self._sources.name(self._number + 1))

    def _spare_descriptors(self, count: int) -> None:
        """The last few are kept back from the snippet: a next call brings three, and has to get in."""
        try:
            _setrlimit(_FILES, (self._descriptors - count, _getrlimit(_FILES)[1]))
        except (OSError, ValueError):  # it has lowered the hard limit, for good
            pass

    def _run(self, source: bytes) -> ending.Outcome:
        snippet.write_file(self._script, source)
        name = self._sources.add(self._number, source)
        code, problem = snippet.load(source, name, self._flags)
        value = None
        self._channel.started()
        if code is not None:
            self._flags |= code.co_flags & _FUTURE_FLAGS
            value, problem = snippet.run(code, self._main)
            code = None
        outcome = ending.report(problem)
        problem = None
        if self._channel.is_ours():
            display.show_what_is_left(value, source)
        return outcome


# --- standard streams ---


def _take_streams(descriptors: list, number: int) -> None:
    """Descriptors 0, 1 and 2 are the cell's from here on. The objects are new: whatever was done to the old is past."""
    for fd, descriptor in enumerate(descriptors):
        _dup2(descriptor, fd, inheritable=True)
        if descriptor > 2:
            _close(descriptor)
    cells.change(number)
    stdio.open_cell_output()
    stdio.open_cell_input()


def _leave_streams() -> None:
    """What writes now belongs to nobody. A thread that is in the middle of writing is waited for: it has the pipe."""
    cells.change(0)
    held = cells.switching.acquire(timeout=_LATE_WRITER_SECONDS)
    null = _open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    for fd in (0, 1, 2):
        _dup2(null, fd, inheritable=True)
    if null > 2:
        _close(null)
    if held:
        cells.switching.release()


# --- sources ---


class _Sources:
    """The sources of the last cells, for tracebacks: as files and for ``linecache``."""

    def __init__(self, folder: str):
        self._folder = folder
        self._kept = collections.deque()
        self._bytes = 0
        self._make_folder()

    def _make_folder(self) -> None:
        try:
            _mkdir(self._folder)
        except OSError:
            pass  # it is there already, or the cells have no files

    def name(self, number: int) -> str:
        return f"{self._folder}/cell{number}.py"

    def add(self, number: int, source: bytes) -> str:
        name = self.name(number)
        self._kept.append((name, len(source)))
        self._bytes += len(source)
        while len(self._kept) > _SOURCES_MAX or (self._bytes > _SOURCES_BYTES_MAX and len(self._kept) > 1):
            self._forget(*self._kept.popleft())
        if not snippet.write_file(name, source):  # a cell has emptied the home directory
            self._make_folder()
            snippet.write_file(name, source)
        if type(linecache.cache) is not dict:
            linecache.cache = {}
        snippet.remember_lines(name, source)
        return name

    def _forget(self, name: str, size: int) -> None:
        self._bytes -= size
        linecache.cache.pop(name, None)
        try:
            _unlink(name)
        except OSError:
            pass


# --- files that a snippet has left open ---


class _OpenFiles:
    """What was written to files that are still open is on disk at the end of a call, as at the end of a program.

    Whether there are any is told by the descriptors; only then the objects that write to them are looked for.
    """

    _TYPES = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)

    def __init__(self):
        self._known = set()
        self._files = weakref.WeakSet()

    def flush(self) -> None:
        written = _written_descriptors()
        if written - self._known:
            for thing in _get_objects():
                if type(thing) in self._TYPES:
                    self._files.add(thing)
        self._known = written
        if written:
            call_at_root(self._flush_all)

    def _flush_all(self) -> None:
        for file in list(self._files):
            try:
                if file.closed or file.fileno() <= 2 or not _is_regular(_fstat(file.fileno()).st_mode):
                    self._files.discard(file)  # a pipe may have nobody at its other end
                elif file.writable():
                    file.flush()
            except BaseException:
                self._files.discard(file)


def _written_descriptors() -> set:
    """Regular files that are open for writing: (descriptor, device, inode) of each."""
    found = set()
    try:
        for name in _listdir("/proc/self/fd"):
            fd = int(name)
            try:
                if fd > 2 and _is_regular((status := _fstat(fd)).st_mode) and _fcntl(fd, _F_GETFL) & _O_ACCMODE:
                    found.add((fd, status.st_dev, status.st_ino))
            except OSError:  # the folder's own, which is closed by now
                pass
    except OSError:
        pass
    return found


_open_files = _OpenFiles()
