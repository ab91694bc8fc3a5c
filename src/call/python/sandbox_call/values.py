"""A result as JSON: strictly, bounded, and with words for what does not fit.

The service hands it on as it is. So nothing is bent to fit here: a key that is not text, a number that JSON does not
have, a tuple's younger sister would come out as something else than went in.
"""

import json
import math

RESULT_BYTES_MAX = 8 << 20
DEPTH_MAX = 60
LARGEST_INTEGER = 2**63 - 1


class ResultTooLarge(Exception):
    """What a call returns is limited, as the service holds all of it in memory."""


def to_json(value):
    """Bytes of JSON. TypeError says where the value has none, ResultTooLarge what the limit is."""
    Check().value(value, "the result", 0)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), check_circular=False).encode()
    if len(text) > RESULT_BYTES_MAX:
        raise too_large(f"has {len(text):,} bytes")
    return text


def too_large(what):
    return ResultTooLarge(
        f"the result {what} as JSON, more than the {RESULT_BYTES_MAX:,} that a call may return; return less, or parts "
        "of it in several calls"
    )


class Check:
    """Walks through it, and no further than a result of the largest size could be: a small object can be a huge text."""

    def __init__(self):
        self.bytes = 0  # at least

    def value(self, value, where, depth):
        self.bytes += 2
        if self.bytes > 2 * RESULT_BYTES_MAX:
            raise too_large(f"has more than {RESULT_BYTES_MAX:,} bytes")
        kind = type(value)
        if kind is str:
            self.text(value, where)
        elif kind is int:
            if not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
                raise TypeError(f"{where} is an integer of more than 64 bits, which has no safe form in JSON")
        elif kind is float:
            if not math.isfinite(value):
                raise TypeError(f"{where} is {value}, for which JSON has no number; use None instead")
        elif kind is list or kind is tuple or kind is dict:
            self.container(value, where, depth)
        elif value is not None and kind is not bool:
            raise TypeError(
                f"{where} is of the type {kind.__module__}.{kind.__qualname__}, which has no form in JSON; return text, "
                "numbers, True, False, None, and lists and dictionaries of them"
            )

    def container(self, value, where, depth):
        if depth >= DEPTH_MAX:
            raise TypeError(f"{where[:200]} is nested deeper than {DEPTH_MAX} levels, or contains itself")
        if type(value) is not dict:
            for index, item in enumerate(value):
                self.value(item, f"{where}[{index}]", depth + 1)
            return
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"{where} has a key of the type {type(key).__qualname__}; keys in JSON are text")
            self.text(key, f"a key of {where}")
            self.value(item, f"{where}[{key[:40]!r}]", depth + 1)

    def text(self, value, where):
        self.bytes += 2 * len(value)
        try:
            value.isascii() or value.encode()
        except UnicodeEncodeError:
            raise TypeError(f"{where} is text that is not Unicode: it has half of a surrogate pair") from None
