"""A client of the MCP server that shows what is on the wire, and may break every rule."""
import itertools
import json
import time

from support.client import Streaming

BOTH = "application/json, text/event-stream"
NEWEST_WITH_HANDSHAKE = "2025-11-25"
NEWEST = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": NEWEST, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"}}


class Events(Streaming):
    """A stream of server-sent events, one [(id, message or None)] after the other, as they come."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response
        self.status, self.headers = response.status, response.headers
        self.seen, self.comments = [], 0

    def __iter__(self):
        fields = {}
        while line := self.response.readline():
            line = line.decode().rstrip("\r\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                event = (fields.get("id"), json.loads(fields["data"]) if fields["data"] else None)
                fields = {}
                self.seen.append(event)
                yield event

    def messages(self):
        return [message for _, message in self if message]


class RawMcp:
    def __init__(self, service, query="", key=None):
        self.service, self.path = service, "/mcp" + (f"?{query}" if query else "")
        self.more = {"key": key} if key else {}
        self.session = self.revision = None
        self.ids = itertools.count(1)

    def headers(self, headers=None):
        sent = {"Accept": BOTH}
        if self.session:
            sent["Mcp-Session-Id"] = self.session
            sent["MCP-Protocol-Version"] = self.revision
        sent.update(headers or {})
        return {name: value for name, value in sent.items() if value is not None}

    def post(self, message, headers=None, timeout=100):
        return self.service.post(self.path, message, headers=self.headers(headers), timeout=timeout, **self.more)

    def initialize(self, revision=NEWEST_WITH_HANDSHAKE):
        answer = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}})
        assert answer.status == 200, answer
        self.session, result = answer.headers["Mcp-Session-Id"], answer.json["result"]
        self.revision = result["protocolVersion"]
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        return result

    def message(self, method, params=None):
        params = {} if params is None else {"params": params}
        return {"jsonrpc": "2.0", "id": next(self.ids), "method": method, **params}

    def request(self, method, params=None, headers=None):
        """The whole answer, {"result": …} or {"error": …}."""
        answer = self.post(self.message(method, params), {"Accept": "application/json", **(headers or {})})
        assert answer.headers["Content-Type"] == "application/json", answer
        return answer.json

    def result(self, method, params=None):
        answer = self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def call(self, code=None, name="run_python", meta=None, **arguments):
        if code is not None:
            arguments["code"] = code
        return self.result("tools/call", {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})})

    def stream(self, message, headers=None):
        """The answer to a message as a stream."""
        return self.open("POST", json.dumps(message).encode(), headers)

    def resume(self, last_event_id, headers=None):
        return self.open("GET", None, {"Last-Event-ID": last_event_id, **(headers or {})})

    def open(self, method, body, headers):
        connection = self.service.connect(60)
        sent = {"Accept": "text/event-stream", **(headers or {})}
        if body:
            sent["Content-Type"] = "application/json"
        connection.request(method, self.path, body, self.service.headers(self.headers(sent), self.more.get(
            "key", self.service.key)))
        return Events(connection, connection.getresponse())

    def cancel(self, request_id):
        return self.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}})

    def delete(self):
        return self.service.request("DELETE", self.path, headers=self.headers(), **self.more)


class ModernMcp(RawMcp):
    """Of the revision without sessions: each request says what it is, twice."""

    def headers(self, headers=None):
        return {name: value for name, value in {"Accept": BOTH, **(headers or {})}.items() if value is not None}

    def envelope(self, method, params=None):
        params = {**(params or {})}
        params["_meta"] = {**META, **params.get("_meta", {})}
        headers = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": method}
        name = {"tools/call": "name", "resources/read": "uri"}.get(method)
        if name and name in params:
            headers["Mcp-Name"] = params[name]
        return self.message(method, params), headers

    def answer(self, method, params=None, headers=None):
        message, own = self.envelope(method, params)
        return self.post(message, {**own, **(headers or {})})

    def request(self, method, params=None, headers=None):
        return self.answer(method, params, headers).json


def wait_for(condition, seconds=15):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to that in time")
