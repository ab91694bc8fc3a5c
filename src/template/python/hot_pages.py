"""Finds the pages that a typical snippet touches, so that a parked child can have them before it is claimed.

Runs in the template, once. A throwaway child runs typical code and then reads its own /proc/self/pagemap: memory that it
does not share with its parent is what it has copied by writing, and mapped file pages are what it has read. The kernel hands
out such pages in batches (MADV_POPULATE_WRITE and MADV_POPULATE_READ, Linux 5.14) at a fraction of the price of faults that
come one by one while a snippet runs.

Format of pagemap: https://docs.kernel.org/admin-guide/mm/pagemap.html
"""

import os
import struct

PAGE = os.sysconf("SC_PAGE_SIZE")
PRESENT = 1 << 63
FILE_OR_SHARED = 1 << 61
EXCLUSIVE = 1 << 56

RANGE = struct.Struct("=QQQ")  # start, end, write: what _confine.populate takes


def _mappings():
    """(start, end, may be written) of every private mapping; special ones are left out."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            fields = line.split(maxsplit=5)
            name = fields[5].strip() if len(fields) > 5 else ""
            if name.startswith(("[v", "[uprobes")) or "p" not in fields[1] or "r" not in fields[1]:
                continue
            start, end = (int(part, 16) for part in fields[0].split("-"))
            yield start, end, "w" in fields[1]


def _touched(entry: int) -> str:
    if not entry & PRESENT:
        return ""
    if entry & FILE_OR_SHARED:
        return "r"
    return "w" if entry & EXCLUSIVE else ""


def _ranges():
    """Merged runs of touched pages."""
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for start, end, writable in _mappings():
            count = (end - start) // PAGE
            entries = struct.unpack(f"={count}Q", os.pread(pagemap.fileno(), count * 8, start // PAGE * 8))
            run, kind = 0, ""
            for index in range(count + 1):
                now = _touched(entries[index]) if index < count else ""
                if now == "w" and not writable:
                    now = "r"
                if now == kind:
                    continue
                if kind:
                    yield start + run * PAGE, start + index * PAGE, kind == "w"
                run, kind = index, now


def _child(park, workloads, write_fd: int) -> None:
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        park()
        for workload in workloads:
            workload()
        found = b"".join(RANGE.pack(start, end, write) for start, end, write in _ranges())
        view = memoryview(found)
        while view:
            view = view[os.write(write_fd, view) :]
        os._exit(0)
    finally:
        os._exit(1)


def profile(park, workloads) -> bytes:
    """Packed ranges of the pages that ``park`` and the workloads touch in a forked child; empty if it fails."""
    read_fd, write_fd = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        _child(park, workloads, write_fd)
    os.close(write_fd)
    parts = []
    while part := os.read(read_fd, 1 << 20):
        parts.append(part)
    os.close(read_fd)
    _, status = os.waitpid(pid, 0)
    return b"".join(parts) if status == 0 else b""
