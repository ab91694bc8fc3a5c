"""platformctl mcp: the MCP server for programs that speak over standard input and output."""
import json
import os
import resource
import select
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest

from support.cli import Cli
from support.harness import HttpSide
from support.mcp_raw import META, RawMcp, wait_for


class Stdio:
    def __init__(self, service, *words, **variables):
        self.process = Cli(service.url, service.key, **variables).start("mcp", *words, stdin=subprocess.PIPE)
        self.rest = b""

    def send(self, *messages):
        for message in messages:
            self.process.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self.process.stdin.flush()

    def receive(self, seconds=30):
        while b"\n" not in self.rest:
            assert select.select([self.process.stdout], [], [], seconds)[0], "nothing came"
            piece = os.read(self.process.stdout.fileno(), 65536)
            assert piece, f"it has ended: {self.process.stderr.read()}"
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def until(self, request_id):
        """The answer, and what came before it."""
        before = []
        while (message := self.receive()).get("id") != request_id or "method" in message:
            before.append(message)
        return message, before

    def begin(self):
        self.send(request(0, "initialize", protocolVersion="2025-11-25", capabilities={}))
        answer = self.receive()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(20)
        rest, errors = self.rest + self.process.stdout.read(), self.process.stderr.read().decode()
        return code, rest, errors


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number, code, token=None, **arguments):
    meta = {"_meta": {"progressToken": token}} if token else {}
    return request(number, "tools/call", name="run_python", arguments={"code": code, **arguments}, **meta)


@pytest.fixture
def stdio(service):
    client = Stdio(service)
    yield client
    client.process.kill()
    client.process.wait()


@pytest.fixture
def agent(service):
    service.request("PUT", "/v1/agents/mcp-stdio", {})
    service.request("PUT", "/v1/agents/mcp-stdio/env/CODE_INTERPRETER_SESSION", {"value": "true"})
    yield "mcp-stdio"
    service.request("DELETE", "/v1/agents/mcp-stdio")


def test_a_conversation_over_pipes(service, stdio):
    assert stdio.begin()["protocolVersion"] == "2025-11-25"
    stdio.send(request(1, "tools/list"), request("two", "ping"))
    answers = {message["id"]: message["result"] for message in (stdio.receive(), stdio.receive())}
    assert answers[1]["tools"][0]["name"] == "run_python" and answers["two"] == {}
    stdio.send(call(3, "print(6 * 7)\nopen('a.txt', 'w').write('hello')\nNone"))
    result = stdio.receive()["result"]
    assert result["structuredContent"]["stdout"] == "42\n"
    link = next(item for item in result["content"] if item["type"] == "resource_link")
    stdio.send(request(4, "resources/read", uri=link["uri"]))
    assert stdio.receive()["result"]["contents"][0]["text"] == "hello"
    assert stdio.end() == (0, b"", "")


def test_lines_may_come_all_at_once(service):
    """As `printf … | platformctl mcp` sends them: what runs at the end of the input is waited for."""
    lines = [request(0, "initialize", protocolVersion="2025-11-25", capabilities={}),
             {"jsonrpc": "2.0", "method": "notifications/initialized"},
             call(1, "import time; time.sleep(1); print('x')")]
    given = b"\n\r\n".join(json.dumps(line).encode() for line in lines)  # the last has no line break
    done = Cli(service.url, service.key)("mcp", given=given)
    assert done.code == 0 and done.stderr == "", done
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert [message["id"] for message in messages] == [0, 1] and messages[1]["result"]["isError"] is False


def test_a_long_line(service):
    """It is looked through once, however many pieces it comes in; one that no service takes ends the process."""
    begin = json.dumps(request(0, "initialize", protocolVersion="2025-11-25", capabilities={})).encode() + b"\n"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = Cli(service.url, service.key)("mcp", given=begin + json.dumps(call(1, "1")).encode() + b" " * (60 << 20))
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before  # those of a processor
    assert json.loads(done.stdout.splitlines()[1])["error"]["message"].startswith("the service says: The body has 629")
    assert done.code == 0 and seconds < 2.5, (done, seconds)
    done = Cli(service.url, service.key)("mcp", given=begin + b" " * (65 << 20) + b"\n")
    assert done.code == 65 and "longer than 64 MiB" in done.stderr and len(done.stdout.splitlines()) == 1


def test_output_comes_while_it_is_printed_and_requests_run_side_by_side(service, stdio):
    stdio.begin()
    stdio.send(call(1, "import time\nfor i in range(3):\n print(i, flush=True)\n time.sleep(0.5)", token="t"))
    stdio.send(request(2, "ping"))
    answer, before = stdio.until(2)
    assert answer["result"] == {}
    answer, after = stdio.until(1)
    told = "".join(message["params"]["message"] for message in before + after)
    assert told == "0\n1\n2\n" and answer["result"]["structuredContent"]["stdout"] == told


@pytest.mark.parametrize("modern", (False, True))
def test_a_request_is_cancelled(service, stdio, modern):
    if not modern:
        stdio.begin()
    message = call(1, "import time; print('begun', flush=True); time.sleep(20)", token="t")
    message["params"]["_meta"] |= META if modern else {}
    stdio.send(message)
    assert "begun" in stdio.receive()["params"]["message"]
    stdio.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    wait_for(lambda: service.get("/v1/status").json["runs"]["running"] == 0, 5)
    ping = request(2, "tools/list", _meta=META) if modern else request(2, "ping")
    stdio.send(ping)
    assert stdio.receive()["id"] == 2
    assert stdio.end() == (0, b"", "")


def test_without_a_handshake(service, agent):
    client = Stdio(service, "--agent", agent)
    client.send(request(1, "server/discover", _meta=META))
    assert client.receive()["result"]["supportedVersions"][0] == "2026-07-28"
    for number, code in ((2, "x = 'ä'"), (3, "x")):
        message = call(number, code)
        message["params"]["_meta"] = META
        client.send(message)
        answer = client.receive()
    assert answer["result"]["content"][0]["text"] == "[value]\n'ä'\n"  # one process is one conversation
    client.send(request(4, "resources/read", uri="sandbox://files/ä", _meta=META))  # goes through a header encoded
    assert client.receive()["error"]["code"] == -32602
    assert len(service.get("/v1/sessions").json["sessions"]) == 1
    assert client.end()[0] == 0
    assert service.get("/v1/sessions").json["sessions"] == []


def test_the_interpreter_ends_with_the_process(service, agent):
    client = Stdio(service, "--agent", agent)
    client.begin()
    client.send(call(1, "x = 1"), call(2, "import time; time.sleep(20)", token=1))
    assert client.receive()["id"] == 1
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(10) == 128 + signal.SIGTERM
    assert service.get("/v1/sessions").json["sessions"] == []
    named = Stdio(service, "--agent", agent, "--conversation", "mcp-stdio-1")
    named.begin()
    named.send(call(1, "y = 2"))
    named.receive()
    assert named.end()[0] == 0
    assert service.execute("y", agent=agent, conversation_id="mcp-stdio-1").results == [{"text/plain": "2"}]
    service.request("DELETE", "/v1/conversations/mcp-stdio-1")


def test_errors_come_as_messages(service, stdio):
    stdio.send(b"this is no message")
    assert stdio.receive()["error"]["code"] == -32700
    stdio.send(b"[]")
    assert stdio.receive()["error"]["code"] == -32700
    stdio.send(request(1, "tools/list"))  # before the handshake
    answer = stdio.receive()
    assert answer["id"] == 1 and "initialize" in answer["error"]["message"]
    stdio.begin()
    stdio.send(request(2, "prompts/list"))
    assert stdio.receive()["error"]["code"] == -32601
    assert stdio.end()[0] == 0


def test_what_keeps_the_service_away_is_said(service):
    wrong = Cli(service.url, "sbx_wrong")("mcp", given=b"")
    assert wrong.code == 77 and "unknown" in wrong.stderr and wrong.stdout == b""
    nobody = Cli("http://127.0.0.1:1", service.key)("mcp", given=b"")
    assert nobody.code == 69 and "cannot reach the service" in nobody.stderr
    agent = Cli(service.url, service.key)("mcp", "--agent", "nobody", given=b"")
    assert agent.code == 65 and 'no agent "nobody"' in agent.stderr


@pytest.fixture
def side():
    running = HttpSide()
    yield running
    running.stop()


def test_a_service_that_goes_away_is_said(side):
    client = Stdio(SimpleNamespace(url=f"http://127.0.0.1:{side.port}", key=side.key))
    client.begin()
    assert side.stop() == 0
    client.send(request(7, "ping"))
    answer = client.receive()
    assert answer["id"] == 7 and "cannot be reached, or went away" in answer["error"]["message"]
    code, _, errors = client.end()
    assert code == 0 and "went away" in errors


def test_a_session_that_has_ended_begins_again(service, agent):
    """Over pipes a client cannot be told: messages of whatever kind go on, in the same conversation."""
    client = Stdio(service, "--agent", agent)
    client.begin()
    client.send(call(1, "x = 42"))
    client.receive()
    for _ in range(2):
        for _ in range(100):  # the most that a project may have: the one that was left alone for longest makes room
            RawMcp(service).initialize()
        client.send(*(call(number, "x") for number in range(2, 6)))
        answers = [client.receive() for _ in range(4)]
        assert sorted(answer["id"] for answer in answers) == [2, 3, 4, 5]
        assert all(answer["result"]["content"][0]["text"] == "[value]\n42\n" for answer in answers), answers
    assert client.end() == (0, b"", "")


def test_a_session_that_cannot_begin_again_is_said():
    side = HttpSide(conversation_ttl_s=1)
    side.request("PUT", "/v1/agents/mcp-gone", {})
    client = Stdio(SimpleNamespace(url=f"http://127.0.0.1:{side.port}", key=side.key), "--agent", "mcp-gone")
    client.begin()
    side.request("DELETE", "/v1/agents/mcp-gone")
    time.sleep(1.2)
    client.send(request(1, "ping"))
    assert "no such session" in client.receive()["error"]["message"]
    side.request("PUT", "/v1/agents/mcp-gone", {})
    client.send(request(2, "ping"))
    assert client.receive() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert client.end()[0] == 0
    side.stop()


def test_a_reader_that_goes_away_ends_it(service):
    client = Stdio(service)
    client.begin()
    client.process.stdout.close()
    client.send(request(1, "ping"))
    assert client.process.wait(10) == 128 + signal.SIGPIPE

