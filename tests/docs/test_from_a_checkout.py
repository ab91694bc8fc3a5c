"""The documentation's commands for a checkout, as they stand: README.md (make run), docs/image.md, docs/operations.md.

What they need is there when tests run: packages, what is compiled, the image. So they have little to do, and no need of
a network, which there is none of.
"""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from docs import pages
from docs.pages import REPOSITORY
from support.client import Client
from support.host import wait_until
from support.service import PROGRAM, new_uid_base

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DOCUMENTED = Client(8080, "")  # where a service listens that was told nothing
# Below /usr/local and /var/lib the test may write, and nothing of that stays.
OVER_THE_REAL_ONES = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$0"
for folder in /usr/local /var/lib; do
        mkdir -p "$0$folder/new" "$0$folder/work"
        mount -t overlay overlay -o "lowerdir=$folder,upperdir=$0$folder/new,workdir=$0$folder/work" "$folder"
done
exec bash -ec "$1"
"""
# Settings that protect nothing, in the place of the kernel's own, which are the whole machine's.
UNPROTECTED = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /proc/sys
for name in $0; do
        mkdir -p "/proc/sys/$(dirname "$name")"
        case $name in *tiocsti) echo 1 ;; *) echo 0 ;; esac >"/proc/sys/$name"
done
exec bash -ec "$1"
"""


@pytest.fixture
def checkout(private_network):
    if PROGRAM.parent.resolve() != (REPOSITORY / "build").resolve():
        pytest.skip("what is tested was not compiled into build/")
    return {"PATH": f"{Path.home()}/.pyenv/shims:{PATH}", "HOME": os.environ.get("HOME", "/root"), "LANG": "C.UTF-8",
            "SANDBOX_UID_BASE": str(new_uid_base())}


class Typed:
    """A command that a person has typed in the checkout; Ctrl-C ends it."""

    def __init__(self, folder, environment, *words):
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(words, cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)

    def __enter__(self):
        return self

    def until_ready(self, seconds=200):
        def ready():
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            try:
                return DOCUMENTED.get("/readyz", key=None, timeout=2).status == 200
            except OSError:
                return False

        assert wait_until(ready, seconds, 0.2), self.log.read_text()[-3000:]
        return self.log.read_text()

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise


def test_make_run(checkout, tmp_path):
    """As the README says: it prints the address, where the key is, and a line to try it with, which works."""
    block = pages.shown("README.md", "make run")
    with Typed(tmp_path, {**checkout, "SANDBOX_DATA_DIR": str(tmp_path / "data")}, "bash", "-ec", block.text) as typed:
        said = typed.until_ready()
        (line,) = re.findall(r"^.*?(curl .+)$", said, re.M)
        assert "http://127.0.0.1:8080" in said and str(tmp_path / "data" / "admin-key") in said
        tried = subprocess.run(["bash", "-euc", line], env=checkout, capture_output=True, text=True, timeout=60)
        assert tried.returncode == 0 and '"outcome":"ok"' in tried.stdout.replace(" ", ""), (line, tried)


def test_make_install(checkout, tmp_path):
    """As docs/operations.md says, into the real place, over which something else is mounted."""
    block = pages.shown("docs/operations.md", "make install")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ["unshare", "--mount", "bash", "-c", OVER_THE_REAL_ONES, scratch, block.text]
    with Typed(tmp_path, checkout, *words) as typed:
        typed.until_ready()
        made = "ls -d /usr/local/sbin/sandboxd /usr/local/bin/platformctl /usr/local/lib/code-sandbox/image " \
               "/var/lib/code-sandbox/admin-key && /usr/local/bin/platformctl run -c 'print(6 * 7)'"
        enter = ["nsenter", "-t", str(typed.process.pid), "--mount"]
        inside = subprocess.run([*enter, "sh", "-ec", made], capture_output=True, text=True, timeout=60, env=checkout)
        assert inside.returncode == 0 and inside.stdout.endswith("\n42\n"), inside
    assert not os.path.exists("/usr/local/sbin/sandboxd"), "nothing of that stays"


def test_the_image_is_made_and_checked(checkout):
    """docs/image.md. The check takes a minute, and is a stage of its own of all tests."""
    command = pages.shown("docs/image.md", "image/build").text
    made = subprocess.run(["bash", "-ec", command], cwd=REPOSITORY, env=checkout, capture_output=True, text=True,
                          timeout=280)
    assert made.returncode == 0, made.stdout + made.stderr
    check = pages.shown("docs/image.md", "image/verify").text.strip()
    assert f'run(["{check}"]' in (REPOSITORY / "scripts" / "test").read_text()


def test_settings_of_the_kernel(private_network):
    """docs/operations.md: doctor asks for these, is content afterwards, and this kernel has them. They belong to the
    whole machine, so the commands are tried on files in their place."""
    block = pages.shown("docs/operations.md", "sysctl -w")
    settings = dict(re.findall(r"([a-z_.]+)=(\d)", block.text))
    files = {name: name.replace(".", "/") for name in settings}
    doctor = f'"{PROGRAM.parent}/platformctl" doctor | grep -A2 sysctls || true'
    script = f"{doctor}; echo ----\n{block.text}\necho ----; {doctor}"
    words = ["unshare", "--mount", "bash", "-c", UNPROTECTED, " ".join(files.values()), script]
    done = subprocess.run(words, timeout=100, capture_output=True, text=True, env={"PATH": PATH, "HOME": "/nonexistent"})
    before, _, after = done.stdout.split("----\n")
    assert set(re.findall(r"([a-z_]+\.[a-z_.]+)=\d", before)) == set(settings), done
    assert "are set" in after and "could protect" not in after, done
    missing = {name for name, file in files.items() if not os.path.exists(f"/proc/sys/{file}")}
    assert missing <= {"kernel.yama.ptrace_scope"}, "that one is part of a security module that a kernel may lack"
