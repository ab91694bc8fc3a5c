"""Connections, datagrams and listening on both families, to the far side of a wire that is really there."""
import json

import pytest

from support import unconfined
from support.network import FAR_4, FAR_6

CODE = """
    import errno, json, socket, time
    outcome = {{}}
    began = time.monotonic()
    for name, family, kind, address in (("tcp", {family}, socket.SOCK_STREAM, ({host!r}, 80)), ("udp", {family}, socket.SOCK_DGRAM, ({host!r}, 53)),
                                        ("other port", {family}, socket.SOCK_STREAM, ({host!r}, 443))):
        try:
            sock = socket.socket(family, kind)
            sock.settimeout(2)
            sock.connect(address)
            sock.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
            outcome[name] = "sent"
        except OSError as problem:
            outcome[name] = errno.errorcode.get(problem.errno, "timeout")
    try:
        sock = socket.socket({family}, socket.SOCK_STREAM); sock.bind(("", 8765)); sock.listen()
        outcome["listen"] = "listening"
    except OSError as problem:
        outcome["listen"] = errno.errorcode[problem.errno]
    outcome["seconds"] = time.monotonic() - began
    print(json.dumps(outcome))
"""
FAMILIES = {"IPv4": CODE.format(family="socket.AF_INET", host=FAR_4), "IPv6": CODE.format(family="socket.AF_INET6", host=FAR_6)}


@pytest.mark.parametrize("family", FAMILIES)
def test_refused(service, outside, family):
    outside.arrived()
    outcome = service.run(FAMILIES[family]).printed
    assert outcome.pop("seconds") < 0.5
    assert set(outcome.values()) == {"EAFNOSUPPORT"}
    assert outside.arrived() == {}


@pytest.mark.parametrize("family", FAMILIES)
def test_control(service, outside, family):
    outside.arrived()
    outcome = json.loads(unconfined.run(FAMILIES[family]))
    assert outcome["tcp"] == outcome["udp"] == "sent" and outcome["listen"] == "listening"
    assert outside.arrived()
