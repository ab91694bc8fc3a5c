"""Starts the real service for tests and shows it from the host.

A service of the tests has a data folder, a port and a range of host UIDs of its own. Canary strings are planted where
secrets would be: in its environment and in files of its data folder; the client searches every reply for them.
"""
import ctypes
import os
import random
import secrets
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from support import host, signals
from support.client import Client, dedent
from support.host import Process, wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("SANDBOX_TEST_PROGRAM", REPOSITORY / "build" / "sandboxd"))
ROOTFS = PROGRAM.parent / "image" / "rootfs"
WARM_POOL = 3
PROCESSES_PER_ROOM = 3  # its init, the parked interpreter, and the keeper of that one's memory
ROOM_DEPTH = 3  # PID namespaces: the host's, the outer one of all sandboxes, the room's
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def new_uid_base():
    """A range of 65538 host UIDs at random among some thousand, so that services beside each other do not meet."""
    return 1_900_000_000 + 131_072 * random.SystemRandom().randrange(1, 8000)


class Service(Client):
    def __init__(self, folder, settings=None, launcher=()):
        super().__init__(free_port(), "sbx_" + secrets.token_hex(32))
        self.folder = Path(folder)
        self.data_dir = self.folder / "data"
        self.log_path = self.folder / "service.log"
        self.launcher = list(launcher)
        self.uid_base = new_uid_base()
        self.pass_fds = ()
        self.process = None
        self.settings = {
            "SANDBOX_LISTEN": f"127.0.0.1:{self.port}",
            "SANDBOX_DATA_DIR": str(self.data_dir),
            "SANDBOX_ADMIN_KEY": self.key,
            "SANDBOX_WARM_POOL": str(WARM_POOL),
            "SANDBOX_UID_BASE": str(self.uid_base),
            "SANDBOX_CONNECTIONS_PER_ADDRESS": "1000",
            **{name: str(value) for name, value in (settings or {}).items()},
        }
        self.plant_canaries()

    @property
    def warm_pool(self):
        return int(self.settings["SANDBOX_WARM_POOL"])

    # ---- canaries

    def plant_canaries(self):
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        for name in ("AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "DATABASE_PASSWORD"):
            self.environment[name] = self.canary(f"the service's variable {name}")
        for name, mode in (("canary-private.txt", 0o600), ("canary-public.txt", 0o644)):
            path = self.data_dir / name
            path.write_text(self.canary(f"the file {name} of the data folder"))
            path.chmod(mode)
        self.leaks.add(self.key, "the admin key")

    def canary(self, where):
        text = "canary-" + secrets.token_hex(16)
        self.leaks.add(text, where)
        return text

    # ---- life

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def spawn(self):
        """Starts the process, and does not wait for anything."""
        assert PROGRAM.exists(), f"{PROGRAM} is not built: run `make` first"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self.launcher, str(PROGRAM)], env={**self.environment, **self.settings}, cwd="/",
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=as_a_background_job, pass_fds=self.pass_fds)
        return self

    def start(self, seconds=180):
        self.spawn()
        self.wait_ready(seconds)
        self.wait_pool()
        return self

    def wait_ready(self, seconds=180):
        def ready():
            self.fail_if_ended()
            try:
                return self.get("/readyz", key=None, timeout=5).status == 200
            except OSError:
                return False

        assert wait_until(ready, seconds, 0.05), f"not ready after {seconds} s:\n{self.log_tail()}"

    def fail_if_ended(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the service ended with {self.process.returncode}:\n{self.log_tail()}")

    def wait_pool(self, seconds=30):
        """Until the pool is full and every room holds what a parked one holds, nothing else."""
        assert wait_until(self.pool_is_quiet, seconds, 0.05), f"the pool is not quiet: {self.describe_rooms()}"

    def pool_is_quiet(self):
        rooms = self.rooms()
        return len(rooms) == self.warm_pool and all(len(room) == PROCESSES_PER_ROOM for room in rooms.values())

    def stop(self, how=signal.SIGTERM, seconds=30):
        """Ends the service and returns its exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the service did not stop in {seconds} s:\n{self.log_tail()}") from None

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def log_tail(self, lines=40):
        return "\n".join(self.log().splitlines()[-lines:])

    # ---- the view from the host

    @property
    def pid(self):
        return self.process.pid

    @property
    def spawner(self):
        return Process(self.pid)

    @property
    def api(self):
        for process in host.children_of(self.pid):
            try:
                if os.path.basename(process.program).startswith("sandboxd-api"):
                    return process
            except OSError:  # a room's init that is just ending
                continue
        raise AssertionError(f"no api process among the children of {self.pid}")

    @property
    def api_pid(self):
        return self.api.pid

    def processes(self):
        """Everything that runs under a host UID of this service: template, rooms, and the api process if numeric."""
        return host.processes_of(self.uid_base)

    def rooms(self):
        """{PID namespace: processes} of all rooms. A room's PIDs are nested deeper than the template's."""
        found = {}
        for process in self.processes():
            try:
                if len(process.inner_pids) >= ROOM_DEPTH:
                    found.setdefault(process.namespace("pid"), []).append(process)
            except (OSError, KeyError, ValueError, IndexError):
                continue
        return found

    def describe_rooms(self):
        def text(process):
            try:
                return f"{process.pid} {process.name} {process.inner_pids} uid {process.uids[0]}"
            except (OSError, KeyError):
                return f"{process.pid} gone"
        return {space: [text(process) for process in room] for space, room in self.rooms().items()}

    @property
    def template(self):
        """The fork server: the one process of this service that runs the image's Python outside every room."""
        in_rooms = {process.pid for room in self.rooms().values() for process in room}
        for process in self.processes():
            try:
                if process.pid not in in_rooms and "python" in os.path.basename(process.program):
                    return process
            except OSError:
                continue
        return None

    def hold(self, code="", **fields):
        """Runs the code, then keeps its process waiting, so that it can be looked at from the host."""
        return Held(self, code, fields)


class Held:
    """A run that has done its code and waits for a signal. Use as a context manager; `reply` is there after the end."""

    LIMIT = 20

    def __init__(self, service, code, fields):
        self.service, self.fields = service, {"timeout_s": self.LIMIT, **fields}
        self.marker = "held-" + secrets.token_hex(4)
        self.code = dedent(code) + "\n" + dedent(f"""
            import ctypes as _ctypes, signal as _signal
            _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGUSR1])
            _ctypes.CDLL(None).prctl(15, b"{self.marker}", 0, 0, 0)
            _signal.sigtimedwait([_signal.SIGUSR1], {self.LIMIT - 2})
            """)
        self.reply = self.failure = self.process = None

    def work(self):
        try:
            self.reply = self.service.execute(self.code, **self.fields)
        except BaseException as problem:  # shown by the main thread
            self.failure = problem

    def __enter__(self):
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()
        self.process = wait_until(self.find, 15)
        if not self.process:
            self.thread.join(self.LIMIT)
            raise AssertionError(f"the run never came to its end: {self.reply or self.failure!r}")
        return self

    def find(self):
        if not self.thread.is_alive():
            return None
        for process in self.service.processes():
            try:
                if process.name == self.marker:
                    return process
            except (OSError, KeyError):
                continue
        return None

    @property
    def pid(self):
        return self.process.pid

    @property
    def room(self):
        return self.service.rooms().get(self.process.namespace("pid"), [])

    @property
    def init(self):
        return next(process for process in self.room if process.inner_pids[-1] == 1)

    def release(self):
        try:
            os.kill(self.process.pid, signal.SIGUSR1)
        except ProcessLookupError:
            pass
        self.thread.join(self.LIMIT + 5)
        if self.failure:
            raise self.failure
        return self.reply

    def __exit__(self, kind, *_):
        if self.thread.is_alive() and self.process:
            self.release()


def as_a_background_job():
    """In the child: a test run that is killed takes its service with it, and some signals are ignored, as a shell or a
    build machine may have it: none of that may reach a sandbox."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGQUIT, 32, 33):
        signals.set_action(number, signals.IGNORE)


def private_mounts(binds):
    """A launcher that gives the service a mount namespace of its own with some files bound over others."""
    script = "".join(f"mount --bind '{source}' '{target}' && " for source, target in binds) + 'exec "$@"'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]


def measure(action, times):
    """Runs something repeatedly; sorted durations in seconds."""
    seconds = []
    for _ in range(times):
        began = time.monotonic()
        action()
        seconds.append(time.monotonic() - began)
    return sorted(seconds)
