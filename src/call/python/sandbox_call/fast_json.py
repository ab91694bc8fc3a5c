"""JSON without the package json, whose import takes as long as a trivial call otherwise does: it compiles expressions.

What does the work in both cases is the interpreter's own ``_json``. That is nobody's interface, so whatever is not as
expected there leads to the package.
"""

try:
    import _json
except ImportError:
    _json = None


class _Settings:
    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float = float
    parse_int = int


def loads(text):
    text = text.decode()
    try:
        value, end = _json.make_scanner(_Settings)(text, 0)
        if end == len(text):
            return value
    except Exception:
        pass
    import json

    return json.loads(text)


def _refuse(value):
    raise TypeError(type(value))


def dumps(value):
    """Of plain data; see values.py."""
    try:
        encode = _json.make_encoder(None, _refuse, _json.encode_basestring, None, ":", ",", False, False, False)
        return "".join(encode(value, 0)).encode()
    except Exception:
        import json

        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
