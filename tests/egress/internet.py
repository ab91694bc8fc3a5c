"""Stands for the internet, in a network namespace: web servers, a name server, and what must not be reached.

Started by world.py as ``internet.py CERTIFICATE``. On standard input, a line "queries" is answered with the queries that
came in since, each as [name, type, number, port of the sender, "udp" or "tcp"], and "visits" with the addresses of which
a web server was asked for something.
"""

import json
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time
import urllib.parse

PUBLIC, PUBLIC_6, OWN, PRIVATE = "93.184.216.34", "2606:2800:220::34", "198.41.0.10", "10.7.7.7"
METADATA = "169.254.169.254"
WEB = (
    PUBLIC,
    PUBLIC_6,
    PRIVATE,
    METADATA,
    "fd00:7::7",
    "64:ff9b::5db8:d822",
    "64:ff9b::a07:707",
    "93.184.216.39",
    "93.184.216.40",
)
ECHO, SILENT, RESET, STREAM = "93.184.216.35", "93.184.216.36", "93.184.216.37", "93.184.216.41"
NAME_SERVER, SECOND_NAME_SERVER = "9.9.9.9", "9.9.9.10"
A, AAAA = 1, 28
ZONE = {
    "public.test": ([PUBLIC], [PUBLIC_6]),
    "v4only.test": ([PUBLIC], []),
    "private.test": ([PRIVATE], ["fd00:7::7"]),
    "mixed.test": ([PRIVATE, PUBLIC], []),
    "metadata.test": ([METADATA], []),
    "self.test": ([OWN], []),
    "empty.test": ([], []),
    "mapped.test": ([], ["::ffff:10.7.7.7"]),
    "loopback.test": (["127.0.0.1"], ["::1"]),
    "zero.test": (["0.0.0.0"], ["::"]),
    "nat64.test": ([], ["64:ff9b::a07:707", "64:ff9b::5db8:d822"]),
    "unrouted.test": (["93.184.216.34"], ["2a00::1"]),
    "big.test": ([f"93.184.217.{n}" for n in range(1, 201)], []),
    "other.test": (["93.184.216.39"], []),
    "shared-a.test": (["93.184.216.40"], []),
    "shared-b.test": (["93.184.216.40"], []),
    "alias.test": "public.test",
    "loop.test": "loop.test",
}
queries, visits, times = [], [], {}


def wire(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


def read_question(message):
    at, labels = 12, []
    while message[at]:
        labels.append(message[at + 1 : at + 1 + message[at]].decode())
        at += message[at] + 1
    return ".".join(labels), struct.unpack_from("!H", message, at + 1)[0], message[12 : at + 5]


def record(name, kind, data, ttl=600):
    return wire(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def records_of(name, kind):
    entry = ZONE[name]
    if name == "loop.test":
        return [record(name, 5, wire("loop.test"))]
    if isinstance(entry, str):
        return [record(name, 5, wire(entry)), *records_of(entry, kind)]
    family, addresses = (socket.AF_INET, entry[0]) if kind == A else (socket.AF_INET6, entry[1])
    return [record(name, kind, socket.inet_pton(family, address)) for address in addresses]


def answer(message, over_tcp):
    """The answers to a query: nearly always one."""
    name, kind, question = read_question(message)
    (number,) = struct.unpack_from("!H", message)
    times[name] = times.get(name, 0) + 1

    def whole(code=0, records=(), flags=0, number=number):
        return (
            struct.pack("!HHHHHH", number, 0x8180 | code | flags, 1, len(records), 0, 0) + question + b"".join(records)
        )

    name = name.lower()
    if name.endswith("silent.test"):
        return []
    if name == "servfail.test":
        return [whole(2)]
    if name == "rebind.test":
        return [
            whole(
                records=(
                    [record(name, A, socket.inet_aton(PUBLIC if times[name] == 1 else METADATA))] if kind == A else []
                )
            )
        ]
    if name == "forged.test":  # what an attacker who guesses would send, before the right one
        false = [record(name, A, socket.inet_aton("93.184.216.39"))]
        other = struct.pack("!HHHHHH", number, 0x8180, 1, 1, 0, 0) + wire("x.test") + question[-4:] + false[0]
        return [
            whole(records=false, number=number ^ 1),
            other,
            b"\0",
            message,
            whole(records=records_of("v4only.test", A)).replace(wire("v4only.test"), wire("forged.test")),
        ]
    if name not in ZONE:
        return [whole(3)]
    records = records_of(name, kind)
    if name == "big.test" and not over_tcp:
        return [whole(flags=0x0200)]
    return [whole(records=records)]


def serve_names(address):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((address, 53))
    while True:
        message, sender = udp.recvfrom(4096)
        name, kind, _ = read_question(message)
        queries.append([name, kind, struct.unpack_from("!H", message)[0], sender[1], "udp"])
        for reply in answer(message, False):
            udp.sendto(reply, sender)


class NamesByTcp(socketserver.BaseRequestHandler):
    def handle(self):
        head = self.request.recv(2, socket.MSG_WAITALL)
        message = self.request.recv(struct.unpack("!H", head)[0], socket.MSG_WAITALL)
        name, kind, _ = read_question(message)
        queries.append([name, kind, struct.unpack_from("!H", message)[0], self.client_address[1], "tcp"])
        for reply in answer(message, True):
            data = struct.pack("!H", len(reply)) + reply
            for at in range(0, len(data), 700):  # in pieces
                self.request.sendall(data[at : at + 700])


class Web(socketserver.BaseRequestHandler):
    """HTTP/1.0 by hand: /hello, /redirect?to=URL, /some (400 kB), /big (4 MB)."""

    def handle(self):
        try:
            self.serve(
                self.server.context.wrap_socket(self.request, server_side=True) if self.server.context else self.request
            )
        except OSError:
            pass

    def serve(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            part = connection.recv(65536)
            if not part:
                return
            request += part
        head, _, body = request.partition(b"\r\n\r\n")
        path = head.split()[1].decode()
        visits.append(f"{self.server.server_address[0]} {path}")
        status, headers, content = "200 OK", "", b"hello from outside"
        if path.startswith("/redirect"):
            status, headers = (
                "302 Found",
                "Location: " + urllib.parse.parse_qs(path.partition("?")[2])["to"][0] + "\r\n",
            )
        if path in ("/big", "/some"):
            content = b"0123456789abcdef" * (1 << 18 if path == "/big" else 25_000)
        connection.sendall(f"HTTP/1.0 {status}\r\n{headers}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        connection.close()


class Echo(socketserver.BaseRequestHandler):
    """Says everything again once the other side has finished."""

    def handle(self):
        data = b""
        while part := self.request.recv(65536):
            data += part
        self.request.sendall(data)


class Silent(socketserver.BaseRequestHandler):
    def handle(self):
        time.sleep(3600)


class Reset(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(1)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()


class Stream(socketserver.BaseRequestHandler):
    """Sends for ever, and never reads."""

    def handle(self):
        try:
            while True:
                self.request.sendall(bytes(65536))
        except OSError:
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size, context = True, True, 128, None


def listen(address, port, handler, context=None):
    kind = type("Server6", (Server,), {"address_family": socket.AF_INET6}) if ":" in address else Server
    server = kind((address, port), handler)
    server.context = context
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()


def main():
    print(json.dumps("in"), flush=True)  # the addresses may now be given
    sys.stdin.readline()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    for address in WEB:
        listen(address, 80, Web)
        listen(address, 8000, Web)
        if address != "93.184.216.39":  # where nobody listens on 443
            listen(address, 443, Web, context)
    for address, handler in ((ECHO, Echo), (SILENT, Silent), (RESET, Reset), (STREAM, Stream)):
        listen(address, 80, handler)
    for address in (NAME_SERVER, SECOND_NAME_SERVER):
        threading.Thread(target=serve_names, args=(address,), daemon=True).start()
        listen(address, 53, NamesByTcp)
    print(json.dumps("listening"), flush=True)
    for line in sys.stdin:
        told = queries if line.strip() == "queries" else visits
        print(json.dumps(told), flush=True)
        told.clear()


if __name__ == "__main__":
    main()
