"""Single operations of C code that take hours: no check of the interpreter's comes between, only SIGKILL ends them."""
import pytest

LONG = {
    "regular expression": "import re; re.match(r'(a|a)*$', 'a' * 64 + 'b')",
    "integer to text": "import sys\nsys.set_int_max_str_digits(0)\nstr(3 ** (10 ** 8))",
    "power": "7 ** 7 ** 12",
    "factorial": "import math; math.factorial(10 ** 9)",
    "sorting": "sorted(range(10 ** 6), key=lambda x: [None] * 1000)",
    "permutations": "import itertools; max(itertools.permutations(range(30)))",
    "combinations summed": "import itertools; sum(1 for _ in itertools.product(range(1000), repeat=9))",
    "membership": "10 ** 18 in iter(int, 1)",
    "matrix product": "import numpy as np\na = np.ones((6000, 6000))\nwhile True: a = a @ a * 0",
    "symbolic": "import sympy as s; x = s.Symbol('x'); s.factor(s.expand((x + 1) ** 3000))",
    "hash of an array": "import hashlib; hashlib.pbkdf2_hmac('sha512', b'x', b'y', 2 ** 31 - 1)",
    "one sleep": "import time; time.sleep(2 ** 31)",
    "format width": "f'{1:>{10 ** 9}}' * 100",
    "compress": "import lzma, os\nwhile True: lzma.compress(os.urandom(1 << 22), preset=9)",
}


@pytest.mark.parametrize("kind", LONG)
def test_ends_in_time(service, kind):
    reply = service.execute(LONG[kind], timeout_s=0.8)
    assert reply.outcome in ("timeout", "out_of_memory") and reply.exit_code in (-1, 137), reply
    assert reply.seconds < 3
