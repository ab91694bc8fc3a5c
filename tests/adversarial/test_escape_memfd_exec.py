"""A program that lies in memory only: it may run, and is confined like everything else."""
from support import features, syscalls
from support.syscalls import NUMBERS


def test_it_gains_nothing(service):
    features.need_x86_64()
    reply = service.execute(syscalls.PRELUDE + f"""
import shutil
fd = os.memfd_create("x", 0)
with open("/bin/sh", "rb") as source:
    os.write(fd, source.read())
child = os.fork()
if child == 0:
    argv = (ctypes.c_char_p * 4)(b"sh", b"-c", b"grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' /proc/self/status", None)
    libc.syscall({NUMBERS["execveat"]}, fd, b"", argv, (ctypes.c_char_p * 1)(None), 0x1000)
    print(errno.errorcode[ctypes.get_errno()], flush=True)
    os._exit(0)
os.waitpid(child, 0)
""")
    words = reply.stdout.split()
    assert words in (["EPERM"], ["EACCES"], ["ENOSYS"]) or words == ["Uid:", "65532", "65532", "65532", "65532", "CapEff:", "0000000000000000",
                                                                    "NoNewPrivs:", "1", "Seccomp:", "2"], words
