"""Finds the pages that a typical snippet touches, so that a parked child can have them before it is claimed.

Runs in the template, once. A throwaway child runs typical code and then reads its own /proc/self/pagemap: memory that it
does not share with its parent is what it has copied by writing, and mapped file pages are what it has read. The kernel hands
out such pages in batches (MADV_POPULATE_WRITE and MADV_POPULATE_READ, Linux 5.14) at a fraction of the price of faults that
come one by one while a snippet runs.

Every page in the profile is paid for by each parked sandbox, so looking must not add to what is seen: the list of mappings
is made before the fork, and the child looks with memory that it shares with the template, which does not count.

Format of pagemap: https://docs.kernel.org/admin-guide/mm/pagemap.html
"""

import mmap
import os
import struct
import traceback

PAGE = os.sysconf("SC_PAGE_SIZE")
PRESENT = 1 << 63
FILE_OR_SHARED = 1 << 61
EXCLUSIVE = 1 << 56

RANGE = struct.Struct("=QQQ")  # start, end, write: what _confine.populate takes
RANGES_MAX = 1 << 16
ENTRIES_AT_ONCE = 1 << 13

UNTOUCHED, READ, WRITTEN = 0, 1, 2


class _Table:
    """Ranges in memory that parent and child share."""

    def __init__(self):
        self.memory = mmap.mmap(-1, RANGES_MAX * RANGE.size)
        self.length = mmap.mmap(-1, PAGE)

    def append(self, start: int, end: int, write: bool) -> None:
        count = len(self)
        if count < RANGES_MAX:
            RANGE.pack_into(self.memory, count * RANGE.size, start, end, write)
            self.length[:8] = (count + 1).to_bytes(8, "little")

    def __len__(self) -> int:
        return int.from_bytes(self.length[:8], "little")

    def __getitem__(self, index: int) -> tuple:
        return RANGE.unpack_from(self.memory, index * RANGE.size)

    def packed(self) -> bytes:
        return self.memory[: len(self) * RANGE.size]


def _private_mappings() -> _Table:
    """Every private, readable mapping and whether it may be written; special ones are left out."""
    table = _Table()
    with open("/proc/self/maps") as lines:
        for line in lines:
            fields = line.split(maxsplit=5)
            name = fields[5].strip() if len(fields) > 5 else ""
            if name.startswith(("[v", "[uprobes")) or "p" not in fields[1] or "r" not in fields[1]:
                continue
            start, end = (int(part, 16) for part in fields[0].split("-"))
            table.append(start, end, "w" in fields[1])
    return table


class _Scanner:
    """Goes through pagemap and merges neighbouring pages of one kind. Made before the fork, used after it."""

    def __init__(self):
        self._mappings = _private_mappings()
        self._buffer = memoryview(mmap.mmap(-1, ENTRIES_AT_ONCE * 8))
        self._entries = self._buffer.cast("Q")
        self.found = _Table()

    def scan(self) -> None:
        pagemap = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        for index in range(len(self._mappings)):
            start, end, writable = self._mappings[index]
            self._scan_mapping(pagemap, start, end, WRITTEN if writable else READ)
        os.close(pagemap)

    def _scan_mapping(self, pagemap: int, start: int, end: int, if_exclusive: int) -> None:
        entries = self._entries
        kind, since, at = UNTOUCHED, start, start
        while at < end:
            count = min(ENTRIES_AT_ONCE, (end - at) // PAGE)
            os.preadv(pagemap, (self._buffer[: count * 8],), at // PAGE * 8)
            for index in range(count):
                entry = entries[index]
                if not entry & PRESENT:
                    now = UNTOUCHED
                elif entry & FILE_OR_SHARED:
                    now = READ
                else:
                    now = if_exclusive if entry & EXCLUSIVE else UNTOUCHED
                if now != kind:
                    self._end_range(since, at + index * PAGE, kind)
                    kind, since = now, at + index * PAGE
            at += count * PAGE
        self._end_range(since, end, kind)

    def _end_range(self, start: int, end: int, kind: int) -> None:
        if kind != UNTOUCHED:
            self.found.append(start, end, kind == WRITTEN)


def _child(scanner: _Scanner, park, workloads) -> None:
    try:
        log = os.dup(2)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        park()
        for workload in workloads:
            workload()
        scanner.scan()
        os._exit(0)
    except BaseException:
        os.write(log, b"the profile of hot pages failed; sandboxes work, but slower:\n" + traceback.format_exc().encode())
    finally:
        os._exit(1)


def profile(park, workloads) -> bytes:
    """Packed ranges of the pages that ``park`` and the workloads touch in a forked child; empty if it fails."""
    scanner = _Scanner()
    pid = os.fork()
    if pid == 0:
        _child(scanner, park, workloads)
    _, status = os.waitpid(pid, 0)
    return scanner.found.packed() if status == 0 else b""
