"""A small HTTP client for the service: plain sockets of the standard library, every reply kept for the leak check."""
import base64
import http.client
import json
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

DEFAULT = object()


class Response:
    """Any HTTP answer."""

    def __init__(self, status, headers, body, seconds):
        self.status, self.headers, self.body, self.seconds = status, headers, body, seconds

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json["error"]

    def __repr__(self):
        return f"<HTTP {self.status} in {self.seconds:.2f} s: {self.body[:400]!r}>"


class Reply:
    """The reply to a run: fields of the JSON object are attributes."""

    def __init__(self, fields, seconds=0.0):
        self.fields, self.seconds = fields, seconds

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"the reply has no field {name!r}: {sorted(self.fields)}") from None

    @property
    def printed(self):
        """Standard output, read as JSON: how a snippet hands a value to its test."""
        try:
            return json.loads(self.stdout)
        except ValueError:
            raise AssertionError(f"standard output is no JSON: {self!r}") from None

    @property
    def contents(self):
        """{name: bytes} of the returned files."""
        return {file["name"]: base64.b64decode(file["content_base64"]) for file in self.files}

    @property
    def skipped(self):
        """{name: reason} of the files that were not handed over."""
        return {file["name"]: file["reason"] for file in self.files_skipped}

    def __repr__(self):
        short = {name: (value if len(str(value)) < 600 else str(value)[:300] + " … " + str(value)[-200:])
                 for name, value in self.fields.items() if name not in ("files", "results")}
        short["files"] = [file["name"] for file in self.fields.get("files") or []][:20]
        return f"<run in {self.seconds:.2f} s: {short}>"


class Refused(AssertionError):
    """The service answered a run with something else than 200."""

    def __init__(self, response):
        super().__init__(repr(response))
        self.response = response


def events_of(body):
    """(name, data) of each event of a stream that has come whole."""
    found = []
    for block in body.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


class Streaming:
    """A reply that is still coming: `connection` and `response` are the subclass's."""

    def close(self):
        """Shuts the connection down at once, whatever is still to come."""
        sock = self.connection.sock or getattr(getattr(self.response.fp, "raw", None), "_sock", None)
        if sock is not None:
            try:
                sock.shutdown(2)
            except OSError:
                pass
        self.response.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Stream(Streaming):
    """Server-sent events of one run, as they come. Closing it early is what a client does that goes away."""

    def __init__(self, connection, response, started, leaks):
        self.connection, self.response, self.started, self.leaks = connection, response, started, leaks
        self.status = response.status
        self.seen = []

    def __iter__(self):
        name, data = "message", []
        while True:
            line = self.response.readline()
            if not line:
                return
            self.leaks.scan(line)
            line = line.decode("utf-8").rstrip("\r\n")
            if line == "":
                if data:
                    event = (name, json.loads("\n".join(data)), time.monotonic() - self.started)
                    self.seen.append(event)
                    yield event
                name, data = "message", []
            elif line.startswith("event:"):
                name = line[6:].strip()
            elif line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))

    def until(self, wanted):
        """The data of the next event of that name, and when it came."""
        for name, data, seconds in self:
            if name == wanted:
                return data, seconds
        raise AssertionError(f"the stream ended without {wanted!r}; seen: {[name for name, _, _ in self.seen]}")


class Leaks:
    """Strings that must never come back. Every reply is searched for them, also inside base64 file contents."""

    def __init__(self):
        self.canaries, self.found, self.lock = {}, [], threading.Lock()

    def add(self, canary, where):
        self.canaries[canary.encode()] = where

    def scan(self, body):
        for canary, where in self.canaries.items():
            if canary in body:
                with self.lock:
                    self.found.append(f"{where} in {body[:200]!r}")

    def scan_reply(self, fields):
        for file in fields.get("files") or []:
            if file.get("content_base64"):
                self.scan(base64.b64decode(file["content_base64"]))
        for result in fields.get("results") or []:
            for value in result.values():
                self.scan(str(value).encode())


class Client:
    def __init__(self, port, key, address="127.0.0.1"):
        self.address, self.port, self.key = address, port, key
        self.leaks = Leaks()

    def connect(self, timeout=100):
        return http.client.HTTPConnection(self.address, self.port, timeout=timeout)

    def headers(self, headers, key):
        sent = {}
        key = self.key if key is DEFAULT else key
        if key is not None:
            sent["Authorization"] = "Bearer " + key
        sent.update(headers or {})
        return sent

    def request(self, method, path, body=None, headers=None, key=DEFAULT, timeout=100):
        """One request. A dict or list goes as JSON, bytes go as they are (also as JSON, unless a header says else)."""
        sent = self.headers(headers, key)
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        connection = self.connect(timeout)
        began = time.monotonic()
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        self.leaks.scan(raw)
        return Response(response.status, response.headers, raw, time.monotonic() - began)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path="/v1/execute", body=None, **more):
        return self.request("POST", path, body, **more)

    def execute(self, code, *, http_timeout=100, **fields):
        """Runs `code` exactly as it is; raises Refused unless the answer is 200."""
        response = self.post("/v1/execute", {"code": code, **fields}, timeout=http_timeout)
        if response.status != 200:
            raise Refused(response)
        reply = Reply(response.json, response.seconds)
        self.leaks.scan_reply(reply.fields)
        return reply

    def run(self, code, **fields):
        """As execute, for code that is indented in the test's own source."""
        return self.execute(dedent(code), **fields)

    def run_all(self, codes, **fields):
        """All at the same moment; the replies in the order of the codes."""
        with ThreadPoolExecutor(max(1, len(codes))) as pool:
            return list(pool.map(lambda code: self.run(code, **fields), codes))

    def stream(self, code, **fields):
        connection = self.connect()
        body = json.dumps({"code": dedent(code), "stream": True, **fields}).encode()
        started = time.monotonic()
        connection.request("POST", "/v1/execute", body,
                           self.headers({"Content-Type": "application/json", "Accept": "text/event-stream"}, DEFAULT))
        return Stream(connection, connection.getresponse(), started, self.leaks)


def dedent(code):
    return textwrap.dedent(code).lstrip("\n")


def text_file(name, text):
    """An input file for a request."""
    return {"name": name, "content": text}


def bytes_file(name, content):
    return {"name": name, "content_base64": base64.b64encode(content).decode()}
