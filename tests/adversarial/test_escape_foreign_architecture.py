"""Calls under other numberings, which a filter for x86-64 would read as something else: int 0x80 and the x32 bit."""
import pytest

from support import features, syscalls, unconfined

X32 = 0x40000000
INT80 = syscalls.PRELUDE + """
import mmap
child = os.fork()
if child == 0:
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # mov eax, 20 (getpid of the old 32-bit table); int 0x80; ret
    memory.write(bytes.fromhex("b814000000cd80c3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    os._exit(0 if result == os.getpid() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_int_0x80_does_not_reach_the_kernel(service):
    features.need_x86_64()
    reply = service.execute(INT80)
    assert int(reply.stdout) < 0, "the process that tried is killed"
    control = int(unconfined.run(INT80))
    if control != 0:
        pytest.skip(f"this kernel has no 32-bit calls at all (control ended with {control})")


@pytest.mark.parametrize("name, number", [("getpid", 39), ("mount", 165), ("ptrace", 521), ("execve", 520)])
def test_x32_numbers_are_refused(service, name, number):
    features.need_x86_64()
    reply = service.execute(syscalls.PRELUDE + f"print(alone({X32 | number}, 0, 0, 0, 0, 0))")
    assert reply.stdout.strip() in ("ENOSYS", "EPERM", "signal 31")
