"""A spawner without an api process, which the tests of a file share, and a session in it."""

import select

import pytest

from boundary import calls
from boundary import harness as boundary
from boundary.harness import Spawner
from boundary.session import Session


@pytest.fixture(scope="module")
def one_spawner(tmp_path_factory):
    running = Spawner(tmp_path_factory.mktemp("sessions"), SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="2")
    running.receive(boundary.HELLO)
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


@pytest.fixture(scope="session")
def call_spawner(tmp_path_factory):
    """With an agent's image, for tool calls."""
    folder = tmp_path_factory.mktemp("calls")
    (folder / "secret").write_text(calls.CANARY)
    running = calls.start_spawner(folder, SECRET=calls.CANARY, SANDBOX_ADMIN_KEY=calls.CANARY)
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


@pytest.fixture
def spawner(one_spawner):
    """Without the news of what a test that failed has left behind."""
    while select.select([one_spawner.socket], [], [], 0)[0]:
        one_spawner.receive(*range(boundary.HELLO, boundary.RESTED + 1))
    return one_spawner


@pytest.fixture
def session(spawner):
    opened = Session(spawner, spawner.park())
    yield opened
    opened.message(boundary.KILL, reason=boundary.END_RETIRED)
    message = opened.await_death()
    assert message["room_kept"] == 0
    opened.close()
