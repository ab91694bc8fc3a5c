"""Results made to exhaust or confuse: figures by the thousand, huge values, representations that fail or lie."""
import pytest

CODES = {
    "a repr that is huge": ("class C:\n    def __repr__(self): return 'x' * (20 << 20)\nC()", None),
    "a repr that never ends": ("class C:\n    def __repr__(self):\n        while True: pass\nC()", "timeout"),
    "a repr that fails": ("class C:\n    def __repr__(self): raise ValueError('r')\nC()", None),
    "a repr that exits": ("import os\nclass C:\n    def __repr__(self): os._exit(3)\nC()", "error"),
    "a repr that is no text": ("class C:\n    def __repr__(self): return 5\nC()", None),
    "a picture that is none": ("class C:\n    def _repr_png_(self): return b'not a picture'\n    def _repr_html_(self): return '<script>1</script>'\nC()", None),
    "a MIME map of strange keys": ("class C:\n    def _repr_mimebundle_(self, **k): return {'a\\nb': 'x', 5: 'y', 'text/plain': object(), '': ''}\nC()", None),
    "a lone surrogate": ("class C:\n    def __repr__(self): return '\\ud800'\nC()", None),
    "two hundred figures": ("import matplotlib.pyplot as plt\nfor n in range(200):\n    plt.figure(figsize=(1, 1)); plt.show(); plt.close()", None),
    "a figure of a billion pixels": ("import matplotlib.pyplot as plt\nplt.figure(figsize=(400, 400), dpi=1000); plt.show()", None),
}


@pytest.mark.parametrize("name", CODES)
def test_bounded(service, name):
    code, outcome = CODES[name]
    before = service.api.resident_bytes
    reply = service.execute("print('x', flush=True)\n" + code, timeout_s=8 if outcome != "timeout" else 1)
    assert reply.stdout.startswith("x\n")
    assert reply.outcome == outcome if outcome else reply.outcome in ("ok", "error", "timeout", "out_of_memory")
    assert len(reply.results) <= 100
    assert sum(len(value) for result in reply.results for value in result.values()) <= 25 << 20
    for result in reply.results:
        assert all(isinstance(kind, str) and isinstance(value, str) for kind, value in result.items())
    assert service.api.resident_bytes - before < 96 << 20
