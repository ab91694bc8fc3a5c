"""A client that costs as little as Python allows: one kept-alive connection, requests made beforehand, no parsing.

The time of a request is from just before its first byte is sent until its last byte has come; nothing is subtracted.
"""
import json
import socket
import time


class QuickClient:
    def __init__(self, port, key):
        self.head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n".encode()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.status_request = b"GET /v1/status HTTP/1.1\r\n" + self.head + b"\r\n"

    def execute_request(self, code, **fields):
        body = json.dumps({"code": code, **fields}).encode()
        return (b"POST /v1/execute HTTP/1.1\r\n" + self.head + b"Content-Type: application/json\r\n"
                + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def send(self, request, accept=(b"200",)):
        """(when it began in ns, how long it took in ns, the body). Raises if the answer is no 200."""
        began = time.perf_counter_ns()
        self.socket.sendall(request)
        head, body = self._receive()
        took = time.perf_counter_ns() - began
        if head[9:12] not in accept:
            raise RuntimeError(f"the service answered {head.splitlines()[0].decode()}: {body[:300]!r}")
        return began, took, body

    def _receive(self):
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._more()
        head, body = received[:end], received[end + 4:]
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += self._more()
        return head, body

    def _more(self):
        part = self.socket.recv(1 << 20)
        if not part:
            raise RuntimeError("the service closed the connection in the middle of an answer")
        return part

    def run(self, request, snippet):
        """(began, took, reply) of one run; raises if it did not do what it was to do."""
        began, took, body = self.send(request)
        reply = json.loads(body)
        if reply["outcome"] != "ok" or snippet.expected not in reply["stdout"]:
            raise RuntimeError(f"{snippet.title} went wrong: {body[:600].decode(errors='replace')}")
        return began, took, reply

    def status(self):
        return json.loads(self.send(self.status_request)[2])

    def wait_full(self, seconds=30):
        """Until the pool is full and nothing is being made or cleaned away: refilling takes CPU time from a run."""
        end = time.monotonic() + seconds
        while True:
            pool = self.status()["pool"]
            if pool["parked"] >= pool["target"] and not pool["creating"] and not pool["retiring"]:
                return
            if time.monotonic() > end:
                raise RuntimeError(f"the pool did not fill in {seconds} s: {pool}")
            time.sleep(0.005)

    def close(self):
        self.socket.close()
