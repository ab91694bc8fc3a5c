"""The Python client against the real service: runs, streams, files, conversations, sessions, agents."""
import asyncio
import time

import pytest

from support import python_package  # noqa: F401  makes code_sandbox importable
from support.breaking_proxy import BreakingProxy
from support.host import wait_until
from support.projects import Project

import code_sandbox
from code_sandbox import ApiError, AsyncClient, Client, ConnectionFailed, Done, Retries, Started, Stdout, ToolError, describe, run_python


@pytest.fixture(scope="module")
def project(service):
    return Project(service)


@pytest.fixture
def client(service, project):
    with Client(service.url, project.key) as made:
        yield made


@pytest.fixture
def agent_process(service, project, monkeypatch):
    """The variables that an agent's process is deployed with."""
    monkeypatch.setenv("CODE_SANDBOX_URL", service.url)
    monkeypatch.setenv("CODE_SANDBOX_KEY", project.key)
    monkeypatch.setenv("CODE_SANDBOX_AGENT", "notebook")


def test_a_run_with_everything(client, tmp_path):
    (tmp_path / "sales.csv").write_text("city,amount\nOslo,4\nRome,8\n")
    run = client.run("import sys\nimport pandas as pd\nimport matplotlib.pyplot as plt\n"
                     "sales = pd.read_csv('in/sales.csv')\nplt.plot(sales.amount); plt.show()\n"
                     "print(input()); print('é', file=sys.stderr)\nopen('out.bin', 'wb').write(bytes([0, 255]))\n"
                     "sales.amount.sum() + len(open('b.bin', 'rb').read())",
                     files={"in/sales.csv": tmp_path / "sales.csv", "b.bin": b"\xff\xfe"}, stdin="given\n", timeout_s=30)
    assert run.ok and run.stdout == "given\n" and run.stderr == "é\n", run
    assert run.images[0].startswith(b"\x89PNG") and run.results[-1]["text/plain"] == "np.int64(14)"
    assert run.file("out.bin").content == b"\x00\xff" and run.usage.wall_ms > 0
    assert "1 chart was drawn" in str(run) and "out.bin (2 bytes)" in str(run)


@pytest.mark.parametrize("cuts", [[0], [30, 200]], ids=str)
def test_a_connection_that_breaks_in_the_middle(service, project, client, cuts):
    """With a key the run is had all the same, and has happened once; without one nobody can tell."""
    talk = f"broken-{len(cuts)}"
    code = "import time; open('log', 'a').write('x'); time.sleep(0.5); print(len(open('log').read()))"
    with BreakingProxy(service.port, cuts) as way, Client(way.url, project.key) as broken:
        run = broken.run(code, conversation_id=talk, idempotency_key="auto")
        assert run.ok and run.stdout == "1\n" and way.connections > len(cuts)
    with BreakingProxy(service.port, [400]) as way, Client(way.url, project.key) as broken:
        with broken.stream(code, conversation_id=f"{talk}-stream", idempotency_key="auto") as news:
            told = list(news)
        assert isinstance(told[-1], Done) and told[-1].run.stdout == "1\n"
        assert sum(isinstance(event, Started) for event in told) == 1
    with BreakingProxy(service.port, [0]) as way, Client(way.url, project.key) as broken:
        with pytest.raises(ConnectionFailed) as caught:
            broken.run(code, conversation_id=talk)
        assert caught.value.may_have_run
    assert [run.outcome for run in client.conversations.runs(f"{talk}-stream")] == ["ok"]


def test_a_failed_run_is_a_result(client):
    run = client.run("import requests")
    assert (run.outcome, run.exit_code) == ("error", 1) and "requests" in run.hint and run.hint in str(run)
    slow = client.run("while True: pass", timeout_s=0.5)
    assert slow.outcome == "timeout" and "time limit" in str(slow)


def test_a_request_that_is_wrong(client):
    with pytest.raises(ApiError) as caught:
        client.run("1", timeout_s=90)
    assert (caught.value.status, caught.value.type, caught.value.param) == (400, "invalid_request", "timeout_s")
    assert caught.value.request_id
    with Client(client._connection.transport.address, "csk_wrong") as stranger, pytest.raises(ApiError, match="401"):
        stranger.environment()


def test_a_stream(client):
    came = []
    with client.stream("import time\nprint('one', flush=True)\ntime.sleep(0.5)\nprint('two')\n42") as news:
        for event in news:
            came.append((event, time.monotonic()))
    assert isinstance(came[0][0], Started) and isinstance(came[-1][0], Done)
    text = "".join(event.text for event, _ in came if isinstance(event, Stdout))
    assert text == "one\ntwo\n" and came[-1][0].run.stdout == text and came[-1][0].run.results == [{"text/plain": "42"}]
    assert came[-1][1] - came[0][1] > 0.3


def test_to_leave_a_stream_ends_the_run(service, client):
    with client.stream("print('x', flush=True)\nwhile True: pass") as news:
        assert next(event for event in news if isinstance(event, Stdout))
    assert wait_until(service.pool_is_quiet, 15), service.describe_rooms()


def test_a_cancelled_task_ends_its_run(service, project):
    async def main():
        async with AsyncClient(service.url, project.key) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.run("while True: pass"), 1)

    asyncio.run(main())
    assert wait_until(service.pool_is_quiet, 15), service.describe_rooms()


def test_conversations_and_files(client):
    run = client.run("open('a.txt', 'w').write('1')", conversation_id="py-1")
    again = client.run("open('a.txt', 'w').write(open('before.txt').read() + '2')", conversation_id="py-1",
                       files={"before.txt": run.file("a.txt")})
    assert again.ok, again
    assert client.files.get(again.file("a.txt")) == b"12" and client.files.get(run.file("a.txt").file_id) == b"1"
    assert len(list(client.files.list("py-1"))) == 2
    (latest,) = client.files.list("py-1", latest=True)
    assert latest.file_id == again.file("a.txt").file_id and latest.sha256 == again.file("a.txt").sha256
    assert [entry.run_id for entry in client.conversations.runs("py-1")] == [run.run_id, again.run_id]
    assert client.conversations.run(run.run_id).code.startswith("open('a.txt'")
    assert client.conversations.get("py-1").run_count == 2
    assert "py-1" in [entry.conversation_id for entry in client.conversations.list(text="py-")]
    client.conversations.delete("py-1")
    with pytest.raises(ApiError, match="not_found"):
        client.conversations.get("py-1")


def test_agents_and_sessions(client):
    assert not client.agents.put("py-agent", tools=[{"name": "f", "entrypoint": "m:f"}]).stateful
    answer = client.agents.set_env("py-agent", "CODE_INTERPRETER_TIMEOUT_S", "90")
    assert "60 s is the effective limit" in answer.warnings[0] and answer.effective["timeout_s"] == 60
    client.agents.set_env("py-agent", "CODE_INTERPRETER_SESSION", "true")
    assert client.agents.get("py-agent").stateful and client.agents.get("py-agent").tools[0]["entrypoint"] == "m:f"
    assert "py-agent" in [agent.name for agent in client.agents.list()]
    assert "one interpreter" in client.describe_run_python("anthropic", agent="py-agent")["description"]

    with code_sandbox.conversation("py-2"):
        assert client.run("x = 41", agent="py-agent").session.stateful
        assert client.run("x + 1", agent="py-agent").results == [{"text/plain": "42"}]
        late = client.run("while True: pass", agent="py-agent", timeout_s=0.5)
        after = client.run("1", agent="py-agent")
    assert late.outcome == "timeout" and after.session.restarted and after.session.message in str(after)
    (live,) = client.sessions.list()
    assert (live.conversation_id, live.agent, live.state, live.waiting) == ("py-2", "py-agent", "idle", 0) and live.calls > 0
    assert client.sessions.end("py-2") is True and list(client.sessions.list()) == []
    client.agents.delete_env("py-agent", "CODE_INTERPRETER_SESSION")
    assert not client.agents.get("py-agent").stateful and client.agents.env("py-agent").env.keys() == {
        "CODE_INTERPRETER_TIMEOUT_S"}
    client.agents.delete("py-agent")
    with pytest.raises(ApiError, match="404"):
        client.agents.get("py-agent")


def test_twenty_at_once(service, project):
    async def main():
        async with AsyncClient(service.url, project.key) as client:
            return await asyncio.gather(*(client.run(f"print({i})") for i in range(20)))

    assert [run.stdout for run in asyncio.run(main())] == [f"{i}\n" for i in range(20)]


def test_an_overloaded_service_is_asked_again(small):
    """Two places and a queue of three: without patience some of ten are refused, with it none is."""
    async def main(retries):
        async with AsyncClient(small.url, small.key, retries=retries) as client:
            return await asyncio.gather(*(client.run(f"import time; time.sleep(0.3); print({i})") for i in range(10)),
                                        return_exceptions=True)

    refused = [answer for answer in asyncio.run(main(Retries(seconds=0))) if isinstance(answer, ApiError)]
    assert refused and {answer.type for answer in refused} == {"overloaded"}
    patient = asyncio.run(main(Retries(seconds=60)))
    assert [run.stdout for run in patient] == [f"{i}\n" for i in range(10)]


def test_run_python_as_a_tool(agent_process):
    assert "share one interpreter" in describe(run_python)["function"]["description"]
    with code_sandbox.conversation("py-3"):
        run_python("x = 41")
        assert "42" in str(run_python("x + 1"))
    with pytest.raises(ToolError, match="400 invalid_request: timeout_s"):
        run_python("1", timeout_s=500)
    with Client() as client:
        client.conversations.delete("py-3")
