"""Joins the pieces in which the template's libraries are mapped.

The linker puts what is code, what is constant and what is written once into pieces of their own, with the rights that
each needs: five for a library, and the stack loads three hundred. Making a child, its end, and taking its memory down
each go through all of them, with the caller waiting for the first two. Pieces that lie side by side in the file become
one mapping when their rights are the same (mprotect(2)), so they get the same: constants can be executed, as they could
before linkers had ``-z separate-code``, and what was written once (``-z relro``) can be written again.

This takes nothing from the sandbox. Both rights are there to hinder somebody who can make a program write where it
should not; whoever sends a snippet has the whole process to begin with, and may call mprotect(2) too. No page gets to
be writable and executable.
"""

import ctypes

_READ, _WRITE, _EXECUTE = 1, 2, 4


class _Mapping:
    """One line of /proc/PID/maps; see proc_pid_maps(5)."""

    def __init__(self, line: str):
        addresses, self.rights, offset, device, inode, *name = line.split(maxsplit=5)
        self.name = name[0].strip() if name else ""
        self.start, self.end = (int(part, 16) for part in addresses.split("-"))
        self.offset, self.file = int(offset, 16), (device, inode)

    def is_followed_by(self, other) -> bool:
        """In memory and in the file."""
        return (
            other.start == self.end
            and other.file == self.file
            and other.offset == self.offset + self.end - self.start
        )


def join() -> int:
    """Returns how many pieces were given the rights of a neighbour."""
    mprotect = ctypes.CDLL(None).mprotect
    mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return sum(mprotect(piece.start, piece.end - piece.start, rights) == 0 for piece, rights in _to_join(read()))


def read() -> list:
    """All mappings of this process."""
    with open("/proc/self/maps") as lines:
        return [_Mapping(line) for line in lines]


def _to_join(pieces: list):
    """(mapping, its new rights) for every constant piece of a file from which there is code as well."""
    with_code = {piece.file for piece in pieces if piece.rights == "r-xp" and piece.file[1] != "0"}
    for piece, after in zip(pieces, pieces[1:] + pieces[:1]):
        if piece.rights != "r--p" or piece.file not in with_code:
            continue
        written_once = piece.is_followed_by(after) and after.rights == "rw-p"
        yield piece, _READ | (_WRITE if written_once else _EXECUTE)
