"""Lets libraries be imported in a place where nothing can be written, for use in a place where something can.

In the template there is no home folder to write to, no shared memory and nobody to warn; in the sandbox there is. Some
libraries look at their surroundings when they are imported and remember what they saw. This module shows them what the
sandbox will have.
"""

import importlib.util
import os
import shutil
import sys
import tempfile
import warnings

FONT_LISTS = "/usr/local/share/matplotlib"  # made with the image: fontlist-v*.json, read-only

_font_lists = []


class prepared_place:
    """While libraries are imported: matplotlib finds its font list, joblib finds semaphores, no warning is shown.

    Afterwards the environment is what it was before.
    """

    def __enter__(self):
        self._environment = dict(os.environ)
        self._showwarning = warnings.showwarning
        warnings.showwarning = lambda *_, **__: None
        self._enter_matplotlib()
        import multiprocessing.synchronize  # noqa: F401  before the next line, for it needs the real thing

        self._enter_semaphores()

    def __exit__(self, *_):
        self._leave_semaphores()
        self._leave_matplotlib()
        warnings.showwarning = self._showwarning
        for name in set(os.environ) - set(self._environment):
            del os.environ[name]
        os.environ.update(self._environment)

    # matplotlib insists on a folder that it can write to, and keeps its name for good.

    def _enter_matplotlib(self) -> None:
        self._access = os.access
        self._made_folder = None
        if os.path.isdir(FONT_LISTS):
            folder = FONT_LISTS
            _font_lists[:] = [os.path.join(FONT_LISTS, name) for name in sorted(os.listdir(FONT_LISTS))]
            os.access = lambda path, mode, **how: str(path) == FONT_LISTS or self._access(path, mode, **how)
        else:
            folder = self._made_folder = tempfile.mkdtemp()
        os.environ["MPLCONFIGDIR"] = folder

    def _leave_matplotlib(self) -> None:
        os.access = self._access
        matplotlib = sys.modules.get("matplotlib")
        if matplotlib is not None:
            for function in (matplotlib.get_configdir, matplotlib.get_cachedir):
                _forget_result(function)
        style = sys.modules.get("matplotlib.style")
        if style is not None and "MPLCONFIGDIR" in self._environment:
            style.USER_LIBRARY_PATHS[:] = [os.path.join(self._environment["MPLCONFIGDIR"], "stylelib")]
        if self._made_folder:
            shutil.rmtree(self._made_folder, ignore_errors=True)

    # joblib tries a semaphore when it is imported, and works serially ever after if it cannot have one.

    def _enter_semaphores(self) -> None:
        import _multiprocessing

        found = importlib.util.find_spec("joblib")
        if found is None:
            return
        name = "joblib._multiprocessing_helpers"
        path = os.path.join(found.submodule_search_locations[0], "_multiprocessing_helpers.py")
        spec = importlib.util.spec_from_file_location(name, path)
        helpers = importlib.util.module_from_spec(spec)
        real = _multiprocessing.SemLock
        _multiprocessing.SemLock = lambda *_, **__: None
        try:
            spec.loader.exec_module(helpers)
        finally:
            _multiprocessing.SemLock = real
        sys.modules[name] = helpers

    def _leave_semaphores(self) -> None:
        joblib = sys.modules.get("joblib")
        if joblib is not None:
            joblib._multiprocessing_helpers = sys.modules["joblib._multiprocessing_helpers"]


def _forget_result(function) -> None:
    """Makes one of matplotlib's memoizing functions (_logged_cached) ask again, for it answers for the template."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name in ("called", "ret"):
            cell.cell_contents = False if name == "called" else None


def give_font_list() -> None:
    """In the sandbox: lets other Python processes of the snippet find the font list, which takes seconds to make."""
    folder = os.environ.get("MPLCONFIGDIR")
    if not folder or not _font_lists:
        return
    try:
        os.makedirs(folder, exist_ok=True)
        for path in _font_lists:
            os.symlink(path, os.path.join(folder, os.path.basename(path)))
    except OSError:
        pass  # they make it themselves
