"""The example agent: its image, made as examples/agent/build makes it, and its process, as an operator starts it."""
import atexit
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support import host, python_package
from support.service import PROGRAM, REPOSITORY

EXAMPLE = REPOSITORY / "examples" / "agent"
PLATFORMCTL = PROGRAM.parent / "platformctl"


@functools.cache
def plain():
    """The image as it is, built once for all tests, which copy it."""
    layout = Path(tempfile.mkdtemp(prefix="agent-image-")) / "layout"
    atexit.register(shutil.rmtree, layout.parent, ignore_errors=True)
    subprocess.run([EXAMPLE / "build", layout], check=True, capture_output=True, text=True,
                   env={**os.environ, "SANDBOX_BUILD_DIR": str(PROGRAM.parent)})
    return layout


def build(layout, *extra):
    """The image as an OCI layout; `extra` are (path in the image, text) that are put on top, and variables NAME=VALUE."""
    shutil.copytree(plain(), layout)
    for entry in extra:
        if isinstance(entry, str):
            command = ["umoci", "config", "--image", f"{layout}:agent", "--config.env", entry]
        else:
            path, text = entry
            source = layout.parent / path.replace("/", "_")
            source.write_text(text)
            command = ["umoci", "insert", "--rootless", "--image", f"{layout}:agent", source, f"/{path}"]
        subprocess.run(command, check=True, capture_output=True)
    return layout


def deploy(client, agent, layout):
    """With platformctl; returns the names of the tools that were found."""
    done = subprocess.run([PLATFORMCTL, "agents", "deploy", agent, "--image", f"oci:{layout}"], capture_output=True, text=True,
                          timeout=180, env={"PATH": os.environ["PATH"], "SANDBOX_URL": client.url, "SANDBOX_KEY": client.key})
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def remove(project, agent):
    """With its image: tests that come later count mounts."""
    assert project.request("DELETE", f"/v1/agents/{agent}").status == 204
    mounts = f"/proc/{project.service.pid}/mountinfo"
    assert host.wait_until(lambda: "/images/" not in Path(mounts).read_text(), 15), Path(mounts).read_text()


def variables(client, agent):
    """What an agent's process is deployed with."""
    return {"CODE_SANDBOX_URL": client.url, "CODE_SANDBOX_KEY": client.key, "CODE_SANDBOX_AGENT": agent}


def run_agent(environment):
    """The agent's own process, which knows nothing of tests."""
    return subprocess.run(["/usr/bin/python3", "-B", EXAMPLE / "agent.py"], capture_output=True, text=True, timeout=120,
                          env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(python_package.PACKAGE), **environment})


def load_tools():
    """Its module of tools, in this process."""
    spec = importlib.util.spec_from_file_location("example_agent_tools", EXAMPLE / "tools.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
