"""The Python side of src/spawn/frames.h says the same as the C side."""

import re

import runner_support as support
from sandbox_runner import frames

HEADER = (support.TREE / "src/spawn/frames.h").read_text()


def enum_values() -> dict:
    """Values of enum frame_type, as the compiler counts."""
    body = re.search(r"enum frame_type \{(.*?)\};", HEADER, re.S)[1]
    values, at = {}, -1
    for name, value in re.findall(r"(FRAME_\w+)(?:\s*=\s*(\d+))?,", body):
        at = int(value) if value else at + 1
        values[name] = at
    return values


def constant(name: str) -> int:
    value = re.search(rf"#define {name} (.+?)(?:/\*|$)", HEADER, re.M)[1].strip()
    return eval(re.sub(r"UINT(?:32|64)_C\((\d+)\)", r"\1", value))


def test_types():
    values = enum_values()
    for name in ("CODE", "STARTED", "RESULT", "CELL", "CELL_END"):
        assert getattr(frames, name) == values[f"FRAME_{name}"], name
    assert re.search(r"enum \{ CELL_FD_STDIN, CELL_FD_STDOUT, CELL_FD_STDERR, CELL_FDS \};", HEADER) and frames.CELL_FDS == 3
    assert re.search(r"struct cell_end \{\s*int32_t exit_code;[^;]*\};", HEADER)


def test_limits():
    for name in ("CODE_BYTES_MAX", "RESULT_FRAME_BYTES", "RESULTS_BYTES_MAX", "RESULTS_MAX"):
        assert getattr(frames, name) == constant(name), name


def test_header():
    assert re.search(r"struct frame \{\s*uint32_t type;.*?\n\s*uint32_t length;", HEADER)
    assert frames.HEADER_BYTES == 8
    assert frames.header(3, 0x01020304) == b"\3\0\0\0\4\3\2\1"
    assert frames.parse_header(frames.header(77, 12345)) == (77, 12345)
