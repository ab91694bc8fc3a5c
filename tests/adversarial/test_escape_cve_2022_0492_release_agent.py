"""CVE-2022-0492: a writable cgroup v1 folder lets its owner name a program that the kernel then starts as root. Inside
there is no cgroup file system, none can be mounted, and no folder of one is known by name."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS


def test_no_cgroup_files(service):
    reply = service.run("""
        import os
        found = []
        for base in ("/", "/mnt", "/tmp", "/dev", "/home", "/opt", "/run", "/var"):
            for folder, folders, files in os.walk(base):
                folders[:] = [name for name in folders if not os.path.join(folder, name).startswith(("/proc", "/usr"))]
                found += [name for name in files if name in ("release_agent", "cgroup.procs", "notify_on_release", "tasks", "devices.allow")]
        print(found, os.path.exists("/sys/fs/cgroup"))
        """)
    assert reply.stdout == "[] False\n"


def test_none_can_be_mounted(service):
    features.need_x86_64()
    attempts = {kind: (NUMBERS["mount"], "b'none'", "b'/mnt'", f"b'{kind}'", 0, "b'memory'" if kind == "cgroup" else 0)
                for kind in ("cgroup", "cgroup2")}
    assert service.execute(syscalls.attempt(attempts)).printed == {"cgroup": "EPERM", "cgroup2": "EPERM"}
    assert "ok" in json.loads(unconfined.run(syscalls.attempt(attempts))).values(), "the control"


def test_the_limits_cannot_be_loosened_from_inside(service):
    with service.hold("""
        import resource
        for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_NPROC):
            soft, hard = resource.getrlimit(limit)
            if hard == resource.RLIM_INFINITY:
                continue
            try:
                resource.setrlimit(limit, (soft, hard + 1))
                print("raised", limit)
            except (ValueError, OSError):
                print("kept", limit)
        """) as run:
        assert (run.process.cgroups["pids"] / "pids.max").read_text().strip() == "128"
        printed = run.release().stdout
    assert "kept" in printed and "raised" not in printed
