"""The Debian package: lintian finds no errors, its unit is one that systemd understands, and what is in it runs."""
import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from e2e.test_cli_commands import EVERY
from support.cli import Cli
from support.service import PROGRAM, Service

REPOSITORY = Path(__file__).resolve().parents[2]


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=250, **more)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    if os.environ.get("SANDBOX_TEST_PACKAGE"):  # one that is there already
        return Path(os.environ["SANDBOX_TEST_PACKAGE"])
    if PROGRAM.parent.resolve() != (REPOSITORY / "build").resolve():
        pytest.skip("packages are made of build/")
    made = run(REPOSITORY / "scripts" / "deb", tmp_path_factory.mktemp("deb"))
    assert made.returncode == 0, made.stdout + made.stderr
    return Path(made.stdout.split()[-1])


@pytest.fixture(scope="module")
def unpacked(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    assert run("dpkg-deb", "-R", package, folder).returncode == 0
    return folder


def test_lintian_has_no_errors(package):
    assert shutil.which("lintian"), "lintian is missing: scripts/install-packages --test"
    result = run("lintian", "--allow-root", "--fail-on", "error", "--no-tag-display-limit", package)
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_is_in_it(unpacked):
    there = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert {"usr/sbin/sandboxd", "usr/bin/platformctl", "usr/lib/code-sandbox/sandboxd-api",
            "usr/lib/systemd/system/code-sandbox.service", "usr/lib/sysusers.d/code-sandbox.conf",
            "usr/lib/tmpfiles.d/code-sandbox.conf", "etc/code-sandbox/sandboxd.conf",
            "usr/share/man/man1/platformctl-run.1.gz", "usr/share/man/man8/sandboxd.8.gz",
            "usr/share/bash-completion/completions/platformctl", "usr/share/doc/code-sandbox/operations.md"} <= there
    assert not [name for name in there if name.startswith(("usr/local", "var", "tmp"))]
    control = (unpacked / "DEBIAN" / "control").read_text()
    assert re.search(r"^Depends: .*libmicrohttpd12.*systemd", control, re.M), control
    assert (unpacked / "DEBIAN" / "conffiles").read_text() == "/etc/code-sandbox/sandboxd.conf\n"
    owners = {(path.stat().st_uid, path.stat().st_gid) for path in unpacked.rglob("*")}
    assert owners == {(0, 0)}


def test_the_unit_is_good(unpacked):
    unit = unpacked / "usr/lib/systemd/system/code-sandbox.service"
    text = unit.read_text().replace("/usr/sbin/sandboxd", str(unpacked / "usr/sbin/sandboxd"))
    copy = unpacked.parent / "code-sandbox.service"
    copy.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
    verified = run("systemd-analyze", "verify", "--recursive-errors=no", copy)
    assert "code-sandbox.service" not in verified.stderr, verified.stderr
    judged = run("systemd-analyze", "security", "--offline=true", copy)
    score = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", judged.stdout)[1])
    stated = re.search(r"`systemd-analyze\s+security` gives it ([\d.]+)", (REPOSITORY / "docs/operations.md").read_text())
    assert float(stated[1]) == score, "correct docs/operations.md"


def test_the_users_that_it_makes(unpacked, tmp_path):
    for folder in ("usr/lib/sysusers.d", "usr/lib/tmpfiles.d"):
        shutil.copytree(unpacked / folder, tmp_path / folder)
    (tmp_path / "etc").mkdir()
    assert run("systemd-sysusers", f"--root={tmp_path}").returncode == 0
    assert re.search(r"^code-sandbox:x:\d+:\d+:Code Sandbox:", (tmp_path / "etc/passwd").read_text(), re.M)
    made = run("systemd-tmpfiles", "--create", f"--root={tmp_path}", "code-sandbox.conf")
    assert made.returncode == 0 and (tmp_path / "var/lib/code-sandbox").is_dir(), made.stderr


def test_every_command_has_its_manual_page(unpacked):
    """With its usage and all its options; those below a group stand in the group's page."""
    folder = unpacked / "usr/share/man/man1"
    for command in EVERY:
        page = gzip.decompress((folder / f"platformctl-{command.split()[0]}.1.gz").read_bytes()).decode()
        page = page.replace("\\(ga", "`").replace("\\e", "\\")
        help_text = Cli()("help", *command.split()).stdout.decode()
        assert help_text.partition("\n")[0].removeprefix("Usage: ") in page, command
        for option in re.findall(r"^ {2,6}(?:-\w, )?--.*$", help_text.partition("\nOptions of every")[0], re.M):
            assert option in page, (command, option)
    top = gzip.decompress((folder / "platformctl.1.gz").read_bytes()).decode()
    assert all(f"platformctl-{command} 1" in top for command in EVERY if " " not in command)


def test_the_manual_pages_are_good(unpacked, tmp_path):
    assert shutil.which("mandoc"), "mandoc is missing: scripts/install-packages --test"
    pages = []
    for path in sorted((unpacked / "usr/share/man").rglob("*.gz")):
        pages.append(tmp_path / path.stem)
        pages[-1].write_bytes(gzip.decompress(path.read_bytes()))
    assert len(pages) > 15
    result = run("mandoc", "-Tlint", "-Wwarning", *pages)
    assert result.returncode == 0 and not result.stdout, result.stdout


def test_what_is_unpacked_runs(unpacked, private_network, tmp_path):
    """From the place where it was unpacked: the programs find each other, and the image."""
    program = unpacked / "usr/sbin/sandboxd"
    config = unpacked / "etc/code-sandbox/sandboxd.conf"
    checked = run(program, "--check-config", env={"SANDBOX_CONFIG_FILE": str(config), "PATH": os.environ["PATH"]})
    assert "no user \"code-sandbox\"" in checked.stderr or checked.returncode == 0, checked
    service = Service(tmp_path, {"SANDBOX_WARM_POOL": 1})
    service.launcher = ["sh", "-c", f'exec "{program}"', "sh"]
    try:
        service.start()
        assert service.execute("print(6 * 7)").stdout == "42\n"
        assert run(unpacked / "usr/bin/platformctl", "status", "--url", service.url, "--key", service.key).returncode == 0
    finally:
        assert service.stop() == 0
