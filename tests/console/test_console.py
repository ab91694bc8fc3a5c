"""The Console in a real browser, against a real service.

The tests themselves are in JavaScript (*.test.mjs), driven by run.mjs, which says for each what came of it. It is started
once; here every one of them is a test of its own. Chromium and the service share the network namespace of the test run,
which has no way out.
"""
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
SCREENSHOTS = Path(os.environ.get("CONSOLE_SCREENSHOTS", REPOSITORY / "build" / "console-screenshots"))
SECONDS = 540  # for all of them, where the machine is shared; alone it takes a fifth of that


# Parts of names, to run some of the tests only.
ONLY = os.environ.get("CONSOLE_ONLY", "").split()


def names(only=()):
    """The names of all tests; empty if what they need is not installed."""
    if not shutil.which("node") or not (HERE / "node_modules").is_dir():
        return []
    found = subprocess.run(["node", "run.mjs", "--list", *only], cwd=HERE, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", names(ONLY))


@pytest.fixture(scope="session")
def results(make_service, tmp_path_factory):
    """What came of each test, by its name: None, or why it failed."""
    service = make_service({"SANDBOX_WARM_POOL": 3, "SANDBOX_SESSIONS_PER_PROJECT": 2})
    folder = tmp_path_factory.mktemp("console")
    answer = folder / "results.jsonl"
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for old in SCREENSHOTS.glob("*.png"):
        old.unlink()
    environment = {**os.environ, "CONSOLE_URL": f"http://127.0.0.1:{service.port}", "CONSOLE_ADMIN_KEY": service.key,
                   "CONSOLE_RESULTS": str(answer), "CONSOLE_SCREENSHOTS": str(SCREENSHOTS), "TMPDIR": str(folder)}
    with open(folder / "log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(["node", "run.mjs", *ONLY], cwd=HERE, env=environment, stdout=log, stderr=log,
                                   start_new_session=True)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            pass  # the tests whose turn did not come say so
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
    print((folder / "log").read_text(encoding="utf-8", errors="replace")[-20000:])
    assert service.stop() == 0
    assert not service.leaks.found, service.leaks.found
    lines = answer.read_text(encoding="utf-8").splitlines() if answer.exists() else []
    return {entry["name"]: entry["problem"] for entry in map(json.loads, lines)}


def test_in_the_browser(results, name):
    assert name in results, "it was not run: the run ended before its turn"
    assert results[name] is None, results[name]


def test_all_is_installed():
    for program in ("node", "chromium"):
        assert shutil.which(program), f"{program} is missing: scripts/install-packages --test"
    assert len(names()) > 40, "scripts/install-console-tests installs what the tests of the Console need"
