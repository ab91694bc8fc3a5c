"""Deploying an agent's image with platformctl, to the real service: from a layout on the disk to a tool that is called."""
import itertools
import json
import os
import pathlib
import subprocess
import time

import pytest

from support import oci
from support.cli import Cli
from support.oci import folder, layer, member

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    """The example agent's image."""
    path = tmp_path_factory.mktemp("agent") / "layout"
    done = subprocess.run([REPOSITORY / "examples" / "agent" / "build", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def cli(service):
    """With a key of a project of its own."""
    admin, name = Cli(service.url, service.key), f"deploy-{next(numbers)}"
    assert admin("projects", "create", name).code == 0
    return Cli(service.url, admin("keys", "create", name).stdout.decode().strip())


def deploy(cli, agent, reference):
    return cli("agents", "deploy", agent, "--image", reference, timeout=120)


def image_files(service):
    """What lies there once the folders of imports are gone, which takes a moment."""
    store, deadline = pathlib.Path(service.data_dir) / "images", time.monotonic() + 20
    while store.exists() and any(name.startswith("work-") for name in os.listdir(store)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return sorted(os.listdir(store)) if store.exists() else []


def test_from_a_layout_to_a_call(cli, service, layout):
    before = image_files(service)
    result = deploy(cli, "loans", f"oci:{layout}:agent")
    assert result.code == 0, result
    assert {"monthly_payment", "page_title"} <= set(result.stdout.decode().split())
    assert "deployed the agent loans: Python 3." in result.stderr
    made = set(image_files(service)) - set(before)
    assert len(made) == 1 and next(iter(made)).endswith(".erofs"), "one file, and no folder of the import"
    loan = json.dumps({"amount": "1200", "yearly_rate": "0", "months": 12})
    called = cli("call", "loans", "monthly_payment", "--arg", f"loan={loan}", timeout=60)
    assert called.code == 0 and json.loads(called.stdout)["each_month"] == "100.00", called

    # The same image for another agent is no second file; it goes with the last of the two.
    assert deploy(cli, "others", f"oci:{layout}:agent").code == 0
    assert set(image_files(service)) - set(before) == made
    assert cli("agents", "delete", "loans").code == 0
    assert set(image_files(service)) - set(before) == made
    assert cli("agents", "delete", "others").code == 0
    assert set(image_files(service)) & made == set()


def test_what_is_refused_changes_nothing(cli, service, layout, tmp_path):
    assert deploy(cli, "loans", f"oci:{layout}:agent").code == 0
    shown = json.loads(cli("agents", "show", "loans", "--json").stdout)
    files = image_files(service)
    bad = oci.Image(layer(folder("app"), member("app/tools.py", b"")))
    for kind, path in (("oci-archive", bad.write_oci_archive(tmp_path / "1")),
                       ("docker-archive", bad.write_docker_archive(tmp_path / "2"))):
        result = deploy(cli, "loans", f"{kind}:{path}")
        assert result.code == 65 and "the image has no Python" in result.stderr, result
    refused = deploy(cli, "loans", "docker://ghcr.io/acme/agent:1")
    assert refused.code == 65 and "SANDBOX_REGISTRIES" in refused.stderr, refused
    assert json.loads(cli("agents", "show", "loans", "--json").stdout) == shown
    assert image_files(service) == files
    assert cli("agents", "delete", "loans").code == 0
