"""What tests of platformctl share: a service that answers as it is told to, and the command that asks it."""

import pytest

from support.cli import Cli
from support.fake_api import KEY, FakeApi


@pytest.fixture
def fake():
    server = FakeApi()
    yield server
    server.close()


@pytest.fixture
def cli(fake):
    return Cli(fake.url, KEY)
