"""One service for all of these, and a project with two agents: `notebook` is stateful, `plain` is not."""
import pytest

from support.projects import Project


@pytest.fixture(scope="session")
def project(make_service):
    service = make_service({"SANDBOX_WARM_POOL": 2})
    made = Project(service)
    made.agent("plain")
    yield made
    assert service.stop() == 0
    assert not service.leaks.found, service.leaks.found
