"""Closing or replacing standard output, in Python and below: the exit code and what was written before stay true."""
import pytest

WAYS = {
    "closed": ("import sys; print('a'); sys.stdout.close()", "a\n", 0),
    "closed below": ("import os; print('a', flush=True); os.close(1)", "a\n", None),
    "both closed and exit": ("import os; os.close(1); os.close(2); os._exit(7)", "", 7),
    "replaced by nothing": ("import sys; print('a'); sys.stdout = None; print('b')", "a\n", 0),
    "replaced by an object": ("import sys\nprint('a')\nclass S:\n    def write(self, t): raise ValueError\n    flush = write\nsys.stdout = S()", "a\n", None),
    "reopened": ("import os, sys; sys.stdout = open('/dev/null', 'w'); print('lost'); os.write(1, b'kept')", "kept", 0),
    "reopened through /proc": ("import sys\nprint('a', flush=True)\ntry:\n    open('/proc/self/fd/1', 'w').write('b')\nexcept OSError:\n    print('b', end='')", "a\nb", 0),
    "detached": ("import sys; print('a'); b = sys.stdout.detach(); b.write(b'c'); b.flush()", "a\nc", None),
    "non-blocking": ("import os, sys; os.set_blocking(1, False); print('a')", "a\n", 0),
    "seek and truncate": ("import os, sys\nprint('a', flush=True)\nfor f in (lambda: os.lseek(1, 0, 0), lambda: os.ftruncate(1, 0)):\n    try: f()\n    except OSError: pass\nprint('b')", "a\nb\n", 0),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_written_is_there(service, way):
    code, expected, exit_code = WAYS[way]
    reply = service.execute(code)
    assert reply.stdout == expected, reply
    if exit_code is not None:
        assert reply.exit_code == exit_code
    assert reply.outcome in ("ok", "error")
