"""Shared libraries: copy from the build machine whatever the image's files ask for, and nothing more."""

import os
import re
import shutil
import subprocess

from . import base, elf, settings, sources


def _machine_libraries():
    """soname → path, from the build machine's loader cache; only the native 64-bit ones."""
    out = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    known = {}
    for name, flags, path in re.findall(r"^\s+(\S+) \(([^)]*)\) => (\S+)$", out, re.M):
        if re.search(r"x86-64|AArch64", flags):
            known.setdefault(name, path)
    return known


def _image_path(path):
    """/lib/x and /usr/lib/x are one folder on merged systems; the image has only the latter."""
    return re.sub(r"^/(lib|lib64|bin)/", r"/usr/\1/", os.path.normpath(path))


class _Closure:
    def __init__(self, root):
        self.root, self.machine, self.copied = root, _machine_libraries(), {}
        self.folders = [os.path.join(root, settings.PREFIX, "lib")]

    def _inside(self, file, name):
        """Is the library already in the image, where the loader will find it for this file?"""
        if "/" in name:
            return os.path.exists(name.replace("$ORIGIN", os.path.dirname(file.path)))
        own = [f for f in file.runpath if f.startswith(self.root)]
        return any(os.path.exists(os.path.join(folder, name)) for folder in [*own, *self.folders])

    def fetch(self, name):
        """Copy one library from the machine; False if the machine has none of that name."""
        if name in self.copied:
            return True
        if name not in self.machine:
            return False
        target = _image_path(self.machine[name])
        self.copied[name] = target
        if not os.path.exists(self.root + target):
            sources.copy(os.path.realpath(self.machine[name]), self.root + target, 0o755)
        self.follow(self.root + target)
        return True

    def loader(self, path):
        """The dynamic loader, at the one path that is written into every program."""
        target = self.root + _image_path(path)
        if not os.path.exists(target):
            sources.copy(os.path.realpath(path), target, 0o755)

    def follow(self, path):
        """Everything that this file needs; returns the names that could not be had."""
        file = elf.Elf(path)
        if file.interp:
            self.loader(file.interp)
        missing = []
        for name in file.needed:
            if not name.startswith("ld-linux") and not self._inside(file, name) and not self.fetch(name):
                missing.append(name)
        return missing


def complete(root, site):
    """Close the image under DT_NEEDED. Extension modules of the standard library that lack a library are removed.

    Returns (libraries copied, modules removed).
    """
    closure, removed = _Closure(root), []
    for path in list(elf.elf_files(root)):
        missing = closure.follow(path)
        if not missing:
            continue
        if "/lib-dynload/" not in path:
            raise base.BaseError(f"{os.path.relpath(path, root)} needs {', '.join(missing)}, which this machine lacks")
        os.unlink(path)
        removed.append(f"{os.path.basename(path).split('.')[0]} ({', '.join(missing)})")
    for name in settings.LIBRARIES_BY_NAME:
        if not closure.fetch(name):
            raise base.BaseError(f"{name} is missing on this machine. Run: apt-get install libgcc-s1")
    _write_loader_cache(root, closure)
    return sorted(closure.copied), removed


def _write_loader_cache(root, closure):
    folders = ["/usr/local/lib", *sorted({os.path.dirname(path) for path in closure.copied.values()})]
    with open(os.path.join(root, "etc/ld.so.conf"), "w", encoding="ascii") as file:
        file.write("".join(folder + "\n" for folder in folders))
    subprocess.run(["/sbin/ldconfig", "-r", root], check=True)
    shutil.rmtree(os.path.join(root, "var"), ignore_errors=True)  # ldconfig's auxiliary cache, of no use here
