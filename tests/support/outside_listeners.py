"""The far side of the second network namespace: web, names, datagrams, and a counter of all packets.

Runs as a process of its own, without privileges to anything but its namespace. Commands come as lines on standard input.
"""
import json
import select
import socket
import struct
import sys

NAME_ADDRESS_4, NAME_ADDRESS_6 = "203.0.113.2", "2001:db8::2"
ANSWER = b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nreached"
ETH_P_ALL = 3


def say(value):
    print(json.dumps(value), flush=True)


def dns_answer(query):
    """Answers every A and AAAA question with the far side's own addresses; every other with no records."""
    at = 12
    while query[at]:
        at += query[at] + 1
    kind, = struct.unpack("!H", query[at + 1:at + 3])
    question = query[12:at + 5]
    data = {1: socket.inet_aton(NAME_ADDRESS_4), 28: socket.inet_pton(socket.AF_INET6, NAME_ADDRESS_6)}.get(kind)
    records = b"" if data is None else b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 1, len(data)) + data
    return query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if records else 0, 0, 0) + question + records


def kind_of(packet):
    """A name for a packet, or None for what the kernel sends by itself (ARP, neighbour and router discovery, MLD)."""
    protocol, = struct.unpack("!H", packet[12:14])
    if protocol == 0x0806:
        return None
    if protocol == 0x0800:
        return {1: "icmp", 6: "tcp", 17: "udp"}.get(packet[23], f"ip-{packet[23]}")
    if protocol == 0x86DD:
        header, at = packet[20], 54
        if header == 0:  # hop-by-hop options: multicast listener reports
            return None
        if header == 58:
            return None if packet[at] in (133, 134, 135, 136, 143) else "icmp6"
        return {6: "tcp6", 17: "udp6"}.get(header, f"ip6-{header}")
    return f"ethernet-{protocol:04x}"


def open_listeners():
    tcp, udp = [], []
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        for port in (53, 80, 443):
            sock = socket.socket(family, socket.SOCK_STREAM)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sock.bind((address, port))
            sock.listen(64)
            tcp.append((sock, port))
        sock = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, 53))
        udp.append(sock)
    return tcp, udp


def serve_tcp(listener, port):
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(0.5)
        try:
            request = connection.recv(4096)
            if port == 53:
                answer = dns_answer(request[2:])
                connection.sendall(struct.pack("!H", len(answer)) + answer)
            else:
                connection.sendall(ANSWER)
        except (OSError, IndexError, struct.error):
            pass


def main():
    say("in")  # the parent may now move the veth in
    sys.stdin.readline()
    tcp, udp = open_listeners()
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    tap.bind(("far0", 0))
    counts = {}
    say("listening")

    def count():
        while select.select([tap], [], [], 0)[0]:
            packet, address = tap.recvfrom(65536)
            kind = kind_of(packet) if address[2] != socket.PACKET_OUTGOING else None
            if kind:
                counts[kind] = counts.get(kind, 0) + 1

    listeners = dict(tcp)
    while True:
        ready, _, _ = select.select([sys.stdin, tap, *udp, *listeners], [], [])
        count()
        for sock in ready:
            if sock is sys.stdin:
                line = sys.stdin.readline()
                if not line:
                    return
                say(counts)
                counts.clear()
            elif sock in listeners:
                serve_tcp(sock, listeners[sock])
            elif sock in udp:
                query, sender = sock.recvfrom(4096)
                try:
                    sock.sendto(dns_answer(query), sender)
                except (OSError, IndexError, struct.error):
                    pass


main()
