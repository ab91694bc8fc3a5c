"""Recursion without end, in Python and in the C code of the interpreter and its modules."""
import pytest

DEEP = {
    "function": "def f(): f()\nf()",
    "raised limit": "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)",
    "repr": "x = []\nfor _ in range(200000): x = [x]\nrepr(x)",
    "comparison": "a = b = ()\nfor _ in range(300000): a, b = (a,), (b,)\na == b",
    "json": "import json; json.loads('[' * 500000)",
    "pickle": "import pickle\nx = []\nfor _ in range(300000): x = [x]\npickle.dumps(x)",
    "regular expression": "import re; re.compile('(' * 50000 + ')' * 50000)",
    "parser": "eval('(' * 5000)",
    "compiler": "compile('-' * 100000 + '1', 'x', 'eval')",
    "attribute chain": "compile('a' + '.b' * 500000, 'x', 'eval')",
    "deallocation": "x = None\nfor _ in range(3000000): x = (x,)\ndel x\nprint('fine')",
    "getattr": "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().x",
    "generators": "def g(n): yield from g(n + 1)\nnext(g(0))",
}


@pytest.mark.parametrize("kind", DEEP)
def test_ends_by_itself_or_in_time(service, kind):
    reply = service.execute("print('begun', flush=True)\n" + DEEP[kind], timeout_s=6)
    assert reply.stdout.startswith("begun\n")
    assert reply.outcome in ("ok", "error", "out_of_memory", "timeout")
    assert reply.exit_code in (0, 1, 139, 134, 137, -1)
    assert reply.files == []
