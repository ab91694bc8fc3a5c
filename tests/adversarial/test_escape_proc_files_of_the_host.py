"""Files of /proc that speak for the whole machine: sysctls, sysrq, kernel memory, the crash handler."""
import os


def test_there_are_none(service):
    reply = service.run("""
        import os
        names = ["sys", "sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hotplug", "sys/vm/drop_caches", "sys/fs/binfmt_misc",
                 "sysrq-trigger", "kcore", "kmsg", "kallsyms", "keys", "key-users", "timer_list", "sched_debug", "scsi", "acpi", "bus", "irq",
                 "fs", "driver", "mem", "iomem", "ioports", "meminfo", "cpuinfo", "cmdline", "config.gz", "partitions",
                 "swaps", "version", "uptime", "loadavg", "stat", "interrupts", "latency_stats", "pressure", "sysvipc", "modules"]
        found = [name for name in names if os.path.exists("/proc/" + name)]
        print(found)
        print([name for name in os.listdir("/proc") if not name.isdigit()])
        """)
    first, second = reply.stdout.splitlines()
    assert first == "[]"
    assert set(eval(second)) <= {"self", "thread-self"}


def test_control_the_host_has_them():
    assert all(os.path.exists("/proc/" + name) for name in ("sys/kernel/core_pattern", "meminfo", "cmdline", "kallsyms"))


def test_they_cannot_be_made_or_bound_into_place(service):
    reply = service.run("""
        import errno, os
        for path in ("/proc/sys", "/proc/x", "/proc/self/x"):
            for action in (os.mkdir, lambda p: open(p, "w"), os.mkfifo):
                try:
                    action(path)
                    print("made", path)
                except OSError as problem:
                    pass
        print("done")
        """)
    assert reply.stdout == "done\n"
