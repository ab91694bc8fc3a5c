"""Kernel buffers: pipes made large, sockets filled, datagrams queued. Bounded by descriptors, or charged to the sandbox."""


def test_pipes_cannot_be_enlarged(service):
    reply = service.run("""
        import errno, fcntl, os
        r, w = os.pipe()
        for size in (1 << 20, 1 << 24, 1 << 31 - 1):
            try:
                fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, size); print("enlarged")
            except OSError as problem:
                print(errno.errorcode[problem.errno])
        print(fcntl.fcntl(w, fcntl.F_GETPIPE_SZ))
        """)
    assert reply.stdout == "EPERM\nEPERM\nEPERM\n65536\n"


def test_full_pipes_and_sockets_end_in_an_error_or_the_own_memory(service):
    reply = service.run("""
        import os, socket
        total, kept = 0, []
        try:
            while True:
                r, w = os.pipe(); os.set_blocking(w, False)
                a, b = socket.socketpair(); a.setblocking(False)
                a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 26)
                kept += [a, b]
                try:
                    while True: total += os.write(w, b"x" * 65536)
                except BlockingIOError:
                    pass
                try:
                    while True: total += a.send(b"x" * 65536)
                except (BlockingIOError, OSError):
                    pass
        except OSError:
            pass
        print(total)
        """, timeout_s=15)
    assert reply.outcome in ("ok", "out_of_memory")
    if reply.outcome == "ok":
        assert int(reply.stdout) < 600 << 20
    assert service.run("print(1)").stdout == "1\n"
