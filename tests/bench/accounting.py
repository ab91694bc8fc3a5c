"""What sandboxes cost the host: memory that belongs to one alone, and CPU time for making one."""
import ctypes
import os
import platform
from pathlib import Path

PAGE_TABLES = "VmPTE"
KCMP_VM = 1
KCMP_CALL = {"x86_64": 312, "aarch64": 272}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)


def _rollup_kib(pid, name):
    for line in Path("/proc", str(pid), "smaps_rollup").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    raise KeyError(name)


def share_memory(first, second):
    """True for two processes with one memory, which is to be counted once; kcmp(2)."""
    order = libc.syscall(KCMP_CALL, first, second, KCMP_VM, 0, 0)
    if order < 0:
        raise OSError(ctypes.get_errno(), "kcmp")
    return order == 0


def one_for_each_memory(room):
    chosen = []
    for process in room:
        if not any(share_memory(process.pid, other.pid) for other in chosen):
            chosen.append(process)
    return chosen


def private_bytes(room):
    """Written pages that no other process shares, and page tables, of all processes of a room."""
    total = 0
    for process in one_for_each_memory(room):
        total += _rollup_kib(process.pid, "Private_Dirty") * 1024
        total += int(process.status[PAGE_TABLES].split()[0]) * 1024
    return total


def proportional_bytes(room):
    return sum(_rollup_kib(process.pid, "Pss") * 1024 for process in one_for_each_memory(room))


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
    """The parked interpreter, the first process after the room's init."""
    return min((process for process in room if process.inner_pids[-1] != 1), key=lambda process: process.inner_pids[-1])
