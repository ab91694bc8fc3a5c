"""A server that answers as it is told to, and remembers what it was asked.

An answer is (status, body, headers), or a word for what goes wrong: "drop" reads the request and closes the connection,
"hang" waits until the client has gone away.
"""
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "csk_the-key-of-the-tests"


def run_reply(**fields):
    return {"agent": None, "conversation_id": None, "run_id": "run_1", "sandbox_id": "sbx_1", "outcome": "ok", "exit_code": 0,
            "stdout": "", "stderr": "", "stdout_truncated": False, "stderr_truncated": False, "results": [], "files": [],
            "files_skipped": [], "files_skipped_unnamed": 0, "files_complete": True,
            "session": {"stateful": False, "restarted": False, "message": None},
            "usage": {"start_ms": 1, "wall_ms": 2, "cpu_ms": 3, "max_memory_bytes": 4, "queue_ms": 5}, "hint": None,
            "new_in_a_later_version": 1, **fields}


def call_reply(result=None, **fields):
    return {"run_id": "run_1", "sandbox_id": "sbx_1", "outcome": "ok", "exit_code": 0, "result": result, "error": None,
            "stdout": "", "stderr": "", "usage": {"wall_ms": 2, "cpu_ms": 3, "max_memory_bytes": 4}, "egress": [], **fields}


def error(kind, message, param=None):
    return {"error": {"type": kind, "message": message, **({"param": param} if param else {})}}


def busy(retry_after=0):
    return 503, error("overloaded", "All places are taken."), {"Retry-After": str(retry_after)}


class Request:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.raw = method, path, headers, body

    @property
    def json(self):
        return json.loads(self.raw)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer_any(self):
        fake = self.server.fake
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(self.command, self.path, dict(self.headers), body)
        with fake.lock:
            fake.requests.append(request)
            fake.peers.add(self.client_address)
            answers = fake.answers.get((self.command, self.path)) or fake.answers.get((self.command, "*"))
            answer = (answers.pop(0) if len(answers) > 1 else answers[0]) if answers else \
                (404, error("not_found", f"no {self.path}"), {})
        if callable(answer):
            answer = answer(request)
        if answer == "drop":
            self.close_connection = True
            return
        if answer == "hang":
            if self.is_gone(20):
                fake.gone.set()
            self.close_connection = True
            return
        if answer[1:2] == ("events",):
            self.send_events(answer[2])
            return
        self.send_answer(*answer)

    do_GET = do_POST = do_PUT = do_DELETE = answer_any

    def send_answer(self, status, body, headers=None):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(raw)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def send_events(self, steps):
        """Chunks of text, as they are; a number is a pause; "cut" ends without an end; "hang" as above."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for step in steps:
            if step == "cut":
                self.close_connection = True
                return
            if step == "hang":
                if self.is_gone(20):
                    self.server.fake.gone.set()
                self.close_connection = True
                return
            if isinstance(step, (int, float)):
                time.sleep(step)
                continue
            raw = step.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def is_gone(self, seconds):
        self.connection.settimeout(seconds)
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # clients of these tests go away in the middle


def event(name, data):
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


class FakePlatform:
    def __init__(self, ssl_context=None):
        self.lock = threading.Lock()
        self.requests, self.answers, self.peers, self.gone = [], {}, set(), threading.Event()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.fake = self
        if ssl_context:
            self.server.socket = ssl_context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if ssl_context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def on(self, method, path, *answers):
        """Answers to one kind of request, one after the other; the last one stays. A path may be "*"."""
        self.answers[(method, path)] = [(200, answer, {}) if isinstance(answer, (dict, bytes)) else answer
                                        for answer in answers]
        return self

    @property
    def last(self):
        return self.requests[-1]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
