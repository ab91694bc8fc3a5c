"""Every shell script of the repository passes shellcheck."""
import subprocess

import pytest

from docs.pages import REPOSITORY

FOLDERS = (".ci", "scripts", "image", "tools", "packaging", "examples", "tests")


def shell_scripts():
    for folder in FOLDERS:
        for path in sorted((REPOSITORY / folder).rglob("*")):
            if path.is_file() and not {"node_modules", "__pycache__"} & set(path.parts):
                with open(path, "rb") as file:
                    if file.readline().rstrip() in (b"#!/bin/sh", b"#!/bin/bash"):
                        yield path


SCRIPTS = list(shell_scripts())


@pytest.mark.parametrize("script", SCRIPTS, ids=[str(path.relative_to(REPOSITORY)) for path in SCRIPTS])
def test_nothing_is_found(script):
    done = subprocess.run(["shellcheck", "--severity=warning", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_scripts_are_there_and_the_check_finds_faults(tmp_path):
    assert len(SCRIPTS) > 8
    bad = tmp_path / "bad"
    bad.write_text("#!/bin/sh\ncd $1\nrm -r $1/$2\n")
    assert subprocess.run(["shellcheck", "--severity=warning", bad], capture_output=True).returncode == 1
