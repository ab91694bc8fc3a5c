"""Which tools an agent's code declares.

With names of modules, those are imported. Without, every module below the working folder is that mentions the package
``code_sandbox``: to import all that lies there would run scripts that nobody meant to be run.
"""

import importlib
import os
import platform
import sys

FILES_MAX = 5000
SOURCE_BYTES_MAX = 1 << 20
SKIPPED_FOLDERS = {"node_modules", "site-packages", "dist-packages", "tests", "test", "__pycache__"}
SKIPPED_FILES = {"setup.py", "conftest.py"}


def discover(modules, folder):
    """FRAME_CALL_END, as an object. What an import raises goes through."""
    for name in find_modules(folder) if modules is None else modules:
        importlib.import_module(name)
    tools = []
    if "code_sandbox" in sys.modules:
        from code_sandbox import _inside

        tools = _inside.tools()
    return {"tools": tools, "python": platform.python_version(), "implementation": sys.implementation.name}


def find_modules(folder):
    names, seen = [], 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_package_name(place, name))
        for file in sorted(files):
            if not file.endswith(".py") or file in SKIPPED_FILES or file.startswith("test_"):
                continue
            seen += 1
            if seen > FILES_MAX:
                return names
            name = module_name(os.path.relpath(os.path.join(place, file), folder))
            if name and mentions_package(os.path.join(place, file)):
                names.append(name)
    return names


def is_package_name(place, name):
    return name.isidentifier() and name not in SKIPPED_FOLDERS and not os.path.exists(
        os.path.join(place, name, "pyvenv.cfg"))


def module_name(path):
    parts = path[: -len(".py")].split(os.sep)
    if parts[-1] in ("__init__", "__main__"):
        parts.pop() if parts[-1] == "__init__" else parts.clear()
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else ""


def mentions_package(path):
    try:
        with open(path, "rb") as file:
            return b"code_sandbox" in file.read(SOURCE_BYTES_MAX)
    except OSError:
        return False
