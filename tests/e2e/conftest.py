"""What end-to-end tests share: a service that answers as it is told to, the command that asks it, MCP, front doors."""

import pytest

from support.cli import Cli
from support.fake_api import KEY, FakeApi
from support.mcp_raw import RawMcp
from support.projects import Project


@pytest.fixture
def fake():
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def cli(fake):
    return Cli(fake.url, KEY)


@pytest.fixture(scope="session")
def doors(make_service):
    """A service with all front doors."""
    running = make_service({"SANDBOX_FRONT_DOORS": "e2b, dify, piston, azure", "SANDBOX_SESSIONS_PER_PROJECT": 8,
                            "SANDBOX_EXECUTE_MAX_TIMEOUT_S": 30, "SANDBOX_WARM_POOL": 2})
    yield running
    assert running.stop() == 0
    assert not running.leaks.found, running.leaks.found


@pytest.fixture
def at_doors(doors):
    """A project there. Its sessions are ended: the service has but so many places for them."""
    project = Project(doors)
    yield project
    for session in project.get("/v1/sessions").json["sessions"]:
        assert project.request("DELETE", f"/v1/conversations/{session['conversation_id']}/session").status == 200


@pytest.fixture
def mcp(service):
    """A session with the MCP server."""
    client = RawMcp(service)
    client.initialize()
    yield client
    client.delete()
