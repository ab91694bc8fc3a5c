"""What this machine's kernel has. A test that needs more is skipped, and the summary of the run says so."""
import ctypes
import os
import platform
from pathlib import Path

import pytest


def landlock_version():
    """The Landlock ABI of the kernel; 0 if it has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(444, None, 0, 1)
    return max(version, 0)


def unified_cgroups():
    return Path("/sys/fs/cgroup/cgroup.controllers").exists()


def need(present, what):
    if not present:
        pytest.skip(f"this kernel has no {what}")


def need_x86_64():
    need(platform.machine() == "x86_64", "x86-64 system call numbers")


def need_root():
    if os.geteuid() != 0:
        pytest.skip("the service is started as root only")
