"""A small server that speaks the service's HTTP contract by heart, for tests of its clients.

A test says what the next answer to POST /v1/execute is, down to its timing, or to another request (`pages`, `changes`),
and sees afterwards what was asked: what the real service does on its good days, and what it can only be made to do with
difficulty.
"""
import json
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MB = 1000 * 1000
KEY = "sbx_the-key-of-the-tests"


def reply(stdout="", stderr="", outcome="ok", exit_code=0, **fields):
    """A whole reply to a run; fields that a test says nothing about look as after a snippet that did nothing."""
    return {
        "agent": None, "conversation_id": None, "run_id": "run_1", "sandbox_id": "sbx_1", "outcome": outcome,
        "exit_code": exit_code, "stdout": stdout, "stderr": stderr, "stdout_truncated": False,
        "stderr_truncated": False, "results": [], "files": [], "files_skipped": [],
        "session": {"stateful": False, "restarted": False, "message": None},
        "usage": {"start_ms": 0.5, "wall_ms": 1500, "cpu_ms": 2, "max_memory_bytes": 1048576, "queue_ms": 0},
        "hint": None, **fields,
    }


def error(kind, message, param=None):
    body = {"type": kind, "message": message}
    if param:
        body["param"] = param
    return {"error": body}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, content_type="application/json", headers=()):
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def event(self, name, data):
        raw = f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def read_body(self, length):
        """As over a slow line, if the test wants that."""
        pieces, fake = [], self.server.fake
        while fake.seconds_per_mb and sum(map(len, pieces)) < length:
            pieces.append(self.rfile.read(min(MB, length - sum(map(len, pieces)))))
            time.sleep(fake.seconds_per_mb)
        return b"".join(pieces) or self.rfile.read(length)

    def answer_slowly(self, body, seconds, promised=None):
        """In twenty pieces, which may be less than what was promised."""
        self.send_response(200)
        self.send_header("Content-Length", str(promised or len(body)))
        self.end_headers()
        for start in range(0, len(body), len(body) // 20):
            self.wfile.write(body[start : start + len(body) // 20])
            self.wfile.flush()
            time.sleep(seconds / 20)

    def is_gone(self, seconds):
        """Waits until the client closes the connection."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        try:
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            return True

    def do_GET(self):
        fake = self.server.fake
        fake.requests.append((self.path, dict(self.headers), None))
        if fake.check_key and self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.answer(401, error("unauthorized", "this key is not known"))
        answer = fake.pages.get(self.path, (404, error("not_found", f"there is no {self.path}")))
        return answer(self) if callable(answer) else self.answer(*answer)

    def change(self):
        """A request that a test has prepared an answer for; several answers are given one after the other. One that is a
        function is called with this handler."""
        fake = self.server.fake
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_json = raw and self.headers.get("Content-Type") == "application/json"
        body = json.loads(raw) if is_json else raw or None
        fake.requests.append((self.path, dict(self.headers), body))
        fake.changed.append((self.command, self.path, body))
        if fake.check_key and self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.answer(401, error("unauthorized", "this key is not known"))
        answers = fake.changes.get((self.command, self.path), [(404, error("not_found", f"there is no {self.path}"))])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer(self) if callable(answer) else self.answer(*answer)

    do_PUT = do_DELETE = change

    def do_POST(self):
        fake = self.server.fake
        if self.path != "/v1/execute":
            return self.change()
        body = json.loads(self.read_body(int(self.headers["Content-Length"])))
        fake.requests.append((self.path, dict(self.headers), body))
        if fake.check_key and self.headers.get("Authorization") != f"Bearer {KEY}":
            return self.answer(401, error("unauthorized", "this key is not known"))
        try:
            return fake.on_execute(self, body)
        except ConnectionError:
            fake.gone.set()
            return None

    def stream(self, *steps):
        """Events, one after the other. A number is a pause in seconds; a function is called; "cut" ends at once."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for step in steps:
            if step == "cut":
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if callable(step):
                step()
            elif isinstance(step, (int, float)):
                time.sleep(step)
            else:
                self.event(*step)
        self.wfile.write(b"0\r\n\r\n")


class FakeApi:
    def __init__(self):
        self.requests, self.pages, self.check_key = [], {}, True
        self.changes, self.changed = {}, []  # {(method, path): [(status, body), ...]}, [(method, path, body), ...]
        self.seconds_per_mb = 0  # that a body of a run takes
        self.gone = threading.Event()  # a client went away before its answer was whole
        self.on_execute = lambda handler, body: handler.answer(500, error("internal", "the test gave no answer"))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.fake = self
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def body(self):
        """What the last POST asked for."""
        return [body for _, _, body in self.requests if body is not None][-1]

    @property
    def headers(self):
        return self.requests[-1][1]

    def will_reply(self, stdout="", stderr="", **fields):
        """The run prints and ends: as events if the client asked for a stream, else in one answer."""
        whole = reply(stdout, stderr, **fields)

        def execute(handler, body):
            if not body.get("stream"):
                return handler.answer(200, whole)
            steps = [("start", {"run_id": "run_1", "sandbox_id": "sbx_1"})]
            steps += [("stdout", {"text": stdout})] if stdout else []
            steps += [("stderr", {"text": stderr})] if stderr else []
            return handler.stream(*steps, ("done", whole))

        self.on_execute = execute

    def will_stream(self, *steps):
        self.on_execute = lambda handler, body: handler.stream(*steps)

    def will_answer(self, status, body, content_type="application/json", headers=()):
        self.on_execute = lambda handler, _: handler.answer(status, body, content_type, headers)

    def will_hang(self, *steps, seconds=20):
        """Streams the steps and then waits for the client to go away."""
        def execute(handler, body):
            def wait():
                if handler.is_gone(seconds):
                    self.gone.set()
            handler.stream(*steps, wait)

        self.on_execute = execute
