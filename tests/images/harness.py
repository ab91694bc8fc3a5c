"""Runs the program that imports images, as its room does but without the room: as nobody, in a folder of its own."""

import array
import ctypes
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile

BUILD = pathlib.Path(os.environ.get("SANDBOX_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build"))
NOBODY, CLAIM_FD = 65532, 1024
FRAME_STARTED, FRAME_CALL, FRAME_PROGRESS, FRAME_CALL_END = 2, 6, 7, 8
GIB = 1 << 30
MS_RDONLY = 1


def whole(channel, length):
    parts = b""
    while len(parts) < length:
        part = channel.recv(length - len(parts))
        if not part:
            raise EOFError(f"the import hung up after {len(parts)} of {length} bytes")
        parts += part
    return parts


def send_call(channel, request, descriptor=None):
    """FRAME_CALL, with the archive beside it."""
    payload = json.dumps(request).encode()
    frame = struct.pack("<II", FRAME_CALL, len(payload)) + payload
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))] if descriptor is not None else []
    channel.sendmsg([frame], rights)


def follow(channel):
    """Every frame up to the last: the reports of progress, and what came of it."""
    progress = []
    while True:
        kind, length = struct.unpack("<II", whole(channel, 8))
        payload = json.loads(whole(channel, length)) if length else None
        if kind == FRAME_PROGRESS:
            progress.append(payload)
        elif kind == FRAME_CALL_END:
            return progress, payload
        else:
            assert kind == FRAME_STARTED and payload is None, kind


class Import:
    """One import from request to end. `image` or `error` is what came of it; `folder` stays for the test to look at."""

    def __init__(self, source, archive=None, **request):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-import-test-"))
        os.chown(self.folder, NOBODY, NOBODY)
        ours, inside = socket.socketpair()
        ours.settimeout(100)
        saved = os.dup2(inside.fileno(), CLAIM_FD)
        inside.close()
        # Of its own: nobody may not walk into every folder that a build can lie in.
        program = shutil.copy2(BUILD / "sandbox-import", self.folder / "program")
        self.process = subprocess.Popen([program, self.folder], pass_fds=(CLAIM_FD,), user=NOBODY,
                                        group=NOBODY, extra_groups=[])
        os.close(saved)
        descriptor = os.open(archive, os.O_RDONLY) if archive else None
        send_call(ours, {"source": source, "max_bytes": GIB, "max_files": 50_000, **request}, descriptor)
        if descriptor is not None:
            os.close(descriptor)
        self.progress, end = follow(ours)
        self.status = self.process.wait(20)
        ours.close()
        self.image, self.error = end.get("image"), end.get("error")
        assert bool(self.image) != bool(self.error), end
        assert self.status == (0 if self.image and not self.image.get("known") else 1)
        assert (self.folder / "image.erofs").exists() == (self.status == 0)

    def close(self):
        shutil.rmtree(self.folder)


class Mounted:
    """The packed image, mounted as the spawner mounts it, in the mount namespace of the test run."""

    def __init__(self, image):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-image-test-"))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(str(image).encode(), str(self.root).encode(), b"erofs", MS_RDONLY, None) != 0:
            # A kernel before 6.12 wants a device.
            subprocess.run(["mount", "-t", "erofs", "-o", "ro,loop", image, self.root], check=True)

    def __enter__(self):
        return self.root

    def __exit__(self, *_):
        subprocess.run(["umount", self.root], check=True)
        self.root.rmdir()
