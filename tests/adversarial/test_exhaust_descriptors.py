"""A million descriptors: of files, pipes, sockets, epoll, event and timer files, watches."""


def test_each_kind_ends_with_an_ordinary_error(service):
    reply = service.run("""
        import ctypes, errno, os, select, socket
        libc = ctypes.CDLL(None, use_errno=True)
        def raw(name, *arguments):
            fd = getattr(libc, name)(*arguments)
            if fd < 0:
                raise OSError(ctypes.get_errno(), name)
            return fd
        kinds = {"files": lambda: os.open("/dev/null", 0), "duplicates": lambda: os.dup(0), "pipes": os.pipe, "sockets": lambda: [s.detach() for s in socket.socketpair()],
                 "epoll": lambda: raw("epoll_create1", 0), "event": lambda: raw("eventfd", 0, 0), "timer": lambda: raw("timerfd_create", 1, 0),
                 "inotify": lambda: raw("inotify_init1", 0), "memory": lambda: os.memfd_create("x"), "signal": lambda: raw("signalfd", -1, bytes(8), 0)}
        for name, make in kinds.items():
            child = os.fork()
            if child == 0:
                count = 0
                try:
                    while count < 100000:
                        make(); count += 1
                except OSError as problem:
                    print(name, errno.errorcode[problem.errno], count <= 1024, flush=True)
                os._exit(0)
            os.waitpid(child, 0)
        """)
    lines = [line.split() for line in reply.stdout.splitlines()]
    assert len(lines) == 10, reply
    assert all(error in ("EMFILE", "ENFILE", "ENOSYS", "EPERM") and bounded == "True" for _, error, bounded in lines), lines


def test_in_all_processes_together_the_host_has_enough_left(service):
    with service.hold("""
        import os, time
        for _ in range(20):
            if os.fork() == 0:
                try:
                    while True: os.pipe()
                except OSError:
                    time.sleep(30)
        time.sleep(0.5)
        """):
        assert service.run("import os; print(len([os.pipe() for _ in range(100)]))").stdout == "100\n"


def test_watches(service):
    """Watches are counted by user number, and each sandbox has one of its own."""
    code = """
        import ctypes, errno, os
        libc = ctypes.CDLL(None, use_errno=True)
        fd, count = libc.inotify_init(), 0
        for number in range(7000):
            os.mkdir(f"/tmp/{number}")
            if libc.inotify_add_watch(fd, f"/tmp/{number}".encode(), 0xfff) < 0:
                break
            count += 1
        print(count > 100)
        """
    assert [reply.stdout for reply in service.run_all([code] * 2)] == ["True\n"] * 2
