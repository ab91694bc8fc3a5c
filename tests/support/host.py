"""The view from the host: processes, namespaces, cgroups and mounts of one service, read from /proc and /sys.

Everything here runs as root outside every sandbox. A sandbox is recognised by its host UID: each service that the tests
start has a UID range of its own, so that services of other people on the same machine are never touched or counted.
"""
import os
import time
from dataclasses import dataclass
from pathlib import Path

NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")
UIDS_PER_SERVICE = 65538


def read_status(path):
    lines = path.read_text(errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@dataclass(frozen=True)
class Process:
    """One process, as the host sees it. Properties read /proc anew each time and raise OSError once it is gone."""

    pid: int

    @property
    def proc(self):
        return Path("/proc", str(self.pid))

    @property
    def status(self):
        return read_status(self.proc / "status")

    @property
    def threads(self):
        """The status of each thread, the first one included, by its name."""
        found = [read_status(task / "status") for task in (self.proc / "task").iterdir()]
        return {status["Name"]: status for status in found}

    @property
    def uids(self):
        return [int(uid) for uid in self.status["Uid"].split()]

    @property
    def gids(self):
        return [int(gid) for gid in self.status["Gid"].split()]

    @property
    def parent(self):
        return int(self.status["PPid"])

    @property
    def inner_pids(self):
        """PIDs from the outermost PID namespace to the innermost."""
        return [int(pid) for pid in self.status["NSpid"].split()]

    @property
    def name(self):
        return self.status["Name"]

    @property
    def program(self):
        return os.readlink(self.proc / "exe")

    @property
    def alive(self):
        try:
            return self.status["State"][0] not in "ZX"
        except (OSError, KeyError):
            return False

    def namespace(self, kind):
        return os.readlink(self.proc / "ns" / kind)

    @property
    def resident_bytes(self):
        return int(self.status["VmRSS"].split()[0]) * 1024

    @property
    def descriptors(self):
        found = {}
        for fd in os.listdir(self.proc / "fd"):
            try:
                found[int(fd)] = os.readlink(self.proc / "fd" / fd)
            except OSError:  # closed in between
                continue
        return found

    @property
    def cgroups(self):
        """{controller: folder} for the limits that matter; one folder under all names on the unified hierarchy."""
        found = {}
        for line in (self.proc / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                base = Path("/sys/fs/cgroup")
                if not (base / "cgroup.controllers").exists():
                    base = base / "unified"
                if "memory" in (base / "cgroup.controllers").read_text().split():
                    for name in ("memory", "pids", "cpu"):
                        found.setdefault(name, base / path.lstrip("/"))
            else:
                for name in controllers.split(","):
                    if name in ("memory", "pids", "cpu"):
                        found[name] = Path("/sys/fs/cgroup") / controllers / path.lstrip("/")
        return found


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def processes_of(uid_first, count=UIDS_PER_SERVICE):
    """Every process, zombies left out, whose real or effective UID lies in the range."""
    found = []
    for pid in all_pids():
        process = Process(pid)
        try:
            status = process.status
            uids = [int(uid) for uid in status["Uid"].split()]
        except (OSError, KeyError, ValueError):
            continue
        if any(uid_first <= uid < uid_first + count for uid in uids) and status["State"][0] not in "ZX":
            found.append(process)
    return found


def children_of(pid):
    """Direct children of a process, in the order of their PIDs."""
    found = []
    for candidate in all_pids():
        try:
            if Process(candidate).parent == pid:
                found.append(Process(candidate))
        except (OSError, KeyError, ValueError):
            continue
    return found


def descendants_of(pid):
    found, queue = [], [pid]
    while queue:
        for child in children_of(queue.pop()):
            found.append(child)
            queue.append(child.pid)
    return found


def mounts_of(pid):
    try:
        return Path("/proc", str(pid), "mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return []


def cgroup_folders(root):
    """All cgroup folders below one, by path."""
    found = []
    for folder, names, _ in os.walk(root):
        found += [os.path.join(folder, name) for name in names]
    return sorted(found)


def wait_until(condition, seconds=5.0, step=0.02):
    """Polls until the condition gives something true, and returns that; the last value when time is over."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)
