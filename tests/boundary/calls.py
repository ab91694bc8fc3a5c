"""A tool call driven by hand over the boundary and the sandbox's own channels, as the api process does it."""

import array
import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import struct

from boundary import agent_image
from boundary import harness as boundary
from boundary.harness import Spawner
from boundary.session import frame_of, read_all

MEMORY_BYTES = 1 << 30
CANARY = "canary-of-the-service-4711"
IMAGE = (0x1122334455667788, 0x99AABBCCDDEEFF00)
IMAGE_NAME = f"{IMAGE[0]:016x}{IMAGE[1]:016x}.erofs"


HERE = pathlib.Path(__file__).resolve().parent
REACH_OUT = """
import errno, socket
from code_sandbox import tool

def outcome(address):
    try:
        with socket.create_connection(address, timeout=5):
            return "accepted"
    except ConnectionResetError:  # accepted as well, and ended before connect() had looked
        return "accepted"
    except OSError as problem:
        return errno.errorcode.get(problem.errno, str(problem))

FOUND = f"{outcome(('93.184.215.14', 80))} {outcome(('127.0.0.1', 53))}"

def reach():
    return FOUND

@tool(description=FOUND)
def look() -> None: ...
"""

FILES = {
    "/app/tools.py": (HERE / "agent" / "tools.py").read_text(),
    "/etc/hosts": "",
    "/app/broken.py": "1 +",
    "/agent/orders.py": (HERE / "agent" / "orders.py").read_text(),
    "/agent/parts/shipping.py": "from code_sandbox import tool\n\n@tool\ndef ship() -> None:\n    'Ships.'\n",
    "/agent/reach.py": REACH_OUT,
    "/agent/script.py": "raise SystemExit('a script, which nobody meant to import')",
    "/agent/tests/test_orders.py": "import code_sandbox\nraise RuntimeError('tests are left out')",
}


def start_spawner(folder: pathlib.Path, prefix: tuple[str, ...] = ("unshare", "--net"),
                  more: dict[str, str] | None = None, **settings: str) -> Spawner:
    """
    With one image, which has all of the above, more, and the package for agent authors. The prefix is what starts it: by
    default in a network of its own, without a route out, so that whatever a call tries, and whatever is wrong, reaches
    nobody.
    """
    package = HERE.parents[1] / "python" / "code_sandbox"
    compressor = next(agent_image.ROOTFS.glob("usr/lib/*/libbz2.so.1.0"))
    more = {"/agent/lib/libcopy.so": "/" / compressor.relative_to(agent_image.ROOTFS), **(more or {})}
    # The image's Python is that of a virtual environment, as in many images.
    library = next(agent_image.ROOTFS.glob("usr/local/lib/python3.*")).name
    more |= {
        "/opt/venv/bin/python": pathlib.Path("/usr/local/bin/python3"),
        "/opt/venv/pyvenv.cfg": "home = /usr/local/bin\ninclude-system-site-packages = false\n",
        f"/opt/venv/lib/{library}/site-packages/only_in_venv.py": "HERE = True\n",
    }
    files = FILES | more
    files |= {f"/agent/code_sandbox/{file.name}": file.read_text() for file in package.glob("*.py")}
    agent_image.make(folder, folder / "data" / "images" / IMAGE_NAME, files, "/opt/venv/bin/python")
    settings = {"SANDBOX_WARM_POOL": "0", "SANDBOX_MAX_CONCURRENT": "20", **settings}
    spawner = Spawner(folder, prefix, **settings)
    spawner.receive(boundary.HELLO)
    message, _ = spawner.receive(boundary.IMAGE)
    assert (message["image_high"], message["image_low"]) == IMAGE and message["image_bytes"] > 1 << 20
    return spawner


@dataclasses.dataclass
class Room:
    """One that is parked: its id, and the five descriptors that came with it."""

    id: tuple[int, int]
    claim: socket.socket
    stdout: int
    stderr: int
    work: int
    egress: int | None  # of a room with a network
    request: int = 0

    def close(self) -> None:
        self.claim.close()
        for fd in (self.stdout, self.stderr, self.work, self.egress):
            if fd is not None:
                os.close(fd)

    def send(self, request: dict, stdin: int | None = None) -> None:
        body = json.dumps(request).encode()
        with open(os.devnull, "rb") as null:
            beside = array.array("i", [null.fileno() if stdin is None else stdin])
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, beside)]
            frame = struct.pack("<II", boundary.FRAME_CALL, len(body)) + body
            sent = self.claim.sendmsg([frame], rights)
            self.claim.sendall(frame[sent:])


@dataclasses.dataclass
class Answer:
    end: dict | None  # FRAME_CALL_END; None: there was none
    stdout: bytes
    stderr: bytes
    exited: dict[str, int]
    started: bool

    @property
    def result(self):
        assert self.end and "result" in self.end, self
        return self.end["result"]

    @property
    def error(self) -> dict:
        assert self.end and "error" in self.end, self
        return self.end["error"]


def create(spawner: Spawner, request: int = 1, image: tuple[int, int] = IMAGE,
           profile: int = boundary.PROFILE_CALL) -> None:
    high, low = image
    spawner.send(type=boundary.CREATE, request=request, profile=profile, image_high=high, image_low=low)


def ready(spawner: Spawner, request: int | None = 1) -> Room:
    message, descriptors = spawner.receive(boundary.READY)
    assert request is None or message["request"] == request
    claim, stdout, stderr, work, *egress = descriptors
    room = Room((message["high"], message["low"]), socket.socket(fileno=claim), stdout, stderr, work,
                egress[0] if egress else None, message["request"])
    room.claim.settimeout(60)
    return room


def claim(spawner: Spawner, room: Room, timeout_ms: int = 30_000) -> None:
    spawner.send(type=boundary.CLAIM, high=room.id[0], low=room.id[1], timeout_ms=timeout_ms)


def request_of(entrypoint: str, arguments: dict | None = None, **more) -> dict:
    return {"entrypoint": entrypoint, "arguments": arguments or {}, "environment": {}, "working_dir": "/app", **more}


def finish(spawner: Spawner, room: Room) -> Answer:
    """Reads all there is up to the end of the room."""
    started, end = False, None
    with contextlib.suppress(EOFError, ConnectionResetError):
        while True:
            kind, payload = frame_of(room.claim)
            if kind == boundary.FRAME_STARTED:
                started = True
            else:
                assert kind == boundary.FRAME_CALL_END and end is None, kind
                end = json.loads(payload)
    output = [read_all(fd, 60) for fd in (room.stdout, room.stderr)]
    message, _ = spawner.receive(boundary.EXITED, seconds=30)
    assert (message["high"], message["low"]) == room.id
    room.close()
    return Answer(end, *output, message, started)


def run(spawner: Spawner, request: dict, timeout_ms: int = 30_000, stdin: int | None = None,
        profile: int = boundary.PROFILE_CALL) -> Answer:
    create(spawner, profile=profile)
    room = ready(spawner)
    claim(spawner, room, timeout_ms)
    room.send(request, stdin)
    return finish(spawner, room)


def call(spawner: Spawner, entrypoint: str, timeout_ms: int = 30_000, /, **arguments) -> Answer:
    return run(spawner, request_of(entrypoint, arguments), timeout_ms)
