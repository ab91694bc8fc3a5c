"""Fixtures of the runner's tests.

    pytest tests/unit/python [--image=build/image/rootfs]

--staged=build/template takes the folder that the build has put together, with everything the real template has, instead of
the package alone. Without an image the interpreter that runs pytest is the one under test, and it must have the libraries. With an image (as
root) it is the image's own, in a mount namespace and a chroot; pytest itself may then run in any Python 3.12.
"""

import sys
from pathlib import Path

import pytest

import runner_support as support

sys.path.insert(0, str(support.PACKAGE.parent))


def pytest_addoption(parser):
    parser.addoption("--staged", default=None, help="the template's folder as the build makes it")
    parser.addoption("--image", default=None, help="folder form of a built image: test its interpreter")


@pytest.fixture(scope="session")
def place(request):
    image = request.config.getoption("--image")
    return support.Place(str(Path(image).resolve()) if image else None)


@pytest.fixture(scope="session")
def tools(request, tmp_path_factory):
    return support.stage(tmp_path_factory.mktemp("tools") / "staged", request.config.getoption("--staged"))


def _server(place, tools, kind, tmp_path_factory):
    return support.Server(place, tools, kind, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def runner(place, tools, tmp_path_factory):
    """Runs snippets the way a sandbox does."""
    server = _server(place, tools, "runner", tmp_path_factory)
    yield server
    server.close()


@pytest.fixture(scope="session")
def plain(place, tools, tmp_path_factory):
    """Runs snippets as `python main.py`."""
    server = _server(place, tools, "plain", tmp_path_factory)
    server.run("import matplotlib.font_manager")  # makes its font list, if it keeps one
    yield server
    server.close()


@pytest.fixture(scope="session")
def runner_without_extension(place, tmp_path_factory):
    folder = support.stage(tmp_path_factory.mktemp("tools") / "pure", extension=False)
    server = _server(place, folder, "cold", tmp_path_factory)
    yield server
    server.close()
