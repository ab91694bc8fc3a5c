"""Names and services announced on the local wire: mDNS, LLMNR, SSDP, broadcast."""
from support import unconfined

CODE = """
    import socket
    outcome = []
    for family, group, port in ((2, "224.0.0.251", 5353), (2, "224.0.0.252", 5355), (2, "239.255.255.250", 1900), (10, "ff02::fb", 5353), (2, "255.255.255.255", 9), (2, "203.0.113.255", 9)):
        try:
            sock = socket.socket(family, socket.SOCK_DGRAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            if family == 2:
                sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("203.0.113.1"))
                sock.sendto(b"x", (group, port))
            else:
                sock.sendto(b"x", (group, port, 0, socket.if_nametoindex("near0")))
            outcome.append("sent")
        except OSError:
            outcome.append("refused")
    print(outcome)
"""


def test_nothing_is_sent(service, outside):
    outside.arrived()
    assert service.run(CODE).stdout == f"{['refused'] * 6}\n"
    assert outside.arrived() == {}


def test_control(service, outside):
    outside.arrived()
    assert unconfined.run(CODE).count("sent") >= 3
    assert outside.arrived().get("udp", 0) >= 2
