"""The MCP server on the wire: messages, revisions, sessions, tools, results and resources."""
import base64
import contextlib
import json

import pytest

from e2e.test_calls import Agents, shop_image
from support.mcp_raw import META, NEWEST, NEWEST_WITH_HANDSHAKE, ModernMcp, RawMcp, wait_for

FIGURE = """
import matplotlib.pyplot as plt
plt.plot([1, 4, 9])
plt.show()
print("drawn")
"""


@pytest.fixture(scope="module")
def agent(service):
    assert service.request("PUT", "/v1/agents/mcp-notebook", {}).status == 201
    setting = "/v1/agents/mcp-notebook/env/CODE_INTERPRETER_SESSION"
    assert service.request("PUT", setting, {"value": "true"}).status == 200
    yield "mcp-notebook"
    service.request("DELETE", "/v1/agents/mcp-notebook")


@pytest.fixture
def modern(service):
    return ModernMcp(service)


def texts(result):
    return "".join(item["text"] for item in result["content"] if item["type"] == "text")


# ---- the handshake

@pytest.mark.parametrize("wanted, agreed", [
    ("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", NEWEST_WITH_HANDSHAKE),
    (NEWEST, NEWEST_WITH_HANDSHAKE), ("9999-01-01", NEWEST_WITH_HANDSHAKE)])
def test_the_revision_is_agreed_upon(service, wanted, agreed):
    client = RawMcp(service)
    result = client.initialize(wanted)
    assert result["protocolVersion"] == agreed
    assert set(result["capabilities"]) == {"tools", "resources"} and result["serverInfo"]["name"] == "code-sandbox"
    assert client.result("ping") == {}
    assert client.post(client.message("ping"), {"MCP-Protocol-Version": None}).status == 200
    for wrong in ("2025-06-18" if agreed != "2025-06-18" else "2025-11-25", "2020-01-01"):
        assert client.post(client.message("ping"), {"MCP-Protocol-Version": wrong}).status == 400
    assert client.delete().status == 204


def test_a_session_is_asked_for_and_ends(service, mcp):
    missing = mcp.post(mcp.message("ping"), {"Mcp-Session-Id": None})
    assert missing.status == 400 and "Mcp-Session-Id" in missing.error["message"] and missing.json["id"] == 1
    assert mcp.post(mcp.message("ping"), {"Mcp-Session-Id": "0" * 32}).status == 404
    assert mcp.delete().status == 204
    gone = mcp.post(mcp.message("ping"))
    assert gone.status == 404 and gone.error["code"] == -32001 and "initialize" in gone.error["message"]
    assert mcp.delete().status == 404


def test_a_session_is_of_its_project(service, mcp):
    assert service.post("/v1/projects", {"name": "mcp-other"}).status == 201
    key = service.post("/v1/projects/mcp-other/keys", {}).json["key"]
    stranger = RawMcp(service, key=key)
    stranger.session, stranger.revision = mcp.session, mcp.revision
    assert stranger.post(stranger.message("ping")).status == 404
    assert stranger.delete().status == 404
    assert mcp.result("ping") == {}
    assert service.post("/mcp", {}, key=None).status == 401


def test_the_agent_must_be_there(service):
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": NEWEST_WITH_HANDSHAKE}}
    for query in ("agent=nobody", "agent=..%2F", "agent="):
        answer = RawMcp(service, query).post(begin)
        assert answer.status == 400 and answer.error["code"] == -32602 and "?agent=" in answer.error["message"], answer
    answer = RawMcp(service, "conversation_id=a%20b").post(begin)
    assert answer.status == 400 and "conversation_id" in answer.error["message"]


# ---- messages that are none

@pytest.mark.parametrize("body, code", [
    (b"", -32700), (b"{", -32700), (b"null", -32700), (b'{"a": 1, "a": 2}', -32700), (b"\xff", -32700),
    (b"[" * 5000, -32600), (b"[]", -32600), (b' [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
    (b"{}", -32600), (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": [], "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600), (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "pi\\u0000ng"}', -32600),
    (b'{"x": ' * 3000, -32700)])
def test_what_is_no_message_is_refused(mcp, body, code):
    answer = mcp.post(body)
    assert answer.status == 400 and answer.error["code"] == code, answer
    assert answer.json["jsonrpc"] == "2.0" and len(answer.error["message"]) < 700


def test_a_list_of_messages_is_refused_in_words(mcp):
    answer = mcp.post([mcp.message("ping"), mcp.message("ping")])
    assert answer.status == 400 and "request of its own" in answer.error["message"]


def test_headers_are_checked(mcp):
    ping = mcp.message("ping")
    assert mcp.post(ping, {"Content-Type": "text/plain"}).status == 415
    assert mcp.post(ping, {"Content-Encoding": "gzip"}).status == 415
    assert mcp.post(ping, {"Accept": "text/html"}).status == 406
    for accept in ("application/json", "*/*", "text/html, application/json;q=0.5", None):
        answer = mcp.post(mcp.message("ping"), {"Accept": accept})
        assert answer.status == 200 and answer.headers["Content-Type"] == "application/json", accept


def test_pages_of_other_origins_are_refused(service, mcp):
    here = f"127.0.0.1:{service.port}"
    for origin in ("https://evil.example", f"https://evil.example:{service.port}", "null",
                   f"http://localhost:{service.port}"):
        for method in ("POST", "GET", "DELETE"):
            answer = service.request(method, "/mcp", mcp.message("ping") if method == "POST" else None,
                                     headers=mcp.headers({"Origin": origin}))
            assert answer.status == 403, (origin, method)
    assert mcp.post(mcp.message("ping"), {"Sec-Fetch-Site": "cross-site"}).status == 403
    assert mcp.post(mcp.message("ping"), {"Origin": f"http://{here}", "Host": here}).status == 200


def test_unknown_methods_and_notifications(mcp):
    answer = mcp.post(mcp.message("prompts/list"))
    assert answer.status == 200 and answer.error["code"] == -32601
    assert mcp.request("server/discover")["error"]["code"] == -32601
    assert mcp.post({"jsonrpc": "2.0", "method": "notifications/whatever"}).status == 202
    assert mcp.post({"jsonrpc": "2.0", "id": 5, "result": {}}).status == 202
    assert mcp.cancel(12345).status == 202
    assert mcp.post({"jsonrpc": "2.0", "method": "notifications/cancelled"}).status == 202


def test_get_is_for_coming_back_only(service, mcp):
    answer = service.get("/mcp", headers=mcp.headers())
    assert answer.status == 405 and answer.headers["Allow"] == "POST, DELETE"
    for wrong in ("1_0", "x", "", "99999999999999999999_1", "1_-1", "1_0x"):
        assert mcp.resume(wrong).status == 400, wrong
    assert mcp.resume("1_0", {"Mcp-Session-Id": "no"}).status == 404


# ---- tools

def test_the_tool_is_described_as_elsewhere(service, mcp, agent):
    tools = mcp.result("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["run_python"]
    schema = tools[0].pop("outputSchema")
    assert schema["type"] == "object" and "exit_code" in schema["required"]
    assert tools[0] == service.get("/v1/tools/run_python?format=mcp").json
    stateful = RawMcp(service, f"agent={agent}")
    stateful.initialize()
    tool = stateful.result("tools/list", {})["tools"][0]
    assert tool["description"] == service.get(f"/v1/tools/run_python?format=mcp&agent={agent}").json["description"]
    assert "share one interpreter" in tool["description"]
    assert mcp.request("tools/list", {"cursor": "x"})["error"]["code"] == -32602
    stateful.delete()


def test_a_run_comes_back_as_text_and_structured(mcp):
    result = mcp.call("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
    assert result["isError"] is False
    assert texts(result) == "out\n\n[stderr]\nerr\n\n[value]\n42\n"
    whole = result["structuredContent"]
    assert (whole["stdout"], whole["stderr"], whole["exit_code"], whole["outcome"]) == ("out\n", "err\n", 0, "ok")
    assert whole["results"] == [{"text/plain": "42"}] and whole["conversation_id"].startswith("mcp-")
    assert texts(mcp.call("pass")) == "[no output]"


def test_a_figure_is_a_picture(mcp):
    result = mcp.call(FIGURE)
    picture = next(item for item in result["content"] if item["type"] == "image")
    assert picture["mimeType"] == "image/png" and base64.b64decode(picture["data"]).startswith(b"\x89PNG")
    assert texts(result) == "drawn\n"
    assert "image/png" not in json.dumps(result["structuredContent"])


def test_files_are_links_that_can_be_read(mcp):
    result = mcp.call("open('a.csv', 'w').write('x,é\\n1,2\\n')\nopen('b.bin', 'wb').write(b'\\xff\\x00')\nNone")
    links = {item["name"]: item for item in result["content"] if item["type"] == "resource_link"}
    assert set(links) == {"a.csv", "b.bin"} and "[files]" in texts(result)
    assert links["a.csv"]["mimeType"] == "text/csv" and links["a.csv"]["size"] == 9
    text = mcp.result("resources/read", {"uri": links["a.csv"]["uri"]})["contents"]
    assert text == [{"uri": links["a.csv"]["uri"], "mimeType": "text/csv", "text": "x,é\n1,2\n"}]
    blob = mcp.result("resources/read", {"uri": links["b.bin"]["uri"]})["contents"][0]
    assert base64.b64decode(blob["blob"]) == b"\xff\x00"
    listed = mcp.result("resources/list")["resources"]
    assert {one["uri"] for one in listed} == {one["uri"] for one in links.values()}
    assert mcp.result("resources/templates/list")["resourceTemplates"][0]["uriTemplate"] == "sandbox://files/{file_id}"
    stranger = RawMcp(mcp.service, key=mcp.service.post("/v1/projects/mcp-other/keys", {}).json["key"])
    stranger.initialize()
    assert stranger.request("resources/read", {"uri": links["a.csv"]["uri"]})["error"]["code"] == -32002
    assert stranger.result("resources/list") == {"resources": []}


@pytest.mark.parametrize("uri, code", [
    ("sandbox://files/file_unknown", -32002), ("sandbox://files/../status", -32002), ("sandbox://files/", -32002),
    ("sandbox://files/a%2Fb", -32002), ("sandbox://files/x?download=1", -32002), ("file:///etc/passwd", -32002),
    ("sandbox://files/" + "a" * 5000, -32002), (7, -32602), (None, -32602),
    ("sandbox://files/file_unknown\0", -32602)])
def test_resources_that_are_not_there(mcp, uri, code):
    assert mcp.request("resources/read", {"uri": uri})["error"]["code"] == code


def test_errors_of_the_snippet_are_results(mcp):
    result = mcp.call("import nothing_of_this_name")
    assert result["isError"] is True and "[error, exit code 1]" in texts(result) and "[hint]" in texts(result)
    assert result["structuredContent"]["hint"] and "ModuleNotFoundError" in result["structuredContent"]["stderr"]
    result = mcp.call("while True: pass", timeout_s=1)
    assert result["isError"] is True and result["structuredContent"]["outcome"] == "timeout"


@pytest.mark.parametrize("params, words", [
    ({}, "name"), ({"name": 3}, "name"), ({"name": "nothing"}, "tools/list"), ({"name": "run_python"}, "code"),
    ({"name": "run_python\0x", "arguments": {"code": "1"}}, "name"),
    ({"name": "run_python", "arguments": []}, "arguments"), ({"name": "run_python", "arguments": {"code": 1}}, "code"),
    ({"name": "run_python", "arguments": {"code": "1", "timeout_s": 1000}}, "timeout_s"),
    ({"name": "run_python", "arguments": {"code": "1", "conversation_id": "other"}}, "conversation_id"),
    ({"name": "run_python", "arguments": {"code": "1", "agent": "other"}}, "agent"),
    ({"name": "run_python", "arguments": {"code": "1", "stream": True}}, "stream")])
def test_errors_of_use_are_errors(mcp, params, words):
    error = mcp.request("tools/call", params)["error"]
    assert error["code"] == -32602 and words in error["message"]


def test_long_output_is_cut_in_the_middle(mcp):
    result = mcp.call("print('ä' * 200_000)")
    assert len(texts(result).encode()) < 70_000 and "bytes left out" in texts(result)
    assert result["structuredContent"]["stdout_truncated"] is True
    assert len(texts(mcp.call("'x' * 200_000"))) < 70_000
    result = mcp.call("import sys; sys.stdout.write('\\0' * 200_000)")
    assert result["structuredContent"]["stdout_truncated"] is True


# ---- conversations

def test_a_session_is_a_conversation(service, agent):
    one, other = RawMcp(service, f"agent={agent}"), RawMcp(service, f"agent={agent}")
    one.initialize(), other.initialize()
    one.call("x = 41")
    assert texts(one.call("x + 1")) == "[value]\n42\n"
    assert "NameError" in texts(other.call("x"))
    third = RawMcp(service, f"agent={agent}")
    third.initialize()
    refused = third.call("1")
    assert refused["isError"] is True and "SANDBOX_SESSIONS_PER_PROJECT" in texts(refused), refused
    assert one.delete().status == 204  # with its interpreter: its place is free
    assert texts(third.call("1")) == "[value]\n1\n"
    other.delete(), third.delete()


def test_a_conversation_can_be_named(service, agent):
    query = f"agent={agent}&conversation_id=mcp-named"
    first = RawMcp(service, query)
    first.initialize()
    first.call("y = 'kept'\nopen('f.txt', 'w').write(y)")
    first.delete()
    second = RawMcp(service, query)
    second.initialize()
    assert texts(second.call("y")) == "[value]\n'kept'\n"
    assert [one["name"] for one in second.result("resources/list")["resources"]] == ["f.txt"]
    service.request("DELETE", "/v1/conversations/mcp-named")
    service.request("PUT", "/v1/agents/mcp-other", {})
    service.execute("1", agent="mcp-other", conversation_id="mcp-named")
    answer = second.request("tools/call", {"name": "run_python", "arguments": {"code": "1"}})
    assert answer["error"]["code"] == -32602 and "mcp-other" in answer["error"]["message"]
    service.request("DELETE", "/v1/agents/mcp-other")
    service.request("DELETE", "/v1/conversations/mcp-named")


# ---- an agent's own tools

@pytest.fixture(scope="module")
def shop(service, tmp_path_factory):
    agents = Agents(service, tmp_path_factory.mktemp("images"))
    status, body = agents.deploy("mcp-shop", shop_image())
    assert status == 200, body
    yield "mcp-shop"
    service.request("DELETE", "/v1/agents/mcp-shop")


def test_tools_of_an_agent_are_listed_and_called(service, shop):
    client = RawMcp(service, f"agent={shop}")
    client.initialize()
    tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
    stored = {tool["name"]: tool for tool in service.get(f"/v1/agents/{shop}").json["tools"]}
    assert set(tools) == {"run_python", *stored}
    assert tools["add"]["inputSchema"] == stored["add"]["parameters"] and "Adds two" in tools["add"]["description"]
    result = client.call(name="add", a=40, b=2)
    assert result["isError"] is False and texts(result) == "42\n\n[stdout]\nadding\n"
    assert result["structuredContent"]["result"] == 42 and "result" in tools["add"]["outputSchema"]["required"]
    assert result["structuredContent"]["conversation_id"].startswith("mcp-")
    assert texts(client.call(name="text", length=3)) == "xxx\n"
    failed = client.call(name="fail", words="out of stock")
    assert failed["isError"] is True and texts(failed).startswith("ValueError: out of stock\n")
    misuse = client.request("tools/call", {"name": "add", "arguments": {"a": "many"}})["error"]
    assert misuse["code"] == -32602 and misuse["data"]["param"].endswith("a"), misuse
    client.delete()
    bare = RawMcp(service)  # without the agent there are none of its tools
    bare.initialize()
    assert bare.request("tools/call", {"name": "add", "arguments": {"a": 1}})["error"]["code"] == -32602
    bare.delete()


def test_a_tool_that_lasts_says_that_it_runs_and_is_cancelled(service, shop):
    client = RawMcp(service, f"agent={shop}")
    client.initialize()
    params = {"name": "sleep", "arguments": {"seconds": 60}, "_meta": {"progressToken": "t"}}
    with client.stream(message := client.message("tools/call", params)) as events:
        for _, event in events:
            if event:
                assert event["params"]["message"] == "running for 5 s"
                break
        client.cancel(message["id"])
    wait_for(lambda: service.get("/v1/status").json["calls"]["running"] == 0, 5)
    client.delete()


def test_declared_tools_without_an_image_are_not_listed(service):
    tools = [{"name": "add", "entrypoint": "shop:add"}]
    assert service.request("PUT", "/v1/agents/mcp-declared", {"tools": tools}).status == 201
    client = RawMcp(service, "agent=mcp-declared")
    client.initialize()
    assert [tool["name"] for tool in client.result("tools/list")["tools"]] == ["run_python"]
    assert service.request("DELETE", "/v1/agents/mcp-declared").status == 204
    assert "was deleted" in client.request("tools/list")["error"]["message"]
    call = {"name": "run_python", "arguments": {"code": "1"}}
    assert "was deleted" in client.request("tools/call", call)["error"]["message"]
    client.delete()


# ---- the revision without sessions

def test_without_a_handshake(modern):
    found = modern.answer("server/discover")
    assert found.status == 200 and "Mcp-Session-Id" not in found.headers
    result = found.json["result"]
    assert result["supportedVersions"] == [NEWEST, "2025-11-25", "2025-06-18"] and result["resultType"] == "complete"
    assert result["ttlMs"] == 0 and result["cacheScope"] == "private"
    assert set(result["capabilities"]) == {"tools", "resources"}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "code-sandbox"
    listed = modern.result("tools/list")
    assert listed["tools"][0]["name"] == "run_python" and listed["resultType"] == "complete" and "ttlMs" in listed
    result = modern.call("print(1)\nopen('a.txt', 'w').write('hello')\nNone")
    assert result["resultType"] == "complete" and result["structuredContent"]["conversation_id"] is None
    resource = next(item for item in result["content"] if item["type"] == "resource")["resource"]
    assert base64.b64decode(resource["blob"]) == b"hello" and resource["uri"].endswith("/a.txt")
    assert modern.result("resources/list")["resources"] == []


def test_without_a_handshake_a_conversation_is_named(service, agent):
    client = ModernMcp(service, f"agent={agent}&conversation_id=mcp-modern")
    assert "share one interpreter" in client.result("tools/list")["tools"][0]["description"]
    client.call("z = 3\nopen('a.txt', 'w').write('hello')")
    assert texts(client.call("z")) == "[value]\n3\n"
    uri = client.result("resources/list")["resources"][0]["uri"]
    assert client.result("resources/read", {"uri": uri})["contents"][0]["text"] == "hello"
    fresh = ModernMcp(service, f"agent={agent}")  # nothing that state could belong to
    assert "starts fresh" in fresh.result("tools/list")["tools"][0]["description"]
    service.request("DELETE", "/v1/conversations/mcp-modern")


@pytest.mark.parametrize("change, code", [
    ({"MCP-Protocol-Version": None}, -32020), ({"MCP-Protocol-Version": "2025-11-25"}, -32020),
    ({"Mcp-Method": None}, -32020), ({"Mcp-Method": "tools/list"}, -32020), ({"Mcp-Name": None}, -32020),
    ({"Mcp-Name": "other"}, -32020), ({"Mcp-Name": "=?base64?!!!?="}, -32020)])
def test_headers_must_repeat_the_message(modern, change, code):
    answer = modern.answer("tools/call", {"name": "run_python", "arguments": {"code": "1"}}, change)
    assert answer.status == 400 and answer.error["code"] == code and answer.json["id"] == 1, answer


def test_a_header_may_be_encoded(modern):
    encoded = "=?base64?" + base64.b64encode(b"run_python").decode() + "?="
    answer = modern.answer("tools/call", {"name": "run_python", "arguments": {"code": "1"}}, {"Mcp-Name": encoded})
    assert answer.status == 200 and answer.json["result"]["isError"] is False


def test_errors_without_a_handshake_have_their_status(modern):
    assert modern.answer("nothing/there").status == 404
    assert modern.answer("ping").status == 404
    assert modern.answer("tools/call", {"name": "nothing"}).status == 400
    assert modern.answer("resources/read", {"uri": "sandbox://files/file_x"}).error["code"] == -32602
    bare = modern.post(modern.message("tools/list", {}), {"MCP-Protocol-Version": NEWEST, "Mcp-Method": "tools/list"})
    assert bare.status == 400 and bare.error["code"] == -32602 and "_meta" in bare.error["message"]
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    later = modern.post(modern.message("tools/list", {"_meta": meta}),
                        {"MCP-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list"})
    assert later.status == 400 and later.error["code"] == -32022
    assert later.error["data"] == {"supported": [NEWEST, "2025-11-25", "2025-06-18"], "requested": "2099-01-01"}
    assert modern.post({"jsonrpc": "2.0", "method": "notifications/cancelled"},
                       {"MCP-Protocol-Version": NEWEST}).status == 202


def test_a_header_may_stand_once_only(service):
    with contextlib.closing(service.connect()) as connection:
        connection.putrequest("POST", "/mcp")
        for name, value in (("Authorization", "Bearer " + service.key), ("Mcp-Name", "a"), ("Mcp-Name", "b"),
                            ("Content-Length", "0")):
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == 400 and b"Mcp-Name stands more than once" in answer.read()


def test_only_a_stream_if_that_is_all_that_is_accepted(mcp):
    with mcp.stream(mcp.message("ping")) as events:
        assert events.headers["Content-Type"] == "text/event-stream"
        assert [message["result"] for message in events.messages()] == [{}]
