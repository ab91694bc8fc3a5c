"""What sandboxes cost the host: memory that belongs to one alone, and CPU time for making one."""
import os
from pathlib import Path

PAGE_TABLES = "VmPTE"


def _rollup_kib(pid, name):
    for line in Path("/proc", str(pid), "smaps_rollup").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise KeyError(name)


def private_bytes(room):
    """Written pages that no other process shares, and page tables, of all processes of a room."""
    total = 0
    for process in room:
        total += _rollup_kib(process.pid, "Private_Dirty") * 1024
        total += int(process.status[PAGE_TABLES].split()[0]) * 1024
    return total


def proportional_bytes(room):
    return sum(_rollup_kib(process.pid, "Pss") * 1024 for process in room)


def cgroup_memory_bytes(process):
    folder = process.cgroups["memory"]
    for name in ("memory.current", "memory.usage_in_bytes"):
        if (folder / name).exists():
            return int((folder / name).read_text())
    raise FileNotFoundError(folder)


def _cpu_folder(process):
    for line in (process.proc / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            for base in (controllers, "cpuacct"):
                folder = Path("/sys/fs/cgroup", base, path.lstrip("/"))
                if folder.exists():
                    return folder
    return process.cgroups["cpu"]


def cgroup_cpu_ms(process):
    """CPU time that the cgroup of this process has used since it was made."""
    folder = _cpu_folder(process)
    if (folder / "cpuacct.usage").exists():
        return int((folder / "cpuacct.usage").read_text()) / 1e6
    for line in (folder / "cpu.stat").read_text().splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e3
    raise FileNotFoundError(folder)


def process_cpu_ms(pid):
    """Of one process alone; in ns resolution where the kernel has it."""
    try:
        return int(Path("/proc", str(pid), "schedstat").read_text().split()[0]) / 1e6
    except (OSError, IndexError):
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def main_process(room):
    """The parked interpreter, not the room's init."""
    return next(process for process in room if process.inner_pids[-1] != 1)
