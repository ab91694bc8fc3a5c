"""Fixtures of all tests that need the running service.

The whole test run moves into a network namespace without a way out before anything is started; see support/network.py.
"""
import os
import shutil

import pytest

from support import network
from support.harness import HttpSide
from support.service import Service, private_mounts

MIB = 1 << 20


def pytest_configure(config):
    config.private_network = os.geteuid() == 0 and network.enter_private_namespace()


def pytest_report_header(config):
    if config.private_network:
        return "network: a namespace of its own, without a way out"
    return "network: NOT isolated; tests that need the service are skipped (run as root)"


@pytest.fixture(scope="session")
def private_network(request):
    if not request.config.private_network:
        pytest.skip("needs root: the service and its network namespace cannot be made")
    assert network.default_routes() == [], "the tests must not have a way out"


@pytest.fixture(scope="session")
def make_service(private_network, tmp_path_factory):
    """Makes services with settings of their own; whatever is still running at the end is stopped."""
    made = []

    def make(settings=None, start=True, launcher=()):
        service = Service(tmp_path_factory.mktemp("service"), settings, launcher)
        made.append(service)
        return service.start() if start else service

    yield make
    for service in made:
        if service.process and service.process.poll() is None:
            service.process.kill()
            service.process.wait()


@pytest.fixture(scope="session")
def http_side():
    """The HTTP side alone, with a store of its own. Tests share it, and make projects of their own."""
    running = HttpSide()
    yield running
    assert running.stop() == 0


@pytest.fixture
def http_project(http_side):
    """A project of that, as (name, key)."""
    return http_side.new_project()


@pytest.fixture(scope="session")
def outside(private_network, tmp_path_factory):
    """The second namespace, with listeners that stand for the internet."""
    for tool in ("ip", "nsenter", "unshare"):
        assert shutil.which(tool), f"{tool} is missing: scripts/install-packages --test"
    other = network.Outside(tmp_path_factory.mktemp("outside"))
    yield other
    other.close()


@pytest.fixture(scope="session")
def small(make_service):
    """A second service whose limits are small enough to reach. Starting one costs some ten seconds of CPU time, most of
    it the template's imports: tests share it, and leave it at rest."""
    running = make_service({
        "SANDBOX_WARM_POOL": 2, "SANDBOX_MAX_CONCURRENT": 2, "SANDBOX_QUEUE_MAX": 3, "SANDBOX_QUEUE_TIMEOUT_SECONDS": 4,
        "SANDBOX_TEMPLATE_MAX_FORKS": 60, "SANDBOX_BODY_MAX_BYTES": 256 * MIB, "SANDBOX_CONNECTIONS_PER_ADDRESS": 64,
    })
    yield running
    assert running.stop() == 0
    assert not running.leaks.found, running.leaks.found


@pytest.fixture(scope="session")
def service(make_service, outside):
    """The service that most tests share: default settings, a warm pool of three, and a reachable name server."""
    running = make_service(launcher=private_mounts(outside.binds))
    yield running
    status = running.stop()
    assert status == 0, f"the shared service ended with {status}:\n{running.log_tail()}"
    assert not running.leaks.found, running.leaks.found
