"""JSON made to exhaust or confuse: depth, breadth, numbers, duplicate and strange keys, huge texts."""
import time

import pytest

BODIES = {
    "depth": b'{"code": "1", "files": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "breadth": b'{"code": "1", "files": [' + b",".join([b"0"] * 500_000) + b"]}",
    "many keys": b"{" + b",".join(b'"k%d": 1' % number for number in range(200_000)) + b"}",
    "duplicate keys": b'{"code": "print(1)", "code": "print(2)"}',
    "escaped duplicate": b'{"code": "print(1)", "\\u0063ode": "print(2)"}',
    "huge number": b'{"code": "1", "timeout_s": ' + b"9" * 100_000 + b"}",
    "huge exponent": b'{"code": "1", "timeout_s": 1e99999999999}',
    "tiny number": b'{"code": "1", "timeout_s": 1e-400}',
    "lone surrogate": b'{"code": "\\ud83d"}',
    "surrogates the wrong way round": b'{"code": "\\ude00\\ud83d"}',
    "NUL in a key": b'{"code": "1", "a\\u0000": 1}',
    "NUL in code": b'{"code": "1\\u0000"}',
    "raw control character": b'{"code": "\x01"}',
    "comments": b'{"code": "1" /* x */}',
    "trailing comma": b'{"code": "1",}',
    "UTF-16": '{"code": "1"}'.encode("utf-16"),
    "prototype": b'{"code": "1", "__proto__": {"x": 1}}',
    "array": b'[{"code": "1"}]',
    "two documents": b'{"code": "1"}{"code": "2"}',
    "many files": b'{"code": "1", "files": [' + b",".join(b'{"name": "f%d", "content": ""}' % number for number in range(5_000)) + b"]}",
}


@pytest.mark.parametrize("name", BODIES)
def test_refused_quickly(service, name):
    before = service.api.resident_bytes
    began = time.monotonic()
    response = service.post(body=BODIES[name])
    assert response.status in (400, 413), response
    assert time.monotonic() - began < 3
    assert len(response.body) < 4096
    assert service.api.resident_bytes - before < 96 << 20
