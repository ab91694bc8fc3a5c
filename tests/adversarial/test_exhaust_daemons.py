"""Daemons by every recipe: double fork, setsid, own process groups, ignored signals, names changed. None outlives its run."""
from support.host import wait_until


def test_none_survives(service):
    code = """
        import ctypes, os, signal, sys, time
        for number in range(40):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.setpgid(0, 0)
                    for name in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
                        signal.signal(name, signal.SIG_IGN)
                    ctypes.CDLL(None).prctl(15, b"[kworker/0:1]", 0, 0, 0)
                    os.chdir("/"); os.close(0); os.close(1); os.close(2)
                    while True:
                        try:
                            time.sleep(0.01)
                        except BaseException:
                            pass
                os._exit(0)
        time.sleep(0.3)
        print("main ends")
        """
    reply = service.run(code)
    assert reply.stdout == "main ends\n" and reply.exit_code == 0 and reply.seconds < 4
    assert wait_until(service.pool_is_quiet, 10)
    assert not [process for process in service.processes() if process.name.startswith("[kworker")]
