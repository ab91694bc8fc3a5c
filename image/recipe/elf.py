"""Just enough of the ELF format to learn which shared libraries a file asks for, and to rename one path inside it.

Reading the headers ourselves is quicker than one objdump per file (there are some 600) and, unlike ldd, runs nothing.
"""

import os
import struct

DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 14, 15, 29
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3


class Elf:
    """needed, soname, runpath (list of folders, $ORIGIN already replaced) and interp of a 64-bit little-endian file."""

    def __init__(self, path):
        self.path, self.needed, self.soname, self.runpath, self.interp = path, [], None, [], None
        with open(path, "rb") as file:
            self.data = file.read()
        self._read()

    def _read(self):
        data = self.data
        offset, = struct.unpack_from("<Q", data, 0x20)
        size, count = struct.unpack_from("<HH", data, 0x36)
        headers = [struct.unpack_from("<IIQQQQQQ", data, offset + i * size) for i in range(count)]
        loads = [h for h in headers if h[0] == PT_LOAD]
        for kind, _, where, _, _, length, _, _ in headers:
            if kind == PT_INTERP:
                self.interp = data[where:where + length].rstrip(b"\0").decode()
            elif kind == PT_DYNAMIC:
                self._read_dynamic(loads, where, length)

    def _read_dynamic(self, loads, where, length):
        entries = [e for e in struct.iter_unpack("<qQ", self.data[where:where + length - length % 16])]
        address = next((value for tag, value in entries if tag == DT_STRTAB), None)
        if address is None:
            return
        table = next(h[2] + address - h[3] for h in loads if h[3] <= address < h[3] + h[5])

        def text(value):
            end = self.data.index(b"\0", table + value)
            return self.data[table + value:end].decode()

        origin = os.path.dirname(self.path)
        for tag, value in entries:
            if tag == 0:
                break
            if tag == DT_NEEDED:
                self.needed.append(text(value))
            elif tag == DT_SONAME:
                self.soname = text(value)
            elif tag in (DT_RPATH, DT_RUNPATH):
                expanded = text(value).replace("$ORIGIN", origin).replace("${ORIGIN}", origin)
                self.runpath += [os.path.normpath(folder) for folder in expanded.split(":") if folder]


def is_elf(path):
    """A regular file that starts like a 64-bit little-endian ELF file."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(6) == b"\x7fELF\x02\x01"


def elf_files(root):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if is_elf(path):
                yield path


def replace_path(path, old, new):
    """Put the text `new` where `old` stands as a whole NUL-terminated string; `new` must not be longer."""
    old, new = old.encode() + b"\0", new.encode()
    with open(path, "rb") as file:
        data = file.read()
    if old not in data or len(new) >= len(old):
        return
    with open(path, "r+b") as file:
        file.write(data.replace(old, new.ljust(len(old), b"\0")))
