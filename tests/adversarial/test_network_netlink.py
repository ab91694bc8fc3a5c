"""Netlink: the way to nftables and routing bugs (CVE-2023-32233 and others), which need no privilege but a user namespace."""
import json

from support import unconfined

CODE = """
    import errno, json, socket
    outcome = {}
    for protocol in range(0, 23):
        try:
            socket.socket(16, socket.SOCK_RAW, protocol).close()
            outcome[protocol] = "made"
        except OSError as problem:
            outcome[protocol] = errno.errorcode[problem.errno]
    print(json.dumps(outcome))
"""


def test_refused(service):
    assert set(service.run(CODE).printed.values()) == {"EAFNOSUPPORT"}


def test_control():
    assert "made" in json.loads(unconfined.run(CODE)).values()
