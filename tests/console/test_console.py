"""The Console in a real browser, against a real service.

The tests themselves are in JavaScript (*.test.mjs), driven by run.mjs, which says for each what came of it. It is started
once; here every one of them is a test of its own. Chromium and the service share the network namespace of the test run,
which has no way out.
"""
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
SCREENSHOTS = Path(os.environ.get("CONSOLE_SCREENSHOTS", REPOSITORY / "build" / "console-screenshots"))
SECONDS = 150  # for one of them: run.mjs ends each that hangs after 120


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


class Browser:
    """The run of all the tests, and what came of those that are done."""

    def __init__(self, process, answer):
        self.process, self.answer = process, answer

    def results(self):
        """By the test's name: None, or why it failed."""
        lines = self.answer.read_text(encoding="utf-8").splitlines(keepends=True) if self.answer.exists() else []
        done = [json.loads(line) for line in lines if line.endswith("\n")]
        return {entry["name"]: entry["problem"] for entry in done}

    def wait(self, name):
        """What came of that test: they run in the order in which they are asked for here."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None  # before the look: the last result may have come in between
            results = self.results()
            if name in results:
                return results[name]
            if ended:
                return "it was not run: the run ended before its turn"
            time.sleep(0.05)
        return f"its turn did not come within {SECONDS} s"


@pytest.fixture(scope="session")
def browser(make_service, tmp_path_factory):
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
        yield Browser(process, answer)
        try:
            process.wait(30)  # it has only to close its browser
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
    print((folder / "log").read_text(encoding="utf-8", errors="replace")[-20000:])
    assert service.stop() == 0
    assert not service.leaks.found, service.leaks.found


def test_in_the_browser(browser, name):
    problem = browser.wait(name)
    assert problem is None, problem


def test_all_is_installed():
    for program in ("node", "chromium"):
        assert shutil.which(program), f"{program} is missing: scripts/install-packages --test"
    assert len(names()) > 40, "scripts/install-console-tests installs what the tests of the Console need"
