"""Puts the template's heap on huge pages, once it is complete.

A child shares the template's memory page by page: making it, and above all taking it down at the end of a run, costs
time for each page that is mapped. With 2 MiB pages there are far fewer; the kernel splits one when a child writes to
it. Linux 6.1 can do this on request (MADV_COLLAPSE, madvise(2)), whatever /sys/kernel/mm/transparent_hugepage says
short of "never"; elsewhere nothing happens.
"""

import ctypes

from . import mappings

_MADV_COLLAPSE = 25
_HUGE = 2 << 20


def compact() -> int:
    """Bytes that are on huge pages now by this."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    done = 0
    for start, end in _heap():
        for address in range(-(-start // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
            if madvise(address, _HUGE, _MADV_COLLAPSE) == 0:
                done += _HUGE
    return done


def _heap():
    """Private, writable memory without a file: the heap and what was mapped anonymously."""
    for mapping in mappings.read():
        if mapping.rights.startswith("rw") and mapping.rights.endswith("p") and mapping.name in ("", "[heap]"):
            yield mapping.start, mapping.end
