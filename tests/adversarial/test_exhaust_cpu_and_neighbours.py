"""Dozens of busy processes in one sandbox: its neighbours keep their share."""
import time


def test_a_neighbour_is_served(service):
    quiet = sorted(service.run("print(sum(range(1000)))").seconds for _ in range(5))[2]
    with service.hold("""
        import subprocess
        for _ in range(40):
            subprocess.Popen("while :; do :; done", shell=True)
        """) as busy:
        time.sleep(0.3)
        times = sorted(service.run("print(sum(range(1000)))").seconds for _ in range(7))
        assert len(busy.room) >= 40, "the control: they are busy"
    assert times[3] < max(20 * quiet, 0.8), (quiet, times)


def test_the_busy_one_gets_one_cpu(service):
    reply = service.run("""
        import subprocess, time
        for _ in range(16):
            subprocess.Popen("while :; do :; done", shell=True)
        time.sleep(1)
        """)
    assert reply.usage["cpu_ms"] <= 1.35 * reply.usage["wall_ms"] + 150


def test_priority_cannot_be_raised(service):
    reply = service.run("""
        import errno, os
        for action in (lambda: os.nice(-5), lambda: os.setpriority(os.PRIO_PROCESS, 0, -20), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
                       lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(99)), lambda: os.setpriority(os.PRIO_USER, 65532, -20)):
            try:
                action(); print("raised")
            except OSError as problem:
                print(errno.errorcode[problem.errno])
        """)
    assert "raised" not in reply.stdout and len(reply.stdout.split()) == 5
