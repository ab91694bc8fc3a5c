"""Processes that stop themselves or each other: a stopped process cannot react to anything but SIGKILL."""
import pytest


@pytest.mark.parametrize("code", [
    "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "import os, signal; os.kill(0, signal.SIGSTOP)",
    "import os, signal, time\nfor _ in range(20):\n    if os.fork() == 0:\n        os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)",
    "import os, signal, time\nif os.fork() == 0:\n    while True:\n        os.kill(os.getppid(), signal.SIGSTOP)\n        time.sleep(0.01)\nwhile True: pass",
    "import os, signal\nos.kill(-1, signal.SIGSTOP)\nwhile True: pass",
])
def test_end_in_time(service, code):
    reply = service.execute("print('x', flush=True)\n" + code, timeout_s=0.8)
    assert (reply.outcome, reply.exit_code, reply.stdout) == ("timeout", -1, "x\n")
    assert reply.seconds < 2.5
