"""Raw packets and pings."""
import json

from support import unconfined
from support.network import FAR_4

CODE = f"""
    import errno, json, socket, struct
    outcome = {{}}
    echo = struct.pack("!BBHHH", 8, 0, 0xf7ff, 0, 0)
    for name, arguments in (("raw icmp", (2, 3, 1)), ("ping", (2, 2, 1)), ("raw ip", (2, 3, 255)), ("packet", (17, 3, 0x0300)), ("raw icmp6", (10, 3, 58))):
        try:
            sock = socket.socket(*arguments)
            outcome[name] = "made"
            if name in ("raw icmp", "ping"):
                sock.sendto(echo, ("{FAR_4}", 0))
        except OSError as problem:
            outcome[name] = errno.errorcode[problem.errno]
    print(json.dumps(outcome))
"""


def test_refused(service, outside):
    outside.arrived()
    assert set(service.run(CODE).printed.values()) == {"EAFNOSUPPORT"}
    assert outside.arrived() == {}


def test_control(service, outside):
    outside.arrived()
    assert json.loads(unconfined.run(CODE))["raw icmp"] == "made"
    assert outside.arrived().get("icmp", 0) >= 1
