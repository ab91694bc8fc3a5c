"""Signal dispositions as the kernel keeps them, past the C library, which hides two signals of its own: 32 and 33."""
import ctypes
import platform

RT_SIGACTION = {"x86_64": 13, "aarch64": 134}[platform.machine()]
DEFAULT, IGNORE = 0, 1
libc = ctypes.CDLL(None, use_errno=True)


def set_action(number: int, action: int) -> None:
    by_kernel = (ctypes.c_uint64 * 4)(action)  # handler, flags, restorer, mask
    libc.syscall(RT_SIGACTION, number, by_kernel, None, 8)  # refused for KILL and STOP, which is as well


def reset_inherited() -> None:
    """What this process starts finds every signal at its default, wherever the tests were started from."""
    for number in range(1, 65):
        set_action(number, DEFAULT)
