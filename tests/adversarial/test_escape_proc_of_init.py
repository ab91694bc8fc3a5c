"""The room's init through /proc/1: its root, memory, files, environment, descriptors."""


def test_nothing_of_it_opens(service):
    reply = service.run("""
        import errno, json, os
        outcome = {}
        for name in ("root", "cwd", "exe", "mem", "environ", "maps", "fd", "fdinfo", "ns", "map_files", "stack", "syscall", "auxv",
                     "mountinfo", "io", "task/1/mem", "root/etc/shadow", "root/../etc/shadow", "cwd/..", "fd/0", "fd/3"):
            path = "/proc/1/" + name
            try:
                fd = os.open(path, os.O_RDONLY)
            except OSError as problem:
                outcome[name] = errno.errorcode[problem.errno]
                continue
            try:
                outcome[name] = sorted(os.listdir(fd)) if os.path.isdir(f"/proc/self/fd/{fd}") else os.read(fd, 64).decode("latin-1")
            except OSError as problem:
                outcome[name] = errno.errorcode[problem.errno]
        print(json.dumps(outcome))
        """)
    opened = {name: value for name, value in reply.printed.items()
              if value not in ("EACCES", "EPERM", "ENOENT", "ESRCH", "EIO")}
    # Mount points say the same as the snippet's own list, which has its own test.
    assert set(opened) <= {"mountinfo", "auxv", "ns"}, opened


def test_its_memory_cannot_be_written(service):
    reply = service.run("""
        for mode in ("r+b", "wb", "ab"):
            for name in ("mem", "environ", "comm", "oom_score_adj", "oom_adj", "coredump_filter", "uid_map", "gid_map", "setgroups",
                         "loginuid", "attr/current", "clear_refs", "sched", "timerslack_ns", "make-it-fail"):
                try:
                    open("/proc/1/" + name, mode).close()
                    print("opened", name, mode)
                except OSError:
                    pass
        print("done")
        """)
    assert reply.stdout == "done\n"
