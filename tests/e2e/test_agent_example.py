"""The example agent, from its image to its process: its functions are called as ever, and run elsewhere."""
import asyncio
import os
import re
from decimal import Decimal

import pytest

from support import agent_example
from support.projects import Project

import code_sandbox
from code_sandbox import Client, ToolError

TOOLS = ["misbehave", "monthly_payment", "never_end", "page_title", "where_am_i"]


@pytest.fixture(scope="module")
def shop(service, tmp_path_factory):
    """A project with the deployed agent `shop`."""
    project = Project(service)
    project.url = service.url
    layout = agent_example.build(tmp_path_factory.mktemp("image") / "layout")
    project.found = agent_example.deploy(project, "shop", layout)
    yield project
    agent_example.remove(project, "shop")


@pytest.fixture(scope="module")
def tools():
    return agent_example.load_tools()


@pytest.fixture
def agent_process(shop, monkeypatch):
    """This process is the agent's."""
    for name, value in agent_example.variables(shop, "shop").items():
        monkeypatch.setenv(name, value)


def test_deploying_finds_the_tools(shop):
    assert shop.found == TOOLS
    agent = shop.get("/v1/agents/shop").json
    (payment,) = (tool for tool in agent["tools"] if tool["name"] == "monthly_payment")
    assert payment["entrypoint"] == "tools:monthly_payment" and payment["description"].startswith("Works out what a loan")
    loan = payment["parameters"]["properties"]["loan"]
    assert loan["required"] == ["amount", "yearly_rate", "months"] and loan["description"].startswith("amount, rate")


def test_the_agent_s_own_process(shop):
    """Its ordinary function calls ran elsewhere: another PID namespace, another environment, a sandbox's id."""
    done = agent_example.run_agent(agent_example.variables(shop, "shop"))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["each month 526.46, interest 635.04", "ValueError: a loan needs at least one month",
                         "elsewhere: True"]
    assert re.fullmatch(r"sandbox: sbx_[0-9a-f]{32}", lines[3]) and lines[4] == "the key is there: False"
    assert lines[5].startswith("timeout: The tool never_end reached its time limit")
    with Client(shop.url, shop.key) as client:
        kept = list(client.conversations.runs("example"))
    assert [run.outcome for run in kept] == ["ok", "error", "ok", "timeout"]
    assert lines[3].removeprefix("sandbox: ") == kept[2].sandbox_id and len({run.sandbox_id for run in kept}) == 4


def test_the_control_without_a_platform_it_runs_here():
    done = agent_example.run_agent({})
    assert "elsewhere: False" in done.stdout and "without a sandbox" in done.stderr


def test_where_it_runs(agent_process, tools, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "of this process")
    place = tools.where_am_i()
    assert isinstance(place, tools.Place) and place.pid_namespace != os.readlink("/proc/self/ns/pid")
    assert place.user == 65532 and place.folder == "/app" and place.processes < 5
    assert place.environment["SHOP_CURRENCY"] == "EUR" and "SHOP_PASSWORD" not in place.environment
    assert not [name for name in place.environment if "SANDBOX" in name]
    first = code_sandbox.last_call()
    tools.where_am_i()
    assert first.sandbox_id != code_sandbox.last_call().sandbox_id and first.usage.wall_ms > 0


def test_values_go_there_and_back(agent_process, tools):
    payment = tools.monthly_payment(tools.Loan(Decimal("12000"), Decimal("0.05"), 24))
    assert payment == tools.Payment(Decimal("526.46"), Decimal("635.04"))


@pytest.mark.parametrize("how, outcome, words", [
    ("memory", "out_of_memory", "needed too much memory"), ("exit", "error", "exit"), ("odd result", None, "the result.handle is a _io.TextIOWrapper, which has no form in JSON"),
    ("own error", "error", "tools.OwnError: cannot own error")])
def test_misbehaviour_is_told(agent_process, tools, how, outcome, words):
    with pytest.raises(ToolError if outcome else TypeError) as caught:
        tools.misbehave(how)
    assert words in str(caught.value), caught.value
    if outcome:
        assert caught.value.outcome == outcome and caught.value.sandbox_id.startswith("sbx_")
    if how == "own error":
        assert 'File "/app/tools.py"' in caught.value.remote_traceback


def test_misbehaviour_that_changes_nothing(agent_process, tools):
    assert tools.misbehave("print") == "honest" and "forged" in code_sandbox.last_call().stdout
    assert isinstance(tools.misbehave("fork"), int)


def test_what_the_platform_refuses(agent_process, tools):
    with pytest.raises(ToolError, match="400 invalid_request.*how") as caught:
        tools.misbehave("nonsense")
    assert caught.value.status == 400
    with pytest.raises(TypeError, match="loan.months is a complex"):
        tools.monthly_payment(tools.Loan(Decimal(1), Decimal(1), 1j))


def test_no_way_to_the_platform_or_the_host(service, agent_process, tools):
    """The network of the tests ends at this machine, which no tool may reach. (What it may reach: tests/egress.)"""
    async def fetch(url, how="URLError: .*refused"):
        with pytest.raises(ToolError, match=how):
            await tools.page_title(url)
        return code_sandbox.last_call()

    assert asyncio.run(fetch(f"{service.url}/healthz")).error.type == "urllib.error.URLError"  # another port: nobody there
    # Refused there may be accepted first and reset before, or after, the request has been sent.
    (record,) = asyncio.run(fetch("http://127.0.0.2/", "URLError: .*(refused|reset)|ConnectionResetError")).egress
    assert (record.address, record.port, record.decision, record.rule) == ("127.0.0.2", 80, "refused", "reserved")


def test_calls_at_once(agent_process, tools):
    async def main():
        return await asyncio.gather(*(asyncio.to_thread(tools.where_am_i) for _ in range(4)))

    assert len({place.pid_namespace for place in asyncio.run(main())}) == 4


def test_a_platform_that_is_gone(agent_process, tools, monkeypatch):
    monkeypatch.setenv("CODE_SANDBOX_URL", "http://127.0.0.1:1")
    with pytest.raises(ToolError, match="has not been run: No service can be reached"):
        tools.where_am_i()
    monkeypatch.delenv("CODE_SANDBOX_URL")
    with pytest.raises(ToolError, match="CODE_SANDBOX_URL is not set"):
        tools.where_am_i()
