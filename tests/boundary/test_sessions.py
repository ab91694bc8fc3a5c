"""Sessions over the privilege boundary: calls, rest, the death of the interpreter, and a fresh one in the same room."""

import errno
import os
import signal
import time

import pytest

from boundary import harness as boundary
from boundary.harness import Spawner
from boundary.session import Session


@pytest.fixture(scope="module")
def spawner(tmp_path_factory):
    running = Spawner(tmp_path_factory.mktemp("sessions"), SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="2")
    running.receive(boundary.HELLO)
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


@pytest.fixture
def session(spawner):
    opened = Session(spawner, spawner.park())
    yield opened
    opened.message(boundary.KILL, reason=boundary.END_RETIRED)
    message = opened.await_death()
    assert message["room_kept"] == 0
    opened.close()


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
    exit_code, stdout, stderr, _ = session.call("import os\nprint('x' in globals(), sorted(os.listdir()), os.listdir('/tmp'))")
    assert (exit_code, stdout, stderr) == (0, "False ['early.txt', 'late.txt'] []\n", "")
    assert session.collect() == {}
    session.spawner.send(type=boundary.KILL, high=old.id[0], low=old.id[1], reason=boundary.END_RETIRED)
    assert session.call("1 + 1")[3] == [{"text/plain": "2"}], "the old id is nobody's"
    os.close(out)
    os.close(err)
