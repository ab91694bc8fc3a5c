"""Memory by every way that is not the heap: anonymous maps, shared maps, memory files, stacks, locked and huge pages."""
import pytest

WAYS = {
    "anonymous map": "import mmap\nm = mmap.mmap(-1, 900 << 20)\nfor at in range(0, 900 << 20, 4096): m[at] = 1",
    "private map of a device": "import mmap, os\nm = mmap.mmap(os.open('/dev/zero', os.O_RDWR), 900 << 20, flags=mmap.MAP_PRIVATE)\nfor at in range(0, 900 << 20, 4096): m[at] = 1",
    "memory file": "import os\nfor _ in range(5):\n    fd = os.memfd_create('m')\n    for _ in range(200): os.write(fd, b'x' * (1 << 20))",
    "many memory files": "import os\nfor n in range(900): os.write(os.memfd_create(str(n)), b'x' * (1 << 20))",
    "huge pages": "import mmap\nm = mmap.mmap(-1, 900 << 20)\nm.madvise(14)\nfor at in range(0, 900 << 20, 4096): m[at] = 1",
    "children by the dozen": "import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n        b = bytearray(b'x' * (90 << 20)); time.sleep(30)\ntime.sleep(20)",
    "stacks of threads": "import threading, time\nthreading.stack_size(64 << 20)\ndef f(n):\n    return n and f(n - 1) + len(bytes(100000)) or time.sleep(1)\nkept = []\n"
                         "import ctypes\nfor _ in range(100):\n    kept.append(bytearray(b'x' * (9 << 20)))",
    "one text": "s = 'x' * (1 << 20)\nwhile True: s += s",
}


@pytest.mark.parametrize("way", WAYS)
def test_ends_as_out_of_memory(service, way):
    reply = service.execute(WAYS[way], timeout_s=20)
    assert (reply.outcome, reply.exit_code) == ("out_of_memory", 137), reply


def test_reserving_without_touching_is_no_crime(service):
    reply = service.run("""
        import mmap
        try:
            m = mmap.mmap(-1, 1 << 40)
            m[0] = 1
        except (OSError, ValueError):
            pass
        print("fine")
        """)
    assert reply.stdout == "fine\n"


def test_locking_memory_is_refused(service):
    reply = service.run("""
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        print([errno.errorcode.get(ctypes.get_errno()) if libc.mlockall(3) else "locked"])
        """)
    assert reply.stdout in ("['EPERM']\n", "['ENOSYS']\n", "['ENOMEM']\n")
