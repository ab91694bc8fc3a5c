"""What tests of the front doors share: other services' clients, in an environment of their own, and recorded shapes."""
import json
import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "build" / "test-doors"
PYTHON = FOLDER / "bin" / "python"
NODE = ("node", "--input-type=module", "-e")  # finds packages beside the working directory
SHAPES = REPOSITORY / "tests" / "doors" / "shapes"


def use_client(code, command=(PYTHON, "-B", "-c"), **environment):
    """Runs a program that uses a client, and returns the JSON of its last line."""
    assert PYTHON.exists(), "the clients are not installed: scripts/install-test-clients doors"
    done = subprocess.run([*command, code], capture_output=True, text=True, timeout=100, cwd=FOLDER,
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])
