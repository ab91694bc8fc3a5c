"""Signals by the million: to itself, between two processes, from timers."""


def test_ends_in_time(service):
    reply = service.run("""
        import os, signal
        for number in range(1, 65):
            try:
                signal.signal(number, lambda *_: None)
            except (OSError, ValueError):
                pass
        signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
        signal.setitimer(signal.ITIMER_VIRTUAL, 1e-6, 1e-6)
        child = os.fork()
        other = os.getppid() if child == 0 else child
        while True:
            try:
                for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGRTMIN, signal.SIGCHLD, signal.SIGINT):
                    os.kill(other, number)
            except OSError:
                pass
        """, timeout_s=1)
    assert reply.outcome == "timeout" and reply.seconds < 3


def test_queued_signals_are_bounded(service):
    reply = service.run("""
        import ctypes, os, signal
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
        libc, sent = ctypes.CDLL(None, use_errno=True), 0
        for _ in range(300000):
            if libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), ctypes.c_void_p(1)) != 0:
                break
            sent += 1
        print(sent)
        """)
    assert int(reply.stdout) < 200000
