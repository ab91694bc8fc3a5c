"""Runs the real spawner with a test in the api process's place.

``Spawner`` starts ``sandboxd`` from a copy of the build folder in which ``sandboxd-api`` is fake_service.py, so that a test
holds the other end of the privilege boundary and may send whatever it likes. The messages are those of src/spawn/proto.h.
"""

import array
import dataclasses
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SANDBOX_BUILD_DIR", HERE.parents[1] / "build"))

VERSION = 3
CREATE, CLAIM, KILL, REST, RENEW, IMAGE_DROP = 1, 2, 3, 4, 5, 6
HELLO, READY, CREATE_FAILED, EXITED, TEMPLATE, RESTED, IMAGE, SETTINGS = 64, 65, 66, 67, 68, 69, 70, 71
TEMPLATE_STARTING, TEMPLATE_SERVING, TEMPLATE_FAILED = 1, 2, 3
CLAIM_SESSION = 1
PROFILE_SNIPPET, PROFILE_CALL, PROFILE_IMPORT, PROFILE_DISCOVERY = 1, 2, 3, 4
END_EXIT, END_TIMEOUT, END_MEMORY, END_OUTPUT, END_CANCELLED, END_RETIRED, END_LOST = range(1, 8)
FRAME_CODE, FRAME_STARTED, FRAME_RESULT, FRAME_CELL, FRAME_CELL_END = 1, 2, 3, 4, 5
FRAME_CALL, FRAME_PROGRESS, FRAME_CALL_END = 6, 7, 8
FRAME_EGRESS = 24
FRAME_INPUT, FRAME_INPUTS_END, FRAME_INPUT_FAILED = 32, 33, 34
FRAME_FILE, FRAME_SKIPPED, FRAME_FILES_END, FRAME_COLLECT = 35, 36, 37, 38

LAYOUT = struct.Struct("<IIQQQQQQIIIiIiIHHQQIIQQ")
FIELDS = (
    "type version request high low image_high image_low image_bytes profile timeout_ms reason wait_status step error flags room_kept image_kept cpu_us memory_peak "
    "max_sandboxes template_state template_generation template_forks"
).split()


def pack(**fields: int) -> bytes:
    """One message; what is not named is 0, the version is right."""
    fields.setdefault("version", VERSION)
    return LAYOUT.pack(*(fields.get(name, 0) for name in FIELDS))


@dataclasses.dataclass
class Sandbox:
    """A parked sandbox: its id, and the four descriptors that came with it."""

    id: tuple[int, int]
    claim: socket.socket
    work: socket.socket
    stdout: int
    stderr: int

    def send_code(self, code: str) -> None:
        source = code.encode()
        null = os.open("/dev/null", os.O_RDONLY)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null]))]
        self.claim.sendmsg([struct.pack("<II", FRAME_CODE, len(source)) + source], rights)
        os.close(null)

    def output(self) -> bytes:
        parts = []
        while part := os.read(self.stdout, 65536):
            parts.append(part)
        return b"".join(parts)


class Spawner:
    def __init__(self, folder: pathlib.Path, prefix: tuple[str, ...] = (), **settings: str) -> None:
        stage = folder / "program"
        stage.mkdir()
        (folder / "data").mkdir(mode=0o700, exist_ok=True)  # as the api process does
        for name in ("sandboxd", "sandboxd-egress", "sandbox-init", "sandbox-import"):
            shutil.copy2(BUILD / name, stage / name)
        for name in ("template", "call"):
            shutil.copytree(BUILD / name, stage / name)
        shutil.copy2(HERE / "fake_service.py", stage / "sandboxd-api")
        os.chmod(stage / "sandboxd-api", 0o755)

        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(folder / "rendezvous"))
        listener.listen(1)
        listener.settimeout(20)
        image = BUILD / "image" / "image.erofs"
        self.log = folder / "log"
        self.template_state = TEMPLATE_STARTING
        environment = {
            "PATH": os.environ["PATH"],
            "BOUNDARY_RENDEZVOUS": str(folder / "rendezvous"),
            "SANDBOX_DATA_DIR": str(folder / "data"),
            "SANDBOX_IMAGE": str(image if image.exists() else BUILD / "image" / "rootfs"),
            **settings,
        }
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*prefix, stage / "sandboxd"], env=environment, stdout=log, stderr=log)
        self.service, _ = listener.accept()
        _, rights, _, _ = self.service.recvmsg(1, socket.CMSG_SPACE(4))
        self.socket = socket.socket(fileno=struct.unpack("i", rights[0][2])[0])
        listener.close()

    def send(self, **fields: int) -> None:
        self.socket.send(pack(**fields))

    def receive(self, *types: int, seconds: float = 150) -> tuple[dict[str, int], list[int]]:
        """The next message of one of these types; news of the template is passed over unless asked for."""
        deadline = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self.socket], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no message within {seconds} s; log: {self.log.read_text()}"
            data, rights, _, _ = self.socket.recvmsg(LAYOUT.size + 1, socket.CMSG_SPACE(4 * 8))
            assert len(data) == LAYOUT.size, f"the spawner hung up; log: {self.log.read_text()}"
            message = dict(zip(FIELDS, LAYOUT.unpack(data)))
            descriptors = [fd for _, _, raw in rights for fd in array.array("i", raw)]
            if message["type"] == TEMPLATE:
                self.template_state = message["template_state"]
            if message["type"] in types:
                return message, descriptors
            assert message["type"] == TEMPLATE, message

    def await_template(self) -> None:
        while self.template_state != TEMPLATE_SERVING:
            self.receive(TEMPLATE)

    def park(self, request: int = 1) -> Sandbox:
        """Has one sandbox made."""
        self.send(type=CREATE, request=request, profile=PROFILE_SNIPPET)
        message, descriptors = self.receive(READY)
        assert message["request"] == request
        claim, stdout, stderr, work = descriptors
        identity = (message["high"], message["low"])
        return Sandbox(identity, socket.socket(fileno=claim), socket.socket(fileno=work), stdout, stderr)

    def claim(self, sandbox: Sandbox, timeout_ms: int) -> None:
        self.send(type=CLAIM, high=sandbox.id[0], low=sandbox.id[1], timeout_ms=timeout_ms)

    def kill(self, sandbox: Sandbox, reason: int) -> None:
        self.send(type=KILL, high=sandbox.id[0], low=sandbox.id[1], reason=reason)

    def wait_end(self, seconds: float = 20) -> int:
        return self.process.wait(seconds)

    def stop(self) -> None:
        self.socket.close()
        self.service.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
