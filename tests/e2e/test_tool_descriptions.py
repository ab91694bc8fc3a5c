"""What a model is told about run_python: true for each agent, and taken by the vendors' published clients."""
import copy
import json
import subprocess

import pytest

from support.service import REPOSITORY

PYTHON = REPOSITORY / "build" / "test-clients" / "bin" / "python"
FORMATS = ("openai", "openai-responses", "anthropic", "gemini", "mcp")


class Agents:
    def __init__(self, client, key):
        self.client, self.key = client, key

    def make(self, name, **settings):
        assert self.client.request("PUT", f"/v1/agents/{name}", {}, key=self.key).status in (200, 201)
        for setting, value in settings.items():
            path = f"/v1/agents/{name}/env/CODE_INTERPRETER_{setting}"
            assert self.client.request("PUT", path, {"value": value}, key=self.key).status == 200
        return name

    def describe(self, kind, agent=None):
        return self.client.get(f"/v1/tools/run_python?format={kind}" + (f"&agent={agent}" if agent else ""),
                               key=self.key)


@pytest.fixture
def agents(http_side, http_project):
    return Agents(http_side, http_project[1])


def judge(tools):
    """Complaints of the clients, by name."""
    assert PYTHON.exists(), "the clients are not installed: scripts/install-test-clients"
    done = subprocess.run([PYTHON, "-B", REPOSITORY / "tests" / "clients" / "check_tools.py"], input=json.dumps(tools),
                          capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parts(kind, tool):
    """(name, text, schema) of a description in that format."""
    if kind == "gemini":
        (tool,) = tool["functionDeclarations"]
    tool = tool.get("function", tool)
    return tool["name"], tool["description"], tool.get("parameters") or tool.get("input_schema") or tool["inputSchema"]


def test_the_clients_take_every_description(agents):
    agents.make("plain")
    agents.make("own", SESSION="true", TIMEOUT_S="7")
    tools = {f"{kind}/{agent}": agents.describe(kind, agent).json
             for kind in FORMATS for agent in (None, "plain", "own")}
    assert judge(tools) == {name: [] for name in tools}


def broken(kind, tool):
    """Each wrong in its own way."""
    for change in (lambda t, s: t.pop("name"), lambda t, s: t.update(name=5), lambda t, s: t.update(unheard_of=1),
                   lambda t, s: s.update(type="no type")):
        copied = copy.deepcopy(tool)
        inner = copied["functionDeclarations"][0] if kind == "gemini" else copied.get("function", copied)
        change(inner, parts(kind, copied)[2] if "name" in inner else {})
        yield copied


def test_the_control_wrong_descriptions_are_refused(agents):
    """An MCP tool may have members that nobody has heard of; that one is left out."""
    tools = {f"{kind}/{i}": tool for kind in FORMATS for i, tool in enumerate(broken(kind, agents.describe(kind).json))
             if (kind, i) != ("mcp", 2)}
    assert len(tools) == 19
    assert [name for name, complaints in judge(tools).items() if not complaints] == []


@pytest.mark.parametrize("kind", FORMATS)
def test_all_formats_say_the_same(agents, kind):
    name, text, schema = parts(kind, agents.describe(kind).json)
    assert name == "run_python" and text == parts("mcp", agents.describe("mcp").json)[1]
    assert list(schema["properties"]) == ["code", "timeout_s"] and schema["required"] == ["code"]


def text_for(agents, agent=None):
    return parts("mcp", agents.describe("mcp", agent).json)[1]


def test_the_mode_and_the_limit_are_the_agents_own(agents):
    assert "each call starts fresh" in text_for(agents)
    assert "at most 20 s, or up to 60 s with `timeout_s`" in text_for(agents)
    agents.make("a")
    assert "each call starts fresh" in text_for(agents, "a") and "at most 20 s;" in text_for(agents, "a")
    agents.make("a", TIMEOUT_S="45")
    assert "at most 45 s;" in text_for(agents, "a")
    agents.make("a", TIMEOUT_S="120")
    assert "at most 60 s;" in text_for(agents, "a"), "the effective one"
    agents.make("a", SESSION="true")
    text = text_for(agents, "a")
    assert "share one interpreter" in text and "each call starts fresh" not in text
    for words in ("time limit", "variables", "the files stay", "900 s without a call", "`session.message`"):
        assert words in text
    agents.make("a", SESSION="false")
    assert "each call starts fresh" in text_for(agents, "a")


def test_a_choice_that_changes_nothing_is_not_offered(agents):
    agents.make("a")
    assert list(parts("mcp", agents.describe("mcp", "a").json)[2]["properties"]) == ["code"]


def test_refusals(agents):
    for query in ("", "?format=", "?format=OpenAI", "?format=cohere"):
        response = agents.client.get(f"/v1/tools/run_python{query}", key=agents.key)
        assert response.status == 400 and response.error["param"] == "format"
        assert "openai-responses" in response.error["message"]
    assert agents.describe("mcp", "nobody").status == 404
    assert agents.client.get("/v1/tools/run_python?format=mcp", key=None).status == 401


# ---- what is said holds: in the real service


def test_what_is_said_holds(service):
    """Libraries and limits are those of the environment, and what is promised of files and figures happens."""
    text = text_for(Agents(service, service.key))
    environment = service.get("/v1/environment").json
    assert f"Python {'.'.join(environment['python'].split('.')[:2])} code" in text
    assert all(library in text for library in environment["libraries"])
    limits = environment["limits"]
    assert f"at most {limits['timeout_s']} s, or up to {limits['timeout_max_s']} s" in text
    assert f"{limits['memory_bytes'] >> 20} MiB" in text and f"{limits['files']} files" in text
    assert f"at most {limits['file_bytes'] >> 20} MB each, {limits['files_bytes'] >> 20} MB" in text
    reply = service.run("""
        import os, matplotlib.pyplot as plt
        assert os.getcwd() == "/mnt/data"
        open("result.csv", "w").write("a\\n")
        plt.plot([1, 2])
        plt.show()
        "the last line"
        """)
    assert reply.outcome == "ok" and list(reply.contents) == ["result.csv"]
    assert ["image/png" in result for result in reply.results] == [True, False]
    assert reply.results[1] == {"text/plain": "'the last line'"}
