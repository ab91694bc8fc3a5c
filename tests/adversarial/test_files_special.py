"""FIFOs that block a reader, sockets, and files that are open for writing somewhere."""


def test_nothing_blocks(service):
    reply = service.run("""
        import os, socket
        for number in range(50):
            os.mkfifo(f"fifo{number}")
        os.mkfifo("held")
        if os.fork() == 0:
            fd = os.open("held", os.O_RDWR)
            os.write(fd, b"x" * 60000)
            import time; time.sleep(60)
        sockets = []
        for number in range(20):
            sock = socket.socket(socket.AF_UNIX); sock.bind(f"sock{number}"); sock.listen(); sockets.append(sock)
        open("ok", "w").write("ok")
        """)
    assert reply.contents == {"ok": b"ok"} and reply.seconds < 4
    assert len(reply.skipped) == 71 and set(reply.skipped.values()) == {"not_a_regular_file"}


def test_locks_and_leases_hold_nobody_up(service):
    reply = service.run("""
        import fcntl
        f = open("locked", "w"); f.write("x"); f.flush()
        fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
        try:
            fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError:
            pass
        """)
    assert reply.contents == {"locked": b"x"} and reply.seconds < 4
