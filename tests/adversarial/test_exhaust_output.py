"""Floods of output: with and without newlines, of single bytes, to both streams by turns, one line of gigabytes, to closed streams."""
import threading
import time

import pytest

FLOODS = {
    "lines": "while True: print('x' * 60)",
    "no newline": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "one enormous line": "import sys\ns = 'x' * (1 << 20)\nwhile True: sys.stdout.write(s)",
    "by turns": "import os\nwhile True: os.write(1, b'o' * 4096); os.write(2, b'e' * 4096)",
    "standard error": "import os\nwhile True: os.write(2, b'e' * 65536)",
    "children": "import os\nfor _ in range(8): os.fork()\nwhile True: os.write(1, b'c' * 65536)",
    "yes": "import subprocess; subprocess.run(['yes', 'y' * 1000])",
    "zeros and broken characters": "import os\nwhile True: os.write(1, b'\\0\\xff\\xf0\\x9f' * 16384)",
}


@pytest.mark.parametrize("kind", FLOODS)
def test_ended_and_the_service_stays_small(service, kind):
    before = service.api.resident_bytes
    reply = service.execute(FLOODS[kind], timeout_s=6)
    assert reply.outcome in ("output_limit", "timeout") and reply.exit_code in (137, -1)
    assert reply.stdout_truncated or reply.stderr_truncated
    assert len(reply.stdout) + len(reply.stderr) <= 2 * (1 << 20) + 4096
    assert service.api.resident_bytes - before < 32 << 20


def test_single_bytes_do_not_starve_the_others(service):
    code = "import os\nwhile True: os.write(1, b'a'); os.write(2, b'b')"
    floods = [threading.Thread(target=service.execute, args=(code,), kwargs={"timeout_s": 1.5}) for _ in range(2)]
    for thread in floods:
        thread.start()
    time.sleep(0.3)
    times = sorted(service.run("print(1)").seconds for _ in range(5))
    for thread in floods:
        thread.join()
    assert times[2] < 1.0, times
