"""Frames on the claim channel. The contract is src/spawn/frames.h; tests/unit/python/test_frames.py compares the two.

A frame is a header of two little-endian 32-bit integers, type and length, and ``length`` bytes of payload.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

CODE = 1
STARTED = 2
RESULT = 3
CELL = 4
CELL_END = 5

CELL_FDS = 3  # standard input, output, error

HEADER_BYTES = 8
CODE_BYTES_MAX = 32 << 20
RESULT_FRAME_BYTES = 8 << 20
RESULTS_BYTES_MAX = 16 << 20
RESULTS_MAX = 100


def header(kind: int, length: int) -> bytes:
    return kind.to_bytes(4, "little") + length.to_bytes(4, "little")


def parse_header(data) -> tuple[int, int]:
    return int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")
