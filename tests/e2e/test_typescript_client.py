"""The TypeScript client: Node's test runner against a scripted server and the real service; its types; what is packed."""
import json
import os
import re
import subprocess

import pytest

from support.breaking_proxy import BreakingProxy
from support.typescript_client import FOLDER, NODE, REPOSITORY


@pytest.fixture(scope="module", autouse=True)
def compiled():
    assert (FOLDER / "dist" / "index.js").exists(), "scripts/install-typescript-client has not been run"


def node(*words, environment=None, seconds=100):
    return subprocess.run([NODE, *words], cwd=FOLDER, env={**os.environ, "NO_COLOR": "1", **(environment or {})},
                          capture_output=True, text=True, timeout=seconds)


def run_tests(name, at_least, environment=None):
    done = node("--test", "--test-reporter=tap", f"tests/{name}.test.mjs", environment=environment)
    passed = int(re.search(r"^# pass (\d+)$", done.stdout, re.M)[1])
    assert done.returncode == 0 and passed >= at_least, done.stdout[-8000:] + done.stderr[-2000:]


def test_it_is_a_node_that_it_is_made_for():
    wanted = json.loads((FOLDER / "package.json").read_text())["engines"]["node"]
    assert int(node("--version").stdout.strip("v").split(".")[0]) >= int(wanted.removeprefix(">="))


def test_faults():
    run_tests("faults", 30)


def test_a_service(service):
    """A service's own way, and one whose first connection breaks after the request."""
    with BreakingProxy(service.port, [0]) as way:
        run_tests("service", 9, {"CODE_SANDBOX_URL": service.url, "CODE_SANDBOX_KEY": service.key, "BREAKING_URL": way.url})


def test_types_as_an_author_sees_them():
    done = node("node_modules/typescript/bin/tsc", "-p", "tests/tsconfig.json")
    assert done.returncode == 0, done.stdout


def interfaces():
    """{name: its members} of src/models.ts, with those that it extends."""
    text = (FOLDER / "src" / "models.ts").read_text()
    found = {}
    for name, of, body in re.findall(r"^export interface (\w+)(?:<[^>]*>)?(?: extends (\w+))? \{\n(.*?)^\}", text, re.M | re.S):
        found[name] = set(re.findall(r"^  (\w+)\??:", body, re.M)) | found.get(of, set())
    return found


@pytest.mark.parametrize("schema, kind", [
    ("Usage", "Usage"), ("SessionNote", "SessionState"), ("SkippedFile", "SkippedFile"), ("OutputFile", "RunFile"),
    ("KeptFile", "RunFile"), ("ExecuteReply", "Run"), ("KeptRun", "KeptRun"), ("RunSummary", "RunSummary"),
    ("CallError", "RemoteError"), ("Egress", "Egress"), ("CallReply", "Call"), ("Conversation", "Conversation"),
    ("LiveSession", "Session"), ("AgentSummary", "AgentSummary"), ("Agent", "Agent"), ("AgentEnv", "AgentEnv"),
    ("Environment", "Environment"), ("Tool", "Tool")])
def test_every_field_that_the_service_describes_has_its_type(schema, kind):
    described = json.loads((REPOSITORY / "docs" / "openapi.json").read_text())["components"]["schemas"][schema]["properties"]
    assert described and set(described) <= interfaces()[kind]


def test_what_is_packed():
    """The compiled client and nothing else, and it depends on nothing."""
    done = subprocess.run(["npm", "pack", "--dry-run", "--json", "--ignore-scripts", "--offline"], cwd=FOLDER,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    packed = {file["path"] for file in json.loads(done.stdout)[0]["files"]}
    modules = {path.stem for path in (FOLDER / "src").glob("*.ts")}
    compiled = {f"dist/{name}{ending}" for name in modules for ending in (".js", ".d.ts")}
    assert packed == compiled | {"package.json", "README.md", "LICENSE"}
    manifest = json.loads((FOLDER / "package.json").read_text())
    assert "dependencies" not in manifest and manifest["type"] == "module"
    for target in manifest["exports"]["."].values():
        assert target.removeprefix("./") in packed
