"""The MCP server as others use it: their published clients, an agent framework, the inspector, and our example."""
import json
import os
import subprocess

import pytest

from docs import pages
from support.cli import PLATFORMCTL
from support.client import dedent
from support.mcp_raw import wait_for
from support.model_server import ModelServer, run
from support.service import REPOSITORY

CLIENTS = REPOSITORY / "tests" / "clients"
PYTHON = REPOSITORY / "build" / "test-clients" / "bin" / "python"
WITH_FRAMEWORKS = REPOSITORY / "build" / "test-package" / "bin" / "python"
NPM = REPOSITORY / "build" / "test-npm"
PRINTED = "step 0\nstep 1\nstep 2\n"


def do(*words, timeout=90, given="", **environment):
    assert os.path.exists(words[0]) or words[0] == "node", f"{words[0]} is missing: scripts/install-test-clients"
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", **environment}
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=timeout, env=environment,
                          input=given, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def check(seen, service, revision):
    assert seen["revision"] in (revision, None)
    assert seen["tools"] == ["run_python"] and seen["kinds"] == ["text", "image", "resource_link"]
    assert seen["stdout"] == PRINTED and seen["told"] == PRINTED
    assert seen["picture"] is True and seen["file"] == "a,b\n" and "t.csv" in seen["resources"]
    assert seen["failed"] is True and "ZeroDivisionError" in seen["reason"] and seen["misuse"] == -32602
    assert seen["cancelled"] is True
    wait_for(lambda: service.get("/v1/status").json["runs"]["running"] == 0, 5)


@pytest.mark.parametrize("mode, revision", [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("stdio", "2026-07-28")])
def test_the_published_client_for_python(service, mode, revision):
    seen = json.loads(do(PYTHON, "-B", CLIENTS / "mcp_python.py", mode, service.url, service.key, PLATFORMCTL))
    check(seen, service, revision)


def in_npm(name):
    """Imports are looked up from where a file lies: beside the packages."""
    assert (NPM / "node_modules").exists(), "scripts/install-test-clients npm has not been run"
    place = NPM / name
    place.write_text((CLIENTS / "npm" / name).read_text())
    return place


@pytest.mark.parametrize("package, stdio, revision", [
    ("sdk", False, "2025-11-25"), ("sdk", True, "2025-11-25"), ("client", False, "2026-07-28"),
    ("client", True, "2026-07-28")])
def test_the_published_clients_for_javascript(service, package, stdio, revision):
    words = [package, service.url, service.key, *([PLATFORMCTL] if stdio else [])]
    check(json.loads(do("node", in_npm("mcp_sdk.mjs"), *words)), service, revision)


def test_a_published_client_comes_back_to_a_stream(service):
    """It asks for a stream of its own as well, and takes the refusal as the protocol means it."""
    seen = json.loads(do("node", in_npm("mcp_resume.mjs"), service.url, service.key))
    assert seen["stdout"] == seen["told"] == "step 0\nstep 1\nstep 2\nstep 3\n"
    gets = [last for method, last in seen["asked"] if method == "GET"]
    assert None in gets and [last for last in gets if last], seen["asked"]


def inspect(service, *words):
    program = NPM / "node_modules" / ".bin" / "mcp-inspector"
    address, key = service.url + "/mcp?conversation_id=mcp-inspector", f"Authorization: Bearer {service.key}"
    return json.loads(do(program, "--cli", address, "--transport", "http", "--header", key, *words))


def test_the_inspector(service):
    tools = inspect(service, "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["run_python"] and tools[0]["outputSchema"]["type"] == "object"
    result = inspect(service, "--method", "tools/call", "--tool-name", "run_python", "--tool-arg",
                     "code=open('i.txt', 'w').write('seen')\nprint(6 * 7)")
    assert result["structuredContent"]["stdout"] == "42\n" and result["isError"] is False
    listed = inspect(service, "--method", "resources/list")["resources"]
    assert [one["name"] for one in listed] == ["i.txt"]
    read = inspect(service, "--method", "resources/read", "--uri", listed[0]["uri"])
    assert read["contents"][0]["text"] == "seen"
    templates = inspect(service, "--method", "resources/templates/list")
    assert templates["resourceTemplates"][0]["uriTemplate"] == "sandbox://files/{file_id}"


def as_documented(text, service):
    """With the address and the key of this service, and an agent that it has."""
    ours = {"https://sandbox.example.org": service.url, "csk_...": service.key, "analyst": "mcp-chat"}
    for shown, real in ours.items():
        text = text.replace(shown, real)
    return text


CONFIGURATIONS = [block for block in pages.Page(REPOSITORY / "docs" / "mcp.md").blocks if block.language == "json"]


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=[block.place for block in CONFIGURATIONS])
def test_what_programs_are_told_to_connect_with(service, agent, block):
    """The JSON of docs/mcp.md, read as an assistant or editor reads it, by the published client."""
    (servers,) = json.loads(as_documented(block.text, service)).values()
    assert list(servers) == ["sandbox"]
    seen = json.loads(do(PYTHON, "-B", CLIENTS / "mcp_configured.py", given=json.dumps(servers["sandbox"]),
                         PATH=f"{PLATFORMCTL.parent}:{os.environ['PATH']}"))
    assert seen == {"tools": ["run_python"], "stdout": "42\n"}


def test_an_agent_framework(service, agent, tmp_path):
    """The program of docs/mcp.md."""
    def script():
        told = yield
        assert list(told.tools) == ["run_python"] and "sandbox" in told.tools["run_python"]
        told = yield run("print(6 * 7)")
        assert "42" in told.text
        told = yield run("import nothing_of_this_name")
        assert "ModuleNotFoundError" in told.text and "hint" in told.text
        yield "It is 42."

    with ModelServer(script()) as model:
        program = tmp_path / "program.py"
        program.write_text(as_documented(pages.shown("docs/mcp.md", "import asyncio").text, service))
        printed = do(WITH_FRAMEWORKS, "-B", program, **model.environment, OPENAI_AGENTS_DISABLE_TRACING="1")
        model.finish(printed)
    assert printed == "It is 42.\n"
    assert service.request("DELETE", "/v1/conversations/talk-1").status == 204


# ---- examples/chat/chat_over_mcp.py

DRAW = dedent("""
    import pandas, matplotlib.pyplot as plt
    frame = pandas.read_csv("sales.csv")
    frame.plot(x="month", y="sum")
    plt.show()
    total = frame["sum"].sum()
    frame.to_csv("copy.csv")
    print(total)
    """)


@pytest.fixture
def agent(service):
    service.request("PUT", "/v1/agents/mcp-chat", {})
    service.request("PUT", "/v1/agents/mcp-chat/env/CODE_INTERPRETER_SESSION", {"value": "true"})
    yield "mcp-chat"
    service.request("DELETE", "/v1/agents/mcp-chat")


def test_the_example_chats_about_data(service, agent, tmp_path):
    (tmp_path / "sales.csv").write_text("month,sum\n1,20\n2,22\n")

    def first():
        told = yield
        assert "share one interpreter" in told.tools["run_python"] and "sales.csv" in told.text
        told = yield run(DRAW)
        assert "42" in told.text and len(told.charts) == 1 and told.charts[0].startswith(b"\x89PNG")
        yield "The total is 42."

    def second():
        yield
        told = yield run("print(total * 2)")
        assert "84" in told.text
        told = yield run("x", surprise=1)
        assert "surprise" in told.text
        yield "Twice that is 84."

    with ModelServer(first(), second()) as model:
        printed = do(PYTHON, "-B", REPOSITORY / "examples" / "chat" / "chat_over_mcp.py", tmp_path / "sales.csv",
                     "--results", tmp_path / "results", given="What is the total?\nAnd twice that?\n\n",
                     **model.environment, CODE_SANDBOX_URL=service.url, CODE_SANDBOX_KEY=service.key,
                     CODE_SANDBOX_AGENT=agent)
        model.finish(printed)
    assert "The total is 42." in printed and "Twice that is 84." in printed and '  | frame.plot(x="month"' in printed
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["1-chart.png", "2-copy.csv"]
    assert service.get("/v1/sessions").json["sessions"] == []
