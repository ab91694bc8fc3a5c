"""Sessions over the privilege boundary: calls, rest, the death of the interpreter, and a fresh one in the same room."""

import errno
import os
import signal
import time

import pytest

from boundary import harness as boundary
from boundary.harness import Spawner
from boundary.session import Session


def test_calls_share_one_interpreter(session):
    assert session.call("x = 41\nprint('first')") == (0, "first\n", "", [])
    assert session.call("x + 1") == (0, "", "", [{"text/plain": "42"}])
    exit_code, stdout, stderr, _ = session.call("print(x)\n1 / 0")
    assert (exit_code, stdout) == (1, "41\n") and "ZeroDivisionError" in stderr
    assert session.call("print(x)\nraise SystemExit(3)")[:2] == (3, "41\n")
    assert session.call("x")[3] == [{"text/plain": "41"}]


def test_rest_tells_what_the_call_used(session):
    session.call("import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass")
    assert 250_000 < session.usage["cpu_us"] < 5_000_000
    session.call("pass")
    assert session.usage["cpu_us"] < 200_000, "the clock begins anew with each call"
    assert session.usage["memory_peak"] > 0


def test_files_of_each_call(session):
    session.call("open('a.txt', 'w').write('1')")
    assert session.collect() == {"a.txt": b"1"}
    session.call("pass")
    assert session.collect() == {}
    session.call("open('a.txt', 'w').write('1')\nopen('b.txt', 'w').write('2')")
    assert session.collect() == {"a.txt": b"1", "b.txt": b"2"}


def test_the_end_of_a_calls_time_keeps_the_room_and_its_files(session):
    session.call("import os\nx = 1\nopen('early.txt', 'w').write('e')\nos.makedirs('/tmp/deep/er')")
    assert session.collect() == {"early.txt": b"e"}
    old = session.sandbox
    session.claim(700)
    out, err = session.send_cell("open('late.txt', 'w').write('l')\nprint('on', flush=True)\nwhile True: pass")
    message = session.await_death()
    assert (message["reason"], message["room_kept"]) == (boundary.END_TIMEOUT, 1)
    assert session.files() == {"late.txt": b"l"}
    assert os.read(out, 10) == b"on\n"
    session.renew()
    exit_code, stdout, stderr, _ = session.call("import os\n"
                                                "print('x' in globals(), sorted(os.listdir()), os.listdir('/tmp'))")
    assert (exit_code, stdout, stderr) == (0, "False ['early.txt', 'late.txt'] []\n", "")
    assert session.collect() == {}
    session.spawner.send(type=boundary.KILL, high=old.id[0], low=old.id[1], reason=boundary.END_RETIRED)
    assert session.call("1 + 1")[3] == [{"text/plain": "2"}], "the old id is nobody's"
    os.close(out)
    os.close(err)


def test_os_exit_keeps_the_room(session):
    session.call("x = 1")
    session.collect()
    session.claim()
    out, err = session.send_cell("import os\nopen('a.txt', 'w').write('a')\nos._exit(3)")
    message = session.await_death()
    assert (message["reason"], message["room_kept"]) == (boundary.END_EXIT, 1)
    assert os.waitstatus_to_exitcode(message["wait_status"]) == 3
    assert session.files() == {"a.txt": b"a"}
    session.renew()
    assert session.call("print('x' in globals())")[1] == "False\n"
    os.close(out)
    os.close(err)


def test_a_crash_keeps_the_room(session):
    session.claim()
    fds = session.send_cell("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    message = session.await_death()
    assert (message["reason"], message["room_kept"]) == (boundary.END_EXIT, 1)
    assert os.waitstatus_to_exitcode(message["wait_status"]) == -signal.SIGSEGV
    assert session.files() == {}
    session.renew()
    assert session.call("1")[3] == [{"text/plain": "1"}]
    for fd in fds:
        os.close(fd)


FILL = """
import mmap, os
open('kept.bin', 'wb').write(bytes(100 << 20))
open('/dev/shm/gone.bin', 'wb').write(bytes(60 << 20))
open('/tmp/gone.bin', 'wb').write(bytes(60 << 20))
hog = []
while True: hog.append(bytearray(os.urandom(1 << 20)))
"""


def test_out_of_memory_keeps_the_room_and_a_fresh_interpreter_has_memory(session):
    for _ in range(2):
        session.claim(60_000)
        fds = session.send_cell(FILL)
        message = session.await_death(70)
        assert (message["reason"], message["room_kept"]) == (boundary.END_MEMORY, 1)
        assert session.files() == {}
        for fd in fds:
            os.close(fd)
        session.renew()
        exit_code, stdout, stderr, _ = session.call(
            "import os\nprint(os.path.getsize('kept.bin'), os.listdir('/tmp'), os.listdir('/dev/shm'))\n"
            "print(len(b'x' * (300 << 20)))", 30_000)
        assert (exit_code, stderr) == (0, "")
        assert stdout == f"{100 << 20} [] []\n{300 << 20}\n", "four hundred megabytes are left to the fresh one"


def test_kill_ends_the_call_and_keeps_the_room_but_for_retirement(session):
    for reason in (boundary.END_OUTPUT, boundary.END_CANCELLED):
        session.claim()
        fds = session.send_cell("import time\ntime.sleep(60)")
        session.message(boundary.KILL, reason=reason)
        message = session.await_death()
        assert (message["reason"], message["room_kept"]) == (reason, 1)
        assert session.files() == {}
        session.renew()
        for fd in fds:
            os.close(fd)


def test_retirement_while_a_call_is_on_ends_the_room(spawner):
    session = Session(spawner, spawner.park())
    session.claim()
    session.send_cell("import time\nopen('a', 'w').write('1')\nopen('b', 'w').write('2')\nprint('on', flush=True)\n"
                      "time.sleep(60)")
    time.sleep(0.3)
    session.message(boundary.KILL, reason=boundary.END_RETIRED)
    message = session.await_death()
    assert (message["reason"], message["room_kept"]) == (boundary.END_RETIRED, 0)
    assert session.files() == {"a": b"1", "b": b"2"}
    session.close()


def test_the_interpreter_may_die_at_rest(session):
    session.call("import threading, os, time\ndef later():\n    time.sleep(0.3)\n    os._exit(9)\n"
                 "threading.Thread(target=later).start()")
    message = session.await_death()
    assert (message["reason"], message["room_kept"]) == (boundary.END_EXIT, 1)
    assert session.files() == {}
    session.message(boundary.REST)  # it crossed the news
    session.message(boundary.CLAIM, timeout_ms=1000)
    session.renew()
    assert session.call("1")[3] == [{"text/plain": "1"}]


def test_processes_of_the_dead_interpreter_die_with_it(session):
    session.claim()
    fds = session.send_cell("import subprocess, os\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
                            "print('on', flush=True)\nos._exit(0)")
    session.await_death()
    session.files()
    session.renew()
    count = ("import os\n"
             "print(sum('sleep' in open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit()))")
    assert session.call(count)[1] == "0\n"
    for fd in fds:
        os.close(fd)


@pytest.mark.parametrize("state", ["parked", "resting", "unclaimed after renewal"])
def test_a_kept_room_can_be_ended_in_any_state(spawner, state):
    session = Session(spawner, spawner.park())
    if state != "parked":
        session.call("x = 1")
    if state == "unclaimed after renewal":
        session.claim()
        session.send_cell("import os\nos._exit(0)")
        session.await_death()
        session.files()
        session.renew()
    session.message(boundary.KILL, reason=boundary.END_RETIRED)
    message = session.await_death()
    assert (message["reason"], message["room_kept"]) == (boundary.END_RETIRED, 0)
    session.close()


def die(session: Session) -> None:
    session.claim()
    session.send_cell("import os\nos._exit(0)")
    assert session.await_death()["room_kept"] == 1


def test_a_kept_room_that_is_killed_is_gone(spawner):
    session = Session(spawner, spawner.park())
    die(session)
    session.message(boundary.KILL, reason=boundary.END_CANCELLED)
    assert session.await_death()["room_kept"] == 0
    session.message(boundary.RENEW, request=5)
    message, descriptors = spawner.receive(boundary.CREATE_FAILED)
    assert (message["request"], message["error"], descriptors) == (5, errno.ESRCH, [])
    session.close()


def test_a_kept_room_ends_by_itself(spawner):
    session = Session(spawner, spawner.park())
    die(session)
    began = time.monotonic()
    message = session.await_death(40)
    assert (message["reason"], message["room_kept"]) == (boundary.END_RETIRED, 0)
    assert time.monotonic() - began > 25
    session.close()


def test_renewal_of_nobody_is_answered(spawner):
    spawner.send(type=boundary.RENEW, request=6, high=1, low=2)
    message, _ = spawner.receive(boundary.CREATE_FAILED)
    assert (message["request"], message["error"]) == (6, errno.ESRCH)
    spawner.send(type=boundary.REST, high=1, low=2)


@pytest.mark.parametrize("kind", ["session", "run"])
def test_a_killed_init_is_the_loss_of_the_room(spawner, kind):
    """The kernel ends the main process first, by SIGKILL, which is not to be taken for an end of its own."""
    code = "import time\nprint('on', flush=True)\ntime.sleep(60)"
    session = Session(spawner, spawner.park())
    if kind == "session":
        session.call("x = 1")
        session.claim()
        out, _ = session.send_cell(code)
    else:
        spawner.claim(session.sandbox, 10_000)
        session.sandbox.send_code(code)
        out = session.sandbox.stdout
    assert os.read(out, 10).startswith(b"on")
    os.kill(init_of(session, spawner), signal.SIGKILL)
    message = session.await_death()
    assert (message["reason"], message["room_kept"]) == (boundary.END_LOST, 0)
    session.close()


def test_a_run_that_kills_itself_has_ended_by_itself(spawner):
    sandbox = spawner.park()
    spawner.claim(sandbox, 10_000)
    sandbox.send_code("import os\nos.kill(os.getpid(), 9)")
    message, _ = spawner.receive(boundary.EXITED)
    assert message["reason"] == boundary.END_EXIT and os.waitstatus_to_exitcode(message["wait_status"]) == -9


def init_of(session: Session, spawner: Spawner) -> int:
    """The newest init of a room."""
    children = f"/proc/{spawner.process.pid}/task/{spawner.process.pid}/children"
    found = [int(pid) for pid in open(children).read().split() if open(f"/proc/{pid}/comm").read() == "init\n" or
             b"init" == open(f"/proc/{pid}/cmdline", "rb").read().strip(b"\0")]
    return max(found)


def test_user_ids_tell_nothing(spawner):
    """A snippet can read its own in its mounts: they are not handed out in turn."""
    ids = []
    for _ in range(4):
        sandbox = spawner.park()
        spawner.claim(sandbox, 10_000)
        sandbox.send_code("import re\nprint(re.search(r'uid=(\\d+)', open('/proc/self/mountinfo').read())[1])")
        spawner.receive(boundary.EXITED)
        ids.append(int(sandbox.output()))
    steps = [b - a for a, b in zip(ids, ids[1:])]
    assert len(set(ids)) == 4 and steps != [1, 1, 1] and max(map(abs, steps)) > 10, ids


def test_many_processes_are_taken_down_quickly(session):
    """What takes them down does not wait for the sandbox's share of the processor."""
    session.claim(1500)
    fds = session.send_cell(
        "import os\nchildren = 0\nfor _ in range(110):\n    if os.fork() == 0:\n        while True: pass\n"
        "    children += 1\nprint(children, flush=True)\nwhile True: pass")
    message = session.await_death(6)
    assert (message["reason"], message["room_kept"]) == (boundary.END_TIMEOUT, 1)
    assert session.files() == {}
    for fd in fds:
        os.close(fd)
    session.renew()
    session.call("import os, time\nend = time.monotonic() + 1\nfor _ in range(3):\n    if os.fork() == 0: break\n"
                 "while time.monotonic() < end: pass\nif os.getpid() == 1: pass")
    assert session.usage["cpu_us"] < 1_500_000, "the share of the processor is back"


@pytest.mark.parametrize("end", ["hang up", "kill"])
def test_nothing_outlives_the_service(tmp_path, end):
    """Neither an interpreter at rest, nor one that works, nor a kept room."""
    running = Spawner(tmp_path, SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="2")
    running.receive(boundary.HELLO)
    resting, working, kept = (Session(running, running.park(number)) for number in range(3))
    resting.call("import subprocess\nchild = subprocess.Popen(['sleep', '1000'])")
    working.call("x = 1")
    working.claim(60_000)
    working.send_cell("import time\ntime.sleep(60)")
    die(kept)
    mine = descendants(running.process.pid)
    assert len(mine) >= 8, "the control: there is something to be ended"
    if end == "kill":
        running.process.kill()
        running.wait_end()
    running.socket.close()
    running.service.close()
    running.wait_end()
    deadline = time.monotonic() + 10
    while (left := [pid for pid in mine if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def is_alive(pid: int) -> bool:
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def descendants(pid: int) -> list[int]:
    try:
        children = [int(child) for child in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except FileNotFoundError:
        return []
    return children + [one for child in children for one in descendants(child)]
