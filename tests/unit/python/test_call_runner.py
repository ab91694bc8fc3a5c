"""The runner of tool calls under every Python that is installed here, without a room: an agent's image may have any."""

import array
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[3]
RUNNER = SOURCE / "src" / "call" / "python" / "run_tool.py"
AGENT = SOURCE / "tests" / "boundary" / "agent"
CHANNEL_FD = 1024
FRAME_STARTED, FRAME_CALL, FRAME_CALL_END = 2, 6, 8


def interpreters():
    """By version, so that several names of one count once. The system's own is always among them."""
    found = {}
    for name in ["/usr/bin/python3", *(f"python3.{minor}" for minor in range(10, 20))]:
        path = shutil.which(name)
        if not path:
            continue
        version = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        said = subprocess.run(version, capture_output=True, text=True)
        if said.returncode == 0:  # else the name of a version that is not switched on
            found.setdefault(said.stdout.strip(), path)
    return found


INTERPRETERS = interpreters()

# Gives the channel the number that it has in a room, where no other descriptor can have it.
NUMBER_AND_EXECUTE = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
os.dup2(int(sys.argv[1]), 1024)
os.close(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""


def run(python, request):
    """Returns FRAME_CALL_END, what was printed, and the exit status."""
    ours, inside = socket.socketpair()
    ours.settimeout(60)
    request = {"working_dir": str(AGENT), "environment": {"PYTHONPATH": str(SOURCE / "python")}, **request}
    command = [sys.executable, "-c", NUMBER_AND_EXECUTE, str(inside.fileno()), python, "-I", "-B", str(RUNNER)]
    process = subprocess.Popen(command, pass_fds=[inside.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    inside.close()
    body = json.dumps(request).encode()
    with open(os.devnull, "rb") as null:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null.fileno()]))]
        ours.sendmsg([struct.pack("<II", FRAME_CALL, len(body)) + body], rights)
    with ours, ours.makefile("rb") as channel:
        said = channel.read()
    printed = process.communicate(timeout=60)
    assert struct.unpack_from("<II", said) == (FRAME_STARTED, 0), printed
    kind, length = struct.unpack_from("<II", said, 8)
    assert kind == FRAME_CALL_END and len(said) == 16 + length
    return json.loads(said[16:]), printed, process.returncode


@pytest.fixture(params=INTERPRETERS)
def python(request):
    return INTERPRETERS[request.param]


def test_a_result(python):
    request = {"entrypoint": "tools:add", "arguments": {"a": 1, "b": 2}}
    assert run(python, request) == ({"result": 3}, (b"adding 1 2\n", b""), 0)


def test_an_asynchronous_exception(python):
    end, _, status = run(python, {"entrypoint": "tools:fail_later"})
    assert status == 1 and end["error"]["type"] == "ValueError" and end["error"]["builtin"]
    frames = [line for line in end["error"]["traceback"].splitlines() if line.startswith("  File ")]
    assert [frame.split(", in ")[1] for frame in frames] == ["fail_later", "inner"]


def test_c_level_output(python):
    code = "import ctypes; ctypes.CDLL(None).printf(b'from C'); result = 'ä' * 3"
    request = {"entrypoint": "tools:run", "arguments": {"code": code}}
    assert run(python, request) == ({"result": "äää"}, (b"from C", b""), 0)


def test_what_is_no_json(python):
    end, _, _ = run(python, {"entrypoint": "tools:give", "arguments": {"what": "{'a': [float('nan')]}"}})
    assert end["error"]["message"].startswith("the result['a'][0] is nan")


def test_a_declared_tool_and_its_discovery(python):
    request = {"entrypoint": "orders:find_order", "arguments": {"number": 7, "day": "2026-11-30"}}
    assert run(python, request)[0]["result"] == {"number": 7, "day": "2026-12-01", "tags": ["a", "b"]}
    end = run(python, {"discover": None})[0]
    assert [tool["entrypoint"] for tool in end["tools"]] == ["orders:find_order"]
