"""The libraries: installed from wheels whose hashes are pinned, then pruned of what a snippet never needs."""

import os
import shutil
import subprocess

from . import interpreter as python
from . import settings


def install(interpreter, cache, lock, target):
    """pip install of the lock file into target. Only wheels: nothing of a package runs on the build machine."""
    command = [
        *python.pip_command(interpreter, cache), "install", "--require-hashes", "--only-binary=:all:", "--no-compile",
        "--no-deps", "--no-warn-script-location", "--disable-pip-version-check", "--root-user-action=ignore",
        "--progress-bar=off", "--quiet", "--cache-dir", os.path.join(cache, "pip"), "--target", target,
        "--requirement", lock,
    ]
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("PYTHON") and k not in ("PIP_TARGET", "PIP_USER", "PIP_PREFIX", "PIP_CONSTRAINT")}
    done = subprocess.run(command, env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise python.InterpreterError(f"pip could not install the libraries:\n{done.stdout}")


def _kept(path):
    return any(path == keep or path.startswith(keep + "/") for keep in settings.WHEELS_KEEP)


def prune(site):
    """Remove test suites, headers, type stubs and installer records."""
    for path in settings.WHEELS_DROP_PATHS:
        shutil.rmtree(os.path.join(site, path), ignore_errors=True)
    for folder, folders, names in os.walk(site):
        here = os.path.relpath(folder, site)
        for name in list(folders):
            path = os.path.normpath(os.path.join(here, name))
            if name in settings.WHEELS_DROP_FOLDERS and not _kept(path):
                shutil.rmtree(os.path.join(folder, name))
                folders.remove(name)
        for name in names:
            # RECORD would list files that are gone; pip is not there to read it.
            record = here.endswith(".dist-info") and name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
            if record or name.endswith((*settings.WHEELS_DROP_SUFFIXES, ".pth", ".pyc")):
                os.unlink(os.path.join(folder, name))


def versions(site):
    """Name → version of everything installed, from the packages' own metadata."""
    found = {}
    for entry in sorted(os.listdir(site)):
        if entry.endswith(".dist-info"):
            with open(os.path.join(site, entry, "METADATA"), encoding="utf-8") as file:
                header = dict(line.rstrip("\n").split(": ", 1) for line in file.read().split("\n\n", 1)[0].splitlines()
                              if line.startswith(("Name: ", "Version: ")))
            found[header["Name"].lower().replace("_", "-")] = header["Version"]
    return found
