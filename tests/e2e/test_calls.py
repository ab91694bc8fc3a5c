"""Tool calls over HTTP, from the sending of an image to its end: an agent's functions run in sandboxes of its own image."""

import concurrent.futures
import http.client
import json
import secrets
import subprocess
import time

import pytest

from support import agent_images
from support.cli import Cli
from support.client import events_of

MIB = 1 << 20
SHOP = '''
import asyncio
import os
import sys
import time

from code_sandbox import tool


@tool
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    print("adding")
    return a + b


@tool
def environment() -> dict:
    """All that is there."""
    return {"variables": dict(os.environ), "uid": os.getuid(), "pid": os.getpid(), "folder": os.getcwd()}


@tool
async def later(x: float) -> float:
    """Takes its time."""
    await asyncio.sleep(0.05)
    return x


@tool
def fail(words: str):
    """Raises."""
    raise ValueError(words)


@tool
def misses_a_module():
    """Needs what is not there."""
    import not_installed_anywhere


@tool
def wants_a_key():
    """Needs what never gets in."""
    return os.environ["SHOP_API_KEY"]


@tool
def text(length: int) -> str:
    """As long as it is told."""
    return "x" * length


@tool
def sleep(seconds: float):
    """Does nothing."""
    time.sleep(seconds)


@tool
def end(code: int):
    """Ends without returning."""
    os._exit(code)


@tool
def eat(mebibytes: int) -> int:
    """Takes memory."""
    return len(bytearray(mebibytes << 20))


@tool
def say(count: int):
    """Prints."""
    sys.stdout.write("y" * count)


@tool
def write(path: str) -> str:
    """Writes."""
    with open(path, "w") as file:
        file.write("x")
    return path


@tool
def fetch(host: str, port: int) -> str:
    """Connects."""
    import urllib.request

    return urllib.request.urlopen(f"http://{host}:{port}/", timeout=5).read().decode()
'''
ENV = ["SHOP_CURRENCY=EUR", "SHOP_API_KEY=canary-of-the-image", "SANDBOX_URL=http://x"]


def shop_image(source=SHOP, **more):
    return agent_images.agent({"/app/shop.py": source}, env=ENV, **more)


class Agents:
    def __init__(self, service, folder):
        self.service, self.folder, self.count = service, folder, 0

    def deploy(self, name, image, kind="oci-archive", accept=None):
        self.count += 1
        path = self.folder / f"{self.count}.tar"
        (image.write_docker_archive if kind == "docker-archive" else image.write_oci_archive)(path)
        return self.send(name, path.read_bytes(), kind, accept)

    def send(self, name, body, kind="oci-archive", accept=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=110)
        headers = {"Authorization": f"Bearer {self.service.key}", "Content-Type": "application/x-tar"}
        if accept:
            headers["Accept"] = accept
        connection.request("PUT", f"/v1/agents/{name}/image?kind={kind}", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def call(self, tool, agent="shop", **more):
        response = self.service.post("/v1/call", {"agent": agent, "tool": tool, **more})
        assert response.status == 200, response
        return response.json


@pytest.fixture(scope="module")
def agents(service, tmp_path_factory):
    found = Agents(service, tmp_path_factory.mktemp("images"))
    status, body = found.deploy("shop", shop_image())
    assert status == 200, body
    found.deployed = events_of(body)
    yield found
    for name in ("shop", "other", "docker"):
        service.request("DELETE", f"/v1/agents/{name}")


def images_of(service):
    folder = service.data_dir / "images"
    return sorted(path.name for path in folder.glob("*.erofs"))


def test_an_image_is_deployed_with_progress(agents):
    names = [name for name, _ in agents.deployed]
    assert names[-1] == "done" and set(names[:-1]) == {"progress"}, agents.deployed
    assert agents.deployed[-2][1]["step"] == "discover"
    agent = agents.deployed[-1][1]
    assert agent["image"] == "oci-archive" and agent["image_digest"].startswith("sha256:") and agent["image_bytes"] > MIB
    assert agent["python"].startswith("3.12.")
    tools = {one["name"]: one for one in agent["tools"]}
    assert len(tools) == SHOP.count("@tool") and tools["add"]["entrypoint"] == "shop:add"
    assert tools["add"]["parameters"]["required"] == ["a"] and "Adds two numbers" in tools["add"]["description"]
    assert agents.service.get("/v1/agents/shop").json["tools"] == agent["tools"]


def test_a_call_returns_a_result(agents):
    reply = agents.call("add", arguments={"a": 40, "b": 2})
    assert (reply["outcome"], reply["exit_code"], reply["result"], reply["error"]) == ("ok", 0, 42, None)
    assert reply["stdout"] == "adding\n" and reply["egress"] == [] and reply["egress_complete"] is True
    assert reply["usage"]["start_ms"] > 0 and reply["usage"]["create_ms"] > 0 and reply["hint"] is None
    assert agents.call("later", arguments={"x": 0.1})["result"] == 0.1
    other = agents.call("add", arguments={"a": 1})
    assert other["sandbox_id"] != reply["sandbox_id"] and other["run_id"] != reply["run_id"]


def test_the_environment_is_the_images_without_credentials(agents):
    agents.service.request("PUT", "/v1/agents/shop/env/SETTING_OF_THE_AGENT", {"value": "canary"})
    there = agents.call("environment")["result"]
    assert there["uid"] == 65532 and there["folder"] == "/app"
    assert there["variables"]["SHOP_CURRENCY"] == "EUR" and there["variables"]["HOME"] == "/home/nonroot"
    assert not {"SHOP_API_KEY", "SANDBOX_URL", "SETTING_OF_THE_AGENT"} & set(there["variables"])
    assert "canary" not in json.dumps(there)
    assert "TRACEPARENT" not in there["variables"]
    refused = agents.call("wants_a_key")
    assert refused["error"]["type"] == "KeyError" and '"SHOP_API_KEY"' in refused["hint"]


def test_a_trace_goes_on_in_the_tool(agents):
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    response = agents.service.post("/v1/call", {"agent": "shop", "tool": "environment"},
                                   headers={"traceparent": f"00-{trace}-{span}-01"})
    passed_on = response.json["result"]["variables"]["TRACEPARENT"]
    assert passed_on == response.headers["traceparent"] and passed_on.startswith(f"00-{trace}-") and span not in passed_on


@pytest.mark.parametrize("body, status, param, words", [
    ({"tool": "add"}, 400, "agent", "required"),
    ({"agent": "nobody", "tool": "add"}, 404, "agent", 'no agent "nobody"'),
    ({"agent": "shop", "tool": "nothing"}, 404, "tool", "add, "),
    ({"agent": "shop", "tool": "add", "arguments": {"a": "1"}}, 400, "arguments.a", "a whole number"),
    ({"agent": "shop", "tool": "add"}, 400, "arguments.a", "missing"),
    ({"agent": "shop", "tool": "add", "arguments": [1]}, 400, "arguments", "an object"),
    ({"agent": "shop", "tool": "add", "arguments": {"a": 1}, "timeout_s": 120.5}, 400, "timeout_s", "at most 120"),
    ({"agent": "shop", "tool": "add", "arguments": {"a": 1}, "timeout_s": 0}, 400, "timeout_s", "greater than 0"),
    ({"agent": "shop", "tool": "add", "arguments": {"a": 1}, "conversation_id": "a b"}, 400, "conversation_id", "1 to 128"),
    ({"agent": "shop", "tool": "add", "code": "1"}, 400, "code", "no field"),
    ({"agent": "shop", "tool": "text", "arguments": {"length": 1, "more": "x" * MIB}}, 413, None, "1048576"),
])
def test_what_is_wrong_is_named_before_anything_starts(agents, body, status, param, words):
    before = agents.service.get("/v1/status").json["calls"]["started_total"]
    response = agents.service.post("/v1/call", body)
    assert response.status == status and response.error.get("param") == param, response
    assert words in response.error["message"], response
    assert agents.service.get("/v1/status").json["calls"]["started_total"] == before


def test_an_agent_without_image(agents):
    agents.service.request("PUT", "/v1/agents/bare", {})
    response = agents.service.post("/v1/call", {"agent": "bare", "tool": "add"})
    assert response.status == 409 and response.error["param"] == "agent" and "agents deploy" in response.error["message"]
    agents.service.request("DELETE", "/v1/agents/bare")


def test_exceptions_and_ends(agents):
    failed = agents.call("fail", arguments={"words": "not today: ä"})
    assert failed["outcome"] == "error" and failed["exit_code"] == 1 and failed["result"] is None
    assert failed["error"]["type"] == "ValueError" and failed["error"]["message"] == "not today: ä"
    assert failed["error"]["builtin"] is True and "shop.py" in failed["error"]["traceback"]
    missing = agents.call("misses_a_module")
    assert missing["error"]["type"] == "ModuleNotFoundError" and "agents deploy shop" in missing["hint"]
    ended = agents.call("end", arguments={"code": 3})
    assert (ended["outcome"], ended["exit_code"]) == ("error", 3) and "exit code 3" in ended["error"]["message"]
    ended = agents.call("end", arguments={"code": 0})
    assert ended["outcome"] == "error" and "before the function returned" in ended["error"]["message"]
    refused = agents.call("write", arguments={"path": "/app/x"})
    assert refused["outcome"] == "error" and "/mnt/data" in refused["hint"]
    assert agents.call("write", arguments={"path": "/mnt/data/x"})["outcome"] == "ok"


def test_limits(agents):
    started = time.monotonic()
    late = agents.call("sleep", arguments={"seconds": 60}, timeout_s=0.7)
    assert (late["outcome"], late["exit_code"]) == ("timeout", -1) and "timeout_s" in late["hint"]
    assert time.monotonic() - started < 15
    hungry = agents.call("eat", arguments={"mebibytes": 1500})
    assert hungry["outcome"] in ("out_of_memory", "error") and "1 GiB" in hungry["hint"]
    assert agents.call("eat", arguments={"mebibytes": 700})["result"] == 700 * MIB
    loud = agents.call("say", arguments={"count": 3 * MIB})
    assert loud["outcome"] == "ok" and loud["stdout_truncated"] is True and len(loud["stdout"]) < 1.1 * MIB


def test_the_size_of_a_reply(agents):
    fits = agents.call("text", arguments={"length": 7 * MIB})
    assert fits["outcome"] == "ok" and len(fits["result"]) == 7 * MIB
    for length in (8 * MIB - 2, 8 * MIB, 9 * MIB):
        response = agents.service.post("/v1/call", {"agent": "shop", "tool": "text", "arguments": {"length": length}})
        assert response.status == 200 and len(response.body) <= 8 * MIB
        assert response.json["outcome"] == "error" and response.json["result"] is None
        assert "8,388,608" in response.json["error"]["message"] or "8388608" in response.json["error"]["message"]


def test_refused_connections_are_told(agents):
    refused = agents.call("fetch", arguments={"host": "169.254.169.254", "port": 80})
    assert refused["outcome"] == "error", refused
    assert [(one["address"], one["port"], one["decision"], one["rule"]) for one in refused["egress"]] == [
        ("169.254.169.254", 80, "refused", "reserved")]
    assert "SANDBOX_EGRESS_ALLOW" in refused["hint"]
    lines = agents.service.get("/v1/audit?limit=50").json
    assert refused["run_id"] in json.dumps(lines)


def test_calls_are_kept_with_a_conversation(agents):
    kept = agents.call("add", arguments={"a": 1}, conversation_id="calls-1")
    runs = agents.service.get("/v1/conversations/calls-1/runs").json["runs"]
    assert [(run["run_id"], run["tool"], run["agent"], run["outcome"]) for run in runs] == [
        (kept["run_id"], "add", "shop", "ok")]
    shown = agents.service.get(f"/v1/runs/{kept['run_id']}").json
    assert shown["tool"] == "add" and shown["arguments"] == {"a": 1} and shown["result"] == 2
    assert shown["code"] == 'add({"a": 1})' and shown["files"] == []
    response = agents.service.post("/v1/execute", {"code": "1", "conversation_id": "calls-1", "agent": "nobody"})
    assert response.status == 404
    agents.service.request("DELETE", "/v1/conversations/calls-1")


def test_a_call_with_a_key_is_made_once(agents):
    """Also where the client of the first request is gone."""
    service, headers = agents.service, {"Idempotency-Key": "call-" + secrets.token_hex(8)}
    body = {"agent": "shop", "tool": "sleep", "arguments": {"seconds": 2}, "conversation_id": "calls-2"}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    connection.request("POST", "/v1/call", json.dumps(body), {
        "Authorization": f"Bearer {service.key}", "Content-Type": "application/json", **headers})
    running = lambda: service.get("/v1/status").json["calls"]["running"]
    assert wait_for(lambda: running() == 1)
    connection.close()
    answers = [service.post("/v1/call", body, headers=headers) for _ in range(2)]
    assert all(answer.status == 200 and answer.headers["Idempotency-Replayed"] == "true" for answer in answers), answers
    assert answers[0].body == answers[1].body and answers[0].json["outcome"] == "ok"
    assert len(service.get("/v1/conversations/calls-2/runs").json["runs"]) == 1
    refused = service.post("/v1/call", {**body, "tool": "add"}, headers=headers)
    assert refused.status == 409 and refused.error["param"] == "Idempotency-Key"

    headers = {"Idempotency-Key": "call-" + secrets.token_hex(8)}
    add = {"agent": "shop", "tool": "add", "arguments": {"a": 1}}
    assert service.post("/v1/call", {**add, "arguments": {"a": "x"}}, headers=headers).status == 400
    first, again = [service.post("/v1/call", add, headers=headers) for _ in range(2)]
    assert first.json["result"] == 2 and first.body == again.body and again.headers["Idempotency-Replayed"] == "true"
    service.request("DELETE", "/v1/conversations/calls-2")


def test_a_client_that_goes_away_ends_its_call(agents):
    connection = http.client.HTTPConnection("127.0.0.1", agents.service.port, timeout=30)
    body = json.dumps({"agent": "shop", "tool": "sleep", "arguments": {"seconds": 60}, "timeout_s": 100})
    connection.request("POST", "/v1/call", body, {"Authorization": f"Bearer {agents.service.key}",
                                                  "Content-Type": "application/json"})
    running = lambda: agents.service.get("/v1/status").json["calls"]["running"]
    assert wait_for(lambda: running() == 1)
    connection.close()
    assert wait_for(lambda: running() == 0)


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_calls_beside_each_other_and_beside_snippets(agents):
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        calls = [pool.submit(agents.call, "add", arguments={"a": i}) for i in range(10)]
        snippet = pool.submit(agents.service.post, "/v1/execute", {"code": "print(6 * 7)"})
        assert [call.result()["result"] for call in calls] == [i + 1 for i in range(10)]
        assert snippet.result().json["stdout"] == "42\n"
    assert len({call.result()["sandbox_id"] for call in calls}) == 10
    assert wait_for(lambda: agents.service.get("/v1/status").json["calls"]["running"] == 0)


def test_images_are_shared_and_dropped(agents):
    before = images_of(agents.service)
    status, body = agents.deploy("other", shop_image(), accept="application/json")
    assert status == 201 and json.loads(body)["image_digest"] == agents.service.get("/v1/agents/shop").json["image_digest"]
    assert images_of(agents.service) == before  # of one digest
    changed = shop_image(SHOP.replace("return a + b", "return a - b"))
    status, body = agents.deploy("other", changed, accept="application/json")
    assert status == 200, body
    assert agents.call("add", agent="other", arguments={"a": 5, "b": 3})["result"] == 2
    assert agents.call("add", arguments={"a": 5, "b": 3})["result"] == 8
    assert len(images_of(agents.service)) == len(before) + 1
    assert agents.service.request("DELETE", "/v1/agents/other").status == 204
    assert wait_for(lambda: images_of(agents.service) == before)


def test_a_deployment_that_fails_leaves_the_old_image(agents):
    for image, words in ((shop_image("import nothing_of_this_name  # code_sandbox\n"), "nothing_of_this_name"),
                         (shop_image(architecture="s390x"), "s390x")):
        status, body = agents.deploy("shop", image)
        event, data = events_of(body)[-1] if status == 200 else ("error", json.loads(body))
        assert event == "error" and words in data["error"]["message"], body
    status, body = agents.send("shop", b"no archive" * 1000)
    assert status == 400 or events_of(body)[-1][0] == "error", body
    assert agents.send("shop", b"")[0] == 400
    assert agents.send("shop", b"x", kind="dir")[0] == 400
    assert agents.call("add", arguments={"a": 1})["result"] == 2
    assert wait_for(lambda: len(images_of(agents.service)) == 1)


def test_from_the_shell(agents):
    cli = Cli(agents.service.url, agents.service.key)
    result = cli("call", "shop", "add", "--arg", "a=40", "--arg-json", "b=2")
    assert (result.code, result.stdout) == (0, b"42\n") and "adding" in result.stderr
    result = cli("call", "shop", "fail", "--arg", "words=7")
    assert result.code == 1 and result.stdout == b"" and "ValueError: 7" in result.stderr
    result = cli("call", "shop", "sleep", "--arg", "seconds=30", "--timeout", "0.5")
    assert result.code == 124 and "hint:" in result.stderr
    result = cli("call", "shop", "text", "--arg", "length=3", "--json")
    assert json.loads(result.stdout)["result"] == "xxx"
    assert cli("call", "shop", "add", "--arg", "a=x").code == 65
    assert cli("call", "shop", "add", "--arg", "a").code == 64


@pytest.mark.timeout(240)  # two starts
def test_a_lost_image_is_noticed(make_service, tmp_path):
    service = make_service({"SANDBOX_WARM_POOL": 0})
    agents = Agents(service, tmp_path)
    status, body = agents.deploy("shop", shop_image())
    assert events_of(body)[-1][0] == "done", body
    (file,) = (service.data_dir / "images").glob("*.erofs")
    stray = file.with_name("0" * 32 + ".erofs")
    stray.write_bytes(file.read_bytes())
    assert service.stop() == 0
    file.unlink()
    service.start()
    response = service.post("/v1/call", {"agent": "shop", "tool": "add", "arguments": {"a": 1}})
    assert response.status == 409 and "Deploy the agent again" in response.error["message"], response
    assert wait_for(lambda: not stray.exists())  # it is no agent's
    status, body = agents.deploy("shop", shop_image())
    assert events_of(body)[-1][0] == "done", body
    assert agents.call("add", arguments={"a": 1})["result"] == 2
    assert service.stop() == 0
