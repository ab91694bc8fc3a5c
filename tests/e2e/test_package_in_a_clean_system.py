"""The Debian package on a Debian that has nothing else: installed, used as its documentation says, upgraded, removed.

The system is a minimal Debian of its own with the packages that this one depends on in its cache (scripts/clean-system,
which the stage "service" calls; without it the test is skipped). There is no systemd at work in it: what the unit would start is started by hand, with the unit's own command and environment, in a network
namespace without a way out. It becomes the root by pivot_root and not by chroot, because nobody may make a user
namespace in a chroot (user_namespaces(7)).
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from docs import pages
from support.client import Client
from support.host import wait_until
from support.service import free_port

REPOSITORY = Path(__file__).resolve().parents[2]
OPERATIONS = (REPOSITORY / "docs" / "operations.md").read_text()
CLEAN_SYSTEM = Path(os.environ.get("SANDBOX_CLEAN_SYSTEM", REPOSITORY / "build" / "clean-system"))
BECOME_ROOT = """
set -e
ip link set lo up
mount --make-rprivate /
mount --rbind "$0" "$0"
cd "$0"
mount --rbind /sys sys
mount --rbind /dev dev
mount -t proc proc proc
mkdir -p .old
pivot_root . .old
umount --lazy /.old
exec "$@"
"""


def run(*words, seconds=280, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=seconds, **more)
    assert done.returncode == 0, f"{words}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


class CleanSystem:
    def __init__(self, folder):
        self.root, self.service = folder, None
        folder.mkdir()
        run("tar", "-C", folder, "-xpf", CLEAN_SYSTEM / "system.tar", "--numeric-owner")

    def in_it(self, *words):
        return run("unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', self.root, *words)

    def as_a_reader(self, block):
        """What a page shows, line by line, typed by root in its folder: who needs no sudo, and has no systemd, so that
        what the unit starts and stops is started and stopped by hand."""
        for line in block.replace("sudo ", "").splitlines():
            for command in line.split(" && "):
                if command == "systemctl enable --now code-sandbox":
                    self.in_it("systemctl", "enable", "code-sandbox")
                    self.start()
                elif command == "systemctl start code-sandbox":
                    self.start()
                elif command == "systemctl stop code-sandbox":
                    self.stop()
                elif self.service:
                    self.shell(command)
                else:
                    self.in_it("env", "-i", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                               "DEBIAN_FRONTEND=noninteractive", "sh", "-ec", "cd /root\n" + command)

    def apt(self, *words):
        return self.in_it("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", "--no-install-recommends", *words)

    def start(self):
        unit = (self.root / "usr/lib/systemd/system/code-sandbox.service").read_text()
        command = re.search(r"^ExecStart=(.+)$", unit, re.M)[1]
        environment = re.findall(r"^Environment=(.+)$", unit, re.M)
        with open(self.root / "service.log", "ab") as log:
            self.service = subprocess.Popen(
                ["unshare", "--mount", "--net", "bash", "-c", BECOME_ROOT, self.root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                 *environment, *command.split()], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        assert wait_until(self.is_ready, 120, 0.2), (self.root / "service.log").read_text()[-3000:]

    def is_ready(self):
        assert self.service.poll() is None, (self.root / "service.log").read_text()[-3000:]
        asked = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/readyz', timeout=2)"
        return subprocess.run(["nsenter", f"--net=/proc/{self.service.pid}/ns/net", "/usr/bin/python3", "-c", asked],
                              capture_output=True).returncode == 0

    def shell(self, script):
        """Beside the running service."""
        return run("nsenter", "-t", self.service.pid, "--mount", "--net", "env", "-i", "HOME=/root",
                   "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-ec", "cd /root\n" + script)

    def stop(self):
        if self.service and self.service.poll() is None:
            self.service.terminate()
            assert self.service.wait(60) == 0
        self.service = None


def installed_as_documented(system, package):
    """The package lies where `make deb` puts it; scripts/clean-system has made it, as `make deb` does."""
    make, rest = pages.shown("docs/operations.md", "make deb").text.split("\n", 1)
    made = run(*make.split(), "--dry-run", "--no-print-directory", cwd=REPOSITORY)
    assert made.splitlines()[-1] == "scripts/deb", made
    (system.root / "etc/apt/apt.conf.d/90test").write_text('APT::Get::Assume-Yes "1";\nAPT::Install-Recommends "0";\n')
    folder = system.root / "root" / "build" / "deb"
    folder.mkdir(parents=True)
    shutil.copy(package, folder)
    system.as_a_reader(rest)


@pytest.fixture(scope="module")
def package():
    found = sorted((CLEAN_SYSTEM / "package").glob("*.deb"))
    if not found or not (CLEAN_SYSTEM / "system.tar").exists():
        pytest.skip("there is no clean system: scripts/clean-system makes it")
    return found[-1]


@pytest.fixture
def system(package, private_network, tmp_path_factory):
    made = CleanSystem(tmp_path_factory.mktemp("debian") / "root")
    yield made
    made.stop()
    # Mounts in it, if any were left, are not to be walked into.
    run("rm", "-rf", "--one-file-system", made.root)


def next_version(package, folder):
    run("dpkg-deb", "-R", package, folder / "next")
    control = folder / "next" / "DEBIAN" / "control"
    control.write_text(re.sub(r"^Version: (.+)$", r"Version: \1+next", control.read_text(), flags=re.M))
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", folder / "next", folder / "next.deb")
    return folder / "next.deb"


def test_from_nothing_to_a_chart_and_back_to_nothing(system, package, tmp_path):
    installed_as_documented(system, package)
    assert "code-sandbox:" in (system.root / "etc/passwd").read_text()
    assert system.service, "it was started as the page says"
    assert (system.root / "etc/systemd/system/multi-user.target.wants/code-sandbox.service").is_symlink()

    system.as_a_reader(pages.shown("docs/operations.md", "sudo platformctl login").text)
    chart = system.root / "root" / "charts" / "sales.png"
    assert chart.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "sales.png" in system.shell("platformctl files list sales")

    system.as_a_reader(pages.shown("docs/operations.md", "sudo platformctl backup").text)
    assert (system.root / "var/lib/code-sandbox.old").exists(), "what runs now is what was restored"
    assert "sales.png" in system.shell("platformctl files list sales")
    system.shell("rm -r /var/lib/code-sandbox.old")
    system.stop()

    shutil.copy(next_version(package, tmp_path), system.root / "next.deb")
    marked = system.root / "etc/code-sandbox/sandboxd.conf"
    marked.write_text(marked.read_text() + "warm_pool = 1\n")
    system.apt("-o", "Dpkg::Options::=--force-confold", "install", "/next.deb")
    assert "+next" in system.in_it("dpkg-query", "-W", "code-sandbox")
    assert marked.read_text().endswith("warm_pool = 1\n"), "an upgrade keeps the configuration"
    system.start()
    assert "sales.png" in system.shell("platformctl files list sales"), "an upgrade keeps the data"
    system.stop()

    system.apt("remove", "code-sandbox")
    wanted = system.root / "etc/systemd/system/multi-user.target.wants/code-sandbox.service"
    assert not wanted.is_symlink(), "a removal leaves no link of `systemctl enable`"
    left = {path for path in ("usr/sbin/sandboxd", "usr/bin/platformctl", "usr/lib/code-sandbox",
                              "usr/lib/systemd/system/code-sandbox.service") if (system.root / path).exists()}
    assert left == set(), "a removal leaves no program"
    assert (system.root / "var/lib/code-sandbox/admin-key").exists() and marked.exists(), "but data and configuration"

    system.apt("purge", "code-sandbox")
    assert not (system.root / "var/lib/code-sandbox").exists() and not marked.exists(), "a purge leaves nothing"


def container(capabilities, address):
    """What `docker run` with the documented options makes of it, for crun."""
    tmpfs = {"type": "tmpfs", "source": "tmpfs"}
    return {
        "ociVersion": "1.0.0", "root": {"path": "root"}, "hostname": "sandboxd",
        "process": {
            "user": {"uid": 0, "gid": 0}, "args": ["/usr/sbin/sandboxd"], "cwd": "/", "noNewPrivileges": True,
            "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"SANDBOX_LISTEN={address}",
                    "SANDBOX_CONFIG_FILE=/etc/code-sandbox/sandboxd.conf"],
            "capabilities": {kind: capabilities for kind in ("bounding", "effective", "permitted")},
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", **tmpfs, "options": ["nosuid", "mode=755", "size=65536k"]},
            {"destination": "/run", **tmpfs, "options": ["nosuid", "nodev", "mode=755"]},
            {"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "rw"]},
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")],
                  "resources": {"devices": [{"allow": True, "access": "rwm"}]}},
    }


def test_in_a_container_that_may_what_the_documentation_says(system, package):
    assert shutil.which("crun"), "crun is missing: scripts/install-packages --test"
    shutil.copy(package, system.root / "package.deb")
    system.apt("install", "/package.deb")
    command = OPERATIONS.split("docker run", 1)[1].split("```", 1)[0]
    capabilities = [f"CAP_{name}" for name in re.findall(r"--cap-add (\w+)", command)]
    port = free_port()
    bundle = system.root.parent
    (bundle / "config.json").write_text(json.dumps(container(capabilities, f"127.0.0.1:{port}")))
    # crun takes control groups of version 1 or 2, and not both at once.
    start = 'mount --make-rprivate /; umount -l /sys/fs/cgroup/unified 2>/dev/null; exec crun run --bundle "$0" "$1"'
    with open(bundle / "log", "w") as log:
        process = subprocess.Popen(["unshare", "--mount", "sh", "-c", start, bundle, f"code-sandbox-test-{port}"],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        client = Client(port, "")
        ready = wait_until(lambda: process.poll() is not None or answers(client), 120, 0.2)
        assert ready and process.poll() is None, (bundle / "log").read_text()[-3000:]
        client.key = (system.root / "var/lib/code-sandbox/admin-key").read_text().strip()
        assert client.execute("import os; print(os.getuid(), 6 * 7)").stdout == "65532 42\n"
    finally:
        process.terminate()
        assert process.wait(60) == 0


def answers(client):
    try:
        return client.get("/readyz", key=None, timeout=2).status == 200
    except OSError:
        return False
