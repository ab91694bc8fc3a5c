"""Every address family and type, from the common to the forgotten: only Unix sockets can be made."""
import json

from support import features, unconfined

CODE = """
    import ctypes, errno, json
    libc = ctypes.CDLL(None, use_errno=True)
    made, errors = set(), set()
    for family in range(0, 64):
        for kind in (1, 2, 3, 4, 5, 6, 10, 1 | 0o4000 | 0o2000000):
            for protocol in (0, 1, 6, 17, 255):
                fd = libc.socket(family, kind, protocol)
                if fd >= 0:
                    made.add(family)
                    libc.close(fd)
                elif family != 1:
                    errors.add(errno.errorcode[ctypes.get_errno()])
    print(json.dumps([sorted(made), sorted(errors)]))
"""


def test_only_unix(service):
    made, errors = service.run(CODE).printed
    assert made == [1] and errors == ["EAFNOSUPPORT"]


def test_control():
    made, _ = json.loads(unconfined.run(CODE))
    assert {1, 2, 10, 16, 17} <= set(made)


def test_pairs_too(service):
    features.need_x86_64()
    reply = service.run("""
        import ctypes, errno
        libc = ctypes.CDLL(None, use_errno=True)
        pair = (ctypes.c_int * 2)()
        outcome = []
        for family in (1, 2, 10, 16, 30, 40):
            outcome.append("ok" if libc.socketpair(family, 1, 0, pair) == 0 else errno.errorcode[ctypes.get_errno()])
        print(outcome)
        """)
    assert reply.stdout == "['ok', 'EAFNOSUPPORT', 'EAFNOSUPPORT', 'EAFNOSUPPORT', 'EAFNOSUPPORT', 'EAFNOSUPPORT']\n"
