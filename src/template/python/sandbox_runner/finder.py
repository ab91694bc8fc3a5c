"""Imports of modules that the snippet has written a moment ago.

The interpreter's finder keeps a listing of each folder and reads it anew when the folder's time stamp has changed. Two
writes within one tick of the file system's clock (4 ms) look like one, so a module may be there and not be found. In
writable folders this finder trusts no listing; in the image, where nothing changes, it is the interpreter's own.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import sys
from importlib import _bootstrap_external as bootstrap
from importlib.machinery import FileFinder

_IMAGE = tuple({prefix.rstrip("/") + "/" for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)})


class _FreshFinder(FileFinder):
    def find_spec(self, fullname, target=None):
        self._path_mtime = -1
        return super().find_spec(fullname, target)


_FreshFinder.__name__ = _FreshFinder.__qualname__ = "FileFinder"
_FreshFinder.__module__ = FileFinder.__module__


def install() -> None:
    """Puts the finder in the place of the interpreter's own, which goes on serving the image."""
    loaders = bootstrap._get_supported_file_loaders()
    standard = FileFinder.path_hook(*loaders)
    fresh = _FreshFinder.path_hook(*loaders)

    def path_hook_for_FileFinder(path):
        return (standard if path.startswith(_IMAGE) else fresh)(path)

    for index, hook in enumerate(sys.path_hooks):
        if getattr(hook, "__name__", "") == "path_hook_for_FileFinder":
            sys.path_hooks[index] = path_hook_for_FileFinder
    forget_folders()


def forget_folders() -> None:
    """Drops what was learned about folders outside the image."""
    for path in [path for path in sys.path_importer_cache if not path.startswith(_IMAGE)]:
        del sys.path_importer_cache[path]
