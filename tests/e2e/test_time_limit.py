"""Wall-clock limit: SIGKILL to every process, exit code -1, and everything so far comes back."""
import threading
import time

import pytest

from support.host import wait_until

ENDLESS = {
    "busy loop": "while True: pass",
    "sleep": "import time; time.sleep(1e6)",
    "every exception caught": """
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "signals ignored": """
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True: pass
""",
    "stopped": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "waiting for a child": "import subprocess; subprocess.run(['sleep', '1000'])",
    "deadlock": "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "reading a pipe nobody writes to": "import os; r, w = os.pipe(); os.read(r, 1)",
    "threads that never end": "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()",
    "C code that holds the interpreter lock": "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "exit handler that never ends": "import atexit, time; atexit.register(time.sleep, 1000)",
    "finalizer that never ends": """
import time
class Slow:
    def __del__(self): time.sleep(1000)
kept = Slow()
""",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_ends_in_time(service, kind):
    reply = service.execute(ENDLESS[kind].strip() + "\n", timeout_s=0.7)
    assert (reply.outcome, reply.exit_code) == ("timeout", -1)
    assert 0.6 <= reply.seconds < 2.2
    assert 650 <= reply.usage["wall_ms"] < 1700


def test_what_was_printed_and_written_comes_back(service):
    reply = service.run("""
        import sys, time
        print("flushed", flush=True)
        print("not flushed")
        print("problem", file=sys.stderr)
        sys.stdout.write("half a line")
        file = open("part.txt", "w"); file.write("half"); file.flush()
        time.sleep(1000)
        """, timeout_s=1)
    assert reply.stdout == "flushed\nnot flushed\nhalf a line" and reply.stderr == "problem\n"
    assert reply.contents == {"part.txt": b"half"}
    assert reply.exit_code == -1 and "1 s" in reply.hint and "timeout_s" in reply.hint


def test_the_default_is_twenty_seconds_and_the_most_is_sixty(service):
    limits = service.get("/v1/environment").json
    text = str(limits)
    assert "20" in text and "60" in text
    assert service.execute("print(1)", timeout_s=60).stdout == "1\n"
    assert service.post(body={"code": "print(1)", "timeout_s": 60.1}).status == 400


def test_fractions_of_a_second_count(service):
    assert service.execute("import time; time.sleep(5)", timeout_s=0.2).seconds < 1.5
    assert service.execute("import time; time.sleep(0.4); print('done')", timeout_s=2.5).stdout == "done\n"


def test_every_process_is_dead_when_the_answer_comes(service):
    """Double fork, own session, signals ignored, pipes held: seen from the host, nothing of it is left."""
    code = """
        import os, signal, time
        def daemon():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                        signal.signal(number, signal.SIG_IGN)
                    while True:
                        time.sleep(0.01)
                os._exit(0)
        print("armed", flush=True)
        for _ in range(10):
            daemon()
        time.sleep(1000)
        """
    before = {process.pid for process in service.processes()}
    replies = []
    thread = threading.Thread(target=lambda: replies.append(service.run(code, timeout_s=2.5)))
    thread.start()
    during = wait_until(lambda: [r for r in service.rooms().values() if len(r) > 8], 5)
    assert during, "the control: the daemons were there"
    daemons = [process for process in during[0] if process.pid not in before]
    thread.join()
    assert (replies[0].outcome, replies[0].stdout) == ("timeout", "armed\n")
    assert [process.pid for process in daemons if process.alive] == []


@pytest.mark.parametrize("ending", ["", "import os; os._exit(0)"])
def test_a_child_that_holds_the_output_open_delays_nothing(service, ending):
    """A run ends when its main process ends; everything else in the room dies with it."""
    reply = service.run(f"""
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
        stubborn = subprocess.Popen("trap '' TERM HUP INT; while :; do sleep 1; done", shell=True, start_new_session=True)
        print("done", flush=True)
        {ending}
        """)
    assert reply.stdout == "done\n" and reply.outcome == "ok" and reply.exit_code == 0
    assert reply.seconds < 3


def test_a_timeout_wins_over_an_exit_at_the_same_moment(service):
    """Whichever comes first, code and outcome agree."""
    for _ in range(5):
        reply = service.execute("import time; time.sleep(0.299)", timeout_s=0.3)
        assert (reply.outcome, reply.exit_code) in (("timeout", -1), ("ok", 0))


def test_the_clock_starts_with_the_run_not_with_the_pool(service):
    """A sandbox that has been parked for a while has its whole time left."""
    service.wait_pool()
    time.sleep(1.2)
    reply = service.execute("import time; time.sleep(0.6); print('whole')", timeout_s=1)
    assert reply.stdout == "whole\n"


def test_the_host_time_is_not_the_sandbox_s_to_change(service):
    reply = service.run("""
        import time
        try:
            time.clock_settime(time.CLOCK_REALTIME, 0)
            print("changed")
        except PermissionError:
            print("refused")
        """)
    assert reply.stdout == "refused\n"
    assert abs(time.time() - float(service.execute("import time; print(time.time())").stdout)) < 5
