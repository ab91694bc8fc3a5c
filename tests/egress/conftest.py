"""The world that the tests of the egress process share, the process in it, and rooms."""

import pytest

from egress import internet
from egress.harness import Egress
from egress.world import World


@pytest.fixture(scope="session")
def world(private_network, tmp_path_factory):
    running = World(tmp_path_factory.mktemp("world"))
    yield running
    running.close()


@pytest.fixture
def start_egress(world):
    """Egress processes with settings of their own."""
    started = []

    def start(**settings):
        settings.setdefault("resolver", internet.NAME_SERVER)
        started.append(Egress(world.host_command, **settings))
        return started[-1]

    yield start
    for egress in started:
        if not egress.ended:
            assert egress.process.poll() is None, egress.log_text()
            assert egress.stop() == 0, egress.log_text()


@pytest.fixture(scope="module")
def shared_egress(world):
    running = Egress(world.host_command, resolver=internet.NAME_SERVER)
    yield running
    assert running.process.poll() is None, running.log_text()
    assert running.stop() == 0, running.log_text()


@pytest.fixture
def room(world, shared_egress):
    world.queries()
    world.visits()
    made = shared_egress.room()
    yield made
    if made.attached:
        made.detach()
