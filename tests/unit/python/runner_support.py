"""The tests' side of template_process.py: starts it, sends a snippet, collects what came of it."""

import base64
import json
import os
import re
import selectors
import shutil
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[2]
sys.path.insert(0, str(TREE / "tests"))

from support.signals import reset_inherited  # noqa: E402

PACKAGE = TREE / "src/template/python/sandbox_runner"
EXTENSION = TREE / "src/template/root_frame_module.c"

CODE, STARTED, RESULT, CELL, CELL_END = 1, 2, 3, 4, 5
SECONDS = int(os.environ.get("RUNNER_TEST_SECONDS", "60"))  # for any one run; far more than one needs

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "USER": "nonroot",
    "LOGNAME": "nonroot",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "MPLBACKEND": "Agg",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}


@dataclass
class Outcome:
    status: int = 0  # as from waitpid
    stdout: str = ""
    stderr: str = ""
    faults: int = 0  # page faults of the child, all its life
    seconds: float = 0.0
    frames: list = field(default_factory=list)  # (type, payload, seconds after the claim)
    folder: Path | None = None  # what was written, when the test can see it

    @property
    def exit_code(self) -> int:
        return os.waitstatus_to_exitcode(self.status)

    @property
    def results(self) -> list:
        return [json.loads(payload) for kind, payload, _ in self.frames if kind == RESULT]

    @property
    def texts(self) -> list:
        return [result.get("text/plain") for result in self.results]

    @property
    def pictures(self) -> list:
        return [base64.b64decode(result["image/png"]) for result in self.results if "image/png" in result]


def frame(kind: int, payload: bytes) -> bytes:
    return struct.pack("<II", kind, len(payload)) + payload


def parse_frames(data: bytes, when: list) -> list:
    """Splits the stream; `when` tells the time at which each number of bytes had come."""
    found, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert at + 8 + length <= len(data), "the last frame is torn"
        at += 8 + length
        found.append((kind, data[at - length : at], next(t for have, t in when if have >= at)))
    return found


def memory_file(content: bytes) -> int:
    fd = os.memfd_create("test")
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def build_extension(folder: Path) -> None:
    """The extension module is built against the stable ABI: the headers of any Python from 3.10 on serve."""
    includes = {sysconfig.get_path("include")} | {str(path) for path in Path("/usr/include").glob("python3.*")}
    include = next(path for path in sorted(includes) if os.path.exists(os.path.join(path, "Python.h")))
    subprocess.run(
        [os.environ.get("CC", "cc"), "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{include}",
         str(EXTENSION), "-o", str(folder / "_root_frame.abi3.so")],
        check=True,
    )


def stage(folder: Path, built: str | None = None, extension: bool = True) -> Path:
    """What template_process.py imports: the build's own folder, or the package and a freshly built extension module."""
    if built:
        shutil.copytree(built, folder)
    else:
        shutil.copytree(PACKAGE, folder / "sandbox_runner", ignore=shutil.ignore_patterns("__pycache__"))
        if extension:
            build_extension(folder)
    shutil.copy(HERE / "template_process.py", folder)
    return folder


class Place:
    """Where the interpreter under test lives: this one, or the one of a built image."""

    def __init__(self, image: str | None, python: str | None = None):
        self.image = image
        self.python = "/usr/local/bin/python3" if image else python or sys.executable

    def command(self, tools: Path, kind: str, fd: int) -> list:
        if not self.image:
            return [self.python, str(tools / "template_process.py"), str(fd), kind, str(tools)]
        steps = (
            'mount --make-rprivate / && mount --rbind "$0" "$0" && mount --bind "$1" "$0/opt/sandbox"'
            ' && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev"'
            ' && for name in null zero full random urandom; do : > "$0/dev/$name"; mount --bind "/dev/$name" "$0/dev/$name"; done'
            ' && mkdir -m 1777 "$0/dev/shm" && mount -t tmpfs tmpfs "$0/dev/shm" && ln -s /proc/self/fd "$0/dev/fd"'
            ' && for folder in /tmp /home/nonroot /mnt/data; do mount -t tmpfs tmpfs "$0$folder"; done'
            ' && mount -o remount,bind,ro "$0" && exec "$5" "$0" "$2" /opt/sandbox/template_process.py "$3" "$4" /opt/sandbox'
        )
        chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
        return ["unshare", "--mount", "sh", "-c", steps, self.image, str(tools), self.python, str(fd), kind, chroot]


class Server:
    """One template_process."""

    def __init__(self, place: Place, tools: Path, kind: str, home: Path):
        self.place, self.kind = place, kind
        self.folders = []
        self.home = Path("/home/nonroot") if place.image else home
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {
            **ENVIRONMENT,
            "HOME": str(self.home),
            "MPLCONFIGDIR": str(self.home / ".config/matplotlib"),
        }
        # Ignored signals are inherited, and the two kinds of process would not inherit the same.
        self.process = subprocess.Popen(
            place.command(tools, kind, theirs.fileno()), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment,
            cwd="/", preexec_fn=reset_inherited,
        )
        theirs.close()
        self.channel = ours
        ours.settimeout(180)
        assert ours.recv(100) == b"{}", f"the {kind} process did not start"
        ours.settimeout(SECONDS)

    def close(self) -> None:
        self.channel.close()
        self.process.wait(10)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, source="", *, stdin: bytes = b"", safe_path: bool = False, call: str = "", hold: bool = False,
            before_claim=None, claim: bytes | None = None, environment: dict | None = None) -> Outcome:
        """Runs a snippet to its end. `claim` are raw bytes to send instead of the frame with the code."""
        source = source.encode() if isinstance(source, str) else source
        folder = Path(tempfile.mkdtemp(prefix="runner-test-"))
        self.folders.append(folder)
        request = self._request(folder, source, call, hold, safe_path, environment or {})
        outcome = self._exchange(request, frame(CODE, source) if claim is None else claim, source, stdin, hold, before_claim)
        outcome.stdout, outcome.stderr = (self._neutral(text, request) for text in (outcome.stdout, outcome.stderr))
        if not self.place.image:
            outcome.folder = folder / "data"
        return outcome

    def _request(self, folder: Path, source: bytes, call: str, hold: bool, safe_path: bool, environment: dict) -> dict:
        os.mkdir(folder / "data")
        if self.place.image:
            workdir, script, fresh = "/mnt/data", "/home/nonroot/main.py", ["/mnt/data", "/home/nonroot", "/tmp"]
        else:
            workdir, script, fresh = str(folder / "data"), str(folder / "main.py"), []
        if safe_path and self.kind == "plain":
            environment = {**environment, "PYTHONSAFEPATH": "1", "PYTHONPATH": workdir}
        return {"workdir": workdir, "script": script, "fresh": fresh, "call": call, "hold": hold, "environment": environment,
                "source": len(source)}

    def _exchange(self, request: dict, claim: bytes, source: bytes, stdin: bytes, hold: bool, before_claim) -> Outcome:
        input_fd, source_fd = memory_file(stdin), memory_file(source)
        null = os.open("/dev/null", os.O_RDONLY)
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        ours, theirs = socket.socketpair()
        plain = self.kind == "plain"
        fds = [input_fd if plain else null, out_write, err_write] + [source_fd if plain else theirs.fileno()]
        socket.send_fds(self.channel, [json.dumps(request).encode()], fds)
        for fd in (out_write, err_write):
            os.close(fd)
        theirs.close()
        pid = json.loads(self.channel.recv(1000))["pid"]
        if hold:
            assert os.read(out_read, 100) == b"parked\n"
        if before_claim:
            before_claim(pid)
        began = time.monotonic()
        if not plain and not request["call"]:
            self._send_claim(ours, claim, input_fd)
        parts = self._read_all(pid, {out_read: "stdout", err_read: "stderr", ours.fileno(): "frames", self.channel.fileno(): "end"})
        for fd in (input_fd, source_fd, null, out_read, err_read):
            os.close(fd)
        ours.close()
        reply = json.loads(parts["end"][0][1])
        data = {name: b"".join(chunk for _, chunk in parts[name]) for name in parts}
        have, when = 0, []
        for moment, chunk in parts["frames"]:
            have += len(chunk)
            when.append((have, moment - began))
        return Outcome(
            status=reply["status"], faults=reply["faults"], seconds=parts["end"][0][0] - began,
            stdout=data["stdout"].decode("utf-8", "surrogateescape"), stderr=data["stderr"].decode("utf-8", "surrogateescape"),
            frames=parse_frames(data["frames"], when),
        )

    def open_session(self) -> "Session":
        folder = Path(tempfile.mkdtemp(prefix="runner-test-"))
        self.folders.append(folder)
        return Session(self, self._request(folder, b"", "", False, False, {}))

    @staticmethod
    def _send_claim(ours, claim: bytes, input_fd: int) -> None:
        """The descriptor rides on the first byte; a large program is sent while the child reads."""
        if claim:
            sent = socket.send_fds(ours, [claim[:65536]], [input_fd])
            ours.sendall(claim[sent:])
        ours.shutdown(socket.SHUT_WR)

    def _read_all(self, pid: int, sources: dict) -> dict:
        """Reads until the main process is gone and what it had written is read; what it left running may hold pipes open."""
        parts = {name: [] for name in sources.values()}
        deadline = time.monotonic() + SECONDS
        with selectors.DefaultSelector() as selector:
            for fd, name in sources.items():
                selector.register(fd, selectors.EVENT_READ, name)
            while True:
                ready = selector.select(0 if parts["end"] else max(0, deadline - time.monotonic()))
                if not ready and parts["end"]:
                    return parts
                if not ready:
                    os.kill(pid, 9)
                    deadline = time.monotonic() + 5
                for key, _ in ready:
                    try:
                        chunk = os.read(key.fd, 1 << 20)
                    except ConnectionResetError:
                        chunk = b""
                    if chunk:
                        parts[key.data].append((time.monotonic(), chunk))
                    if not chunk or key.data == "end":
                        selector.unregister(key.fd)

    def _neutral(self, text: str, request: dict) -> str:
        """Paths and addresses that differ from run to run by nature."""
        text = text.replace(request["workdir"], "/mnt/data").replace(request["script"], "/home/nonroot/main.py")
        text = re.sub(r"(refcount : )\d+", r"\1…", text)
        text = re.sub(r"(Ran \d+ tests? in )[0-9.]+", r"\1…", text)
        text = re.sub(r"(MainThread, started) \d+", r"\1 …", text)
        return re.sub(r"0x[0-9a-f]{6,}", "0x…", text)


class Session:
    """One interpreter that runs cells, over the channel and the streams that a sandbox has."""

    def __init__(self, server: Server, request: dict):
        self.server, self.request = server, request
        null = os.open("/dev/null", os.O_RDWR)
        self.channel, theirs = socket.socketpair()
        self.channel.settimeout(SECONDS)
        socket.send_fds(server.channel, [json.dumps(request).encode()], [null, null, null, theirs.fileno()])
        theirs.close()
        os.close(null)
        self.pid = json.loads(server.channel.recv(1000))["pid"]
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.ended:
            try:
                os.kill(self.pid, 9)
            except ProcessLookupError:
                pass  # the test saw it end
            self.end()

    def end(self) -> int:
        """Waits for the process; its status as from waitpid."""
        self.channel.close()
        self.ended = True
        return json.loads(self.server.channel.recv(1000))["status"]

    def send(self, source: str, stdin: bytes = b"") -> tuple[int, int]:
        data = source.encode()
        out, out_inside = os.pipe()
        err, err_inside = os.pipe()
        fds = [memory_file(stdin), out_inside, err_inside]
        message = frame(CELL, data)
        sent = socket.send_fds(self.channel, [message[:65536]], fds)
        self.channel.sendall(message[sent:])
        for fd in fds:
            os.close(fd)
        return out, err

    def run(self, source: str, stdin: bytes = b"", settle: float = 0.0) -> Outcome:
        """Runs one cell; `settle` seconds after its end its pipes are read, which by then must have come to theirs."""
        began = time.monotonic()
        out, err = self.send(source, stdin)
        readers = {fd: _Drain(fd) for fd in (out, err)}
        frames = []
        while not frames or frames[-1][0] != CELL_END:
            kind, length = struct.unpack("<II", self._read(8))
            frames.append((kind, self._read(length), time.monotonic() - began))
        seconds = time.monotonic() - began
        time.sleep(settle)
        text = [self._neutral(readers[fd].take()) for fd in (out, err)]
        status = struct.unpack("<i", frames.pop()[1])[0]
        folder = None if self.server.place.image else Path(self.request["workdir"])
        return Outcome(status=status << 8, stdout=text[0], stderr=text[1], seconds=seconds, frames=frames, folder=folder)

    def _neutral(self, data: bytes) -> str:
        text = self.server._neutral(data.decode("utf-8", "surrogateescape"), self.request)
        return text.replace(os.path.dirname(self.request["script"]), "/home/nonroot")

    def _read(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = self.channel.recv(length - len(data))
            if not part:
                raise EOFError("the session's process hung up")
            data += part
        return data


class _Drain:
    """Reads a pipe until it is at its end, or until what it has so far is asked for: a process may hold it open."""

    def __init__(self, fd: int):
        self._fd, self._parts = fd, []
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        while part := os.read(self._fd, 65536):
            self._parts.append(part)
        os.close(self._fd)

    def take(self) -> bytes:
        self._thread.join(0.5)
        return b"".join(self._parts)
