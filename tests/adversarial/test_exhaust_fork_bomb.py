"""A fork bomb: it fills its own sandbox and nobody else's, and is gone with it."""
import time
from pathlib import Path


def running_on_the_host():
    return int(Path("/proc/loadavg").read_text().split()[3].split("/")[1])


def test_bounded_and_over_in_time(service):
    before = running_on_the_host()
    reply = service.run("""
        import os
        print("armed", flush=True)
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """, timeout_s=1)
    assert (reply.outcome, reply.exit_code, reply.stdout) == ("timeout", -1, "armed\n")
    assert reply.seconds < 3
    service.wait_pool()
    assert running_on_the_host() < before + 60


def test_a_shell_s_own(service):
    reply = service.run("""
        import subprocess
        subprocess.run("bomb() { bomb | bomb & }; bomb; sleep 100", shell=True)
        """, timeout_s=1)
    assert reply.outcome in ("timeout", "ok", "error", "output_limit") and reply.seconds < 4


def test_neighbours_go_on(service):
    with service.hold("""
        import subprocess
        try:
            for _ in range(200):
                subprocess.Popen(["sleep", "30"])
        except OSError:
            pass
        """):
        began = time.monotonic()
        replies = service.run_all(["import subprocess; print(subprocess.run(['echo', 'fine'], capture_output=True, text=True).stdout, end='')"] * 3)
        assert [reply.stdout for reply in replies] == ["fine\n"] * 3
        assert time.monotonic() - began < 4
