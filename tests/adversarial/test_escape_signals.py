"""Signals to processes that are not the snippet's: by number, by group, to everybody, through a pidfd."""
from support.service import PROCESSES_PER_ROOM


def test_none_arrives(service):
    service.wait_pool()
    before = {process.pid for process in service.processes()}
    reply = service.run("""
        import errno, os, signal
        outcome = set()
        for pid in list(range(4, 3000)) + [65532, 32768, 2**22 - 1, -2**31 + 1]:
            for number in (0, signal.SIGKILL):
                try:
                    os.kill(pid, number)
                    outcome.add("delivered")
                except OSError as problem:
                    outcome.add(errno.errorcode[problem.errno])
        for pid in range(4, 300):
            try:
                os.killpg(pid, signal.SIGKILL); outcome.add("delivered")
            except OSError as problem:
                outcome.add(errno.errorcode[problem.errno])
            try:
                os.pidfd_open(pid); outcome.add("opened")
            except OSError as problem:
                outcome.add(errno.errorcode[problem.errno])
        print(sorted(outcome))
        """)
    assert reply.stdout == "['ESRCH']\n"
    left = {process.pid for process in service.processes()}
    assert len(before & left) >= len(before) - PROCESSES_PER_ROOM, "only the claimed sandbox itself has gone"


def test_init_cannot_be_killed_or_stopped_from_inside(service):
    reply = service.run("""
        import os, signal, time
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP, signal.SIGUSR1):
            try:
                os.kill(1, number)
            except PermissionError:
                pass
        time.sleep(0.1)
        if os.fork() == 0:
            os._exit(3)
        print("still", os.wait()[1] >> 8)
        """)
    assert reply.stdout == "still 3\n" and reply.exit_code == 0


def test_killing_everybody_ends_only_the_run(service):
    with service.hold() as neighbour:
        reply = service.run("import os; print('x', flush=True); os.kill(-1, 9); os.kill(0, 9)")
        assert reply.exit_code == 137 and reply.stdout == "x\n" and reply.outcome == "error"
        assert neighbour.release().outcome == "ok"
