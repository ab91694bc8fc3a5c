"""Fixtures of the tests of the Python package. They run in the environment that scripts/install-test-clients makes."""
import os
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import fake_platform  # noqa: E402

from code_sandbox import _context, _exchange, _tool  # noqa: E402


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """No variable of the machine's counts, pauses are short, and nothing is left of the test before."""
    for name in list(os.environ):
        if name.startswith("CODE_SANDBOX_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(_exchange, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(_tool, "_said_local", False)
    monkeypatch.setattr("code_sandbox._inside._inside", False)
    _context.set_last_call(None)


@pytest.fixture
def fake():
    server = fake_platform.FakePlatform()
    yield server
    server.close()


@pytest.fixture
def platform(fake, monkeypatch):
    """The agent's process as it is deployed: with a platform."""
    monkeypatch.setenv("CODE_SANDBOX_URL", fake.url)
    monkeypatch.setenv("CODE_SANDBOX_KEY", fake_platform.KEY)
    monkeypatch.setenv("CODE_SANDBOX_AGENT", "shop")
    return fake
