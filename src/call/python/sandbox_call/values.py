"""What may be a result: strictly what JSON has, bounded, and with words for what does not fit.

The service hands it on as it is. So nothing is bent to fit here: a key that is not text, a number that JSON does not
have, an object of some class would come out as something else than went in.
"""

RESULT_BYTES_MAX = 8 << 20
DEPTH_MAX = 60
LARGEST_INTEGER = 2**63 - 1
INFINITY = float("inf")


class ResultTooLarge(Exception):
    """The service holds all of it in memory, and so does whoever asked."""


def check(value):
    """TypeError says where it has no form in JSON, ResultTooLarge what the limit is."""
    Check().value(value)


def bounded(text):
    if len(text) > RESULT_BYTES_MAX:
        raise too_large(f"has {len(text):,} bytes")
    return text


def too_large(what):
    return ResultTooLarge(
        f"the result {what} as JSON, and a call may return {RESULT_BYTES_MAX:,}; return less of it, or parts of it in "
        "several calls"
    )


class Check:
    """Walks through it, and no further than the largest result could be: a small object can be a huge text."""

    def __init__(self):
        self.bytes = 0  # that it has at least
        self.path = []  # keys and indices

    def value(self, value):
        kind = type(value)
        if kind is str:
            self.count(len(value) + 2)
            if not value.isascii() and not can_be_written(value):
                raise TypeError(f"{self.where()} is text that UTF-8 cannot write: it has half of a surrogate pair")
            return
        self.count(1)
        if kind is int:
            if not -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER:
                raise TypeError(f"{self.where()} is an integer of more than 64 bits, which JSON readers do not take: "
                                "return it as text")
        elif kind is float:
            if not -INFINITY < value < INFINITY:
                raise TypeError(f"{self.where()} is {value}, for which JSON has no number: return None instead")
        elif kind is list or kind is tuple or kind is dict:
            self.container(value, enumerate(value) if kind is not dict else value.items())
        elif value is not None and kind is not bool:
            raise TypeError(
                f"{self.where()} is a {kind.__module__}.{kind.__qualname__}, which has no form in JSON: return text, "
                "numbers, True, False, None, and lists and dictionaries of them"
            )

    def container(self, container, items):
        if len(self.path) >= DEPTH_MAX:
            raise TypeError(f"the result is nested deeper than {DEPTH_MAX} levels, or contains itself")
        self.path.append(None)
        for key, item in items:
            if type(container) is dict:
                self.key(key)
            self.path[-1] = key
            self.value(item)
        self.path.pop()

    def key(self, key):
        if type(key) is not str:
            raise TypeError(f"{self.where(-1)} has a key of type {type(key).__qualname__}, and keys in JSON are text")
        self.count(len(key) + 3)
        if not key.isascii() and not can_be_written(key):
            raise TypeError(f"a key of {self.where(-1)} is text that UTF-8 cannot write: it has half of a surrogate "
                            "pair")

    def count(self, more):
        self.bytes += more
        if self.bytes > RESULT_BYTES_MAX:
            raise too_large(f"has more than {RESULT_BYTES_MAX:,} bytes")

    def where(self, end=None):
        keys = (repr(key[:40]) if type(key) is str else str(key) for key in self.path[:end])
        return "the result" + "".join(f"[{key}]" for key in keys)


def can_be_written(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
