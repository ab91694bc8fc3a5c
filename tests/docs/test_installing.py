"""What docs/python.md, docs/frameworks.md, docs/typescript.md and docs/tool-calls.md have a reader type for a client.

There is no network: what pip and npm would fetch lies in the environments of other tests and in npm's cache.
"""
import os
import shutil
import subprocess
import sys

import pytest

from docs import pages
from docs.pages import REPOSITORY
from support.typescript_client import FOLDER, NODE

WITH_PACKAGES = REPOSITORY / "build" / "test-package"
NPM_CACHE = REPOSITORY / "build" / "npm-cache"
PATH = "/usr/local/bin:/usr/bin:/bin"


def bash(script, folder, **environment):
    done = subprocess.run(["bash", "-euc", script], cwd=folder, capture_output=True, text=True, timeout=200,
                          env={"PATH": PATH, "HOME": str(folder), "LANG": "C.UTF-8", **environment})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def checkout(tmp_path):
    """The sources of the clients, and nothing that was made of them."""
    ignored = shutil.ignore_patterns("node_modules", "dist", "__pycache__")
    shutil.copytree(REPOSITORY / "python", tmp_path / "python", ignore=ignored)
    shutil.copytree(FOLDER, tmp_path / "clients" / "typescript", ignore=ignored)
    return tmp_path


@pytest.mark.parametrize("page", ["docs/python.md", "docs/frameworks.md"])
def test_the_python_package(page, checkout):
    assert WITH_PACKAGES.exists(), "scripts/install-test-clients package has not been run"
    fresh = checkout / "venv"
    subprocess.run([WITH_PACKAGES / "bin" / "python", "-m", "venv", fresh], check=True, timeout=100)
    (theirs,), (ours,) = (list(folder.glob("lib/python3*/site-packages")) for folder in (WITH_PACKAGES, fresh))
    (ours / "others.pth").write_text(f"{theirs}\n")
    # No isolation: what builds the package is one of the others.
    settings = {"PATH": f"{fresh}/bin:{PATH}", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    bash(pages.shown(page, "pip install").text, checkout, **settings)
    asked = "import code_sandbox, code_sandbox.adapters.openai, openai; print(code_sandbox.__file__)"
    found = bash(f'python -c "{asked}"', "/", **settings)
    assert found.startswith(str(ours)), "it is the one that was installed"


def test_the_typescript_client(checkout):
    """In the folder of a program, which can then import it."""
    assert NPM_CACHE.exists(), "scripts/install-typescript-client has not been run"
    settings = {"npm_config_cache": str(NPM_CACHE), "npm_config_offline": "true", "npm_config_audit": "false",
                "npm_config_fund": "false", "npm_config_update_notifier": "false",
                "PATH": f"{os.path.dirname(NODE)}:{PATH}"}
    bash(pages.shown("docs/typescript.md", "(cd clients").text, checkout, **settings)
    (checkout / "program.mjs").write_text(PROGRAM)
    assert bash(f"'{NODE}' program.mjs", checkout) == "function\n"


PROGRAM = """
import { Client } from "@code-sandbox/client";
console.log(typeof Client);
"""
LOAN = """
import dataclasses

@dataclasses.dataclass
class Loan:
    months: int = 12

@dataclasses.dataclass
class Payment:
    monthly: float

"""


def test_a_tool_as_it_is_introduced():
    """docs/tool-calls.md. Where no platform is named, the function runs where it is called; one that does nothing returns
    nothing."""
    text = pages.shown("docs/tool-calls.md", "from code_sandbox import tool").text
    assert "monthly_payment(Loan(...))" in text
    program = LOAN + text.replace("monthly_payment(Loan(...))",
                                  "print(monthly_payment(Loan()), monthly_payment.__doc__)")
    done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=60,
                          env={"PATH": PATH, "PYTHONPATH": str(REPOSITORY / "python")})
    assert done.stdout == "None Works out what a loan costs each month.\n", done
