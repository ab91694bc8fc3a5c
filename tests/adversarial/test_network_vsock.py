"""AF_VSOCK is not confined by a network namespace: inside a virtual machine it leads to the hypervisor's side."""
import pytest

from support import unconfined

CODE = """
    import errno, os, socket
    try:
        sock = socket.socket(40, socket.SOCK_STREAM)
        print("made")
        sock.settimeout(0.5)
        sock.connect((2, 1))
    except OSError as problem:
        print(errno.errorcode.get(problem.errno, "timeout"))
    print(os.path.exists("/dev/vsock"))
"""


def test_refused(service):
    assert service.run(CODE).stdout == "EAFNOSUPPORT\nFalse\n"


def test_control():
    made = unconfined.run("import socket\ntry:\n    socket.socket(40, socket.SOCK_STREAM)\n    print('made')\nexcept OSError:\n    print('none')")
    if made == "none\n":
        pytest.skip("this kernel has no AF_VSOCK, so there is nothing to refuse")
    assert made == "made\n"
