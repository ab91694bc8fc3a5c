"""The front door of E2B's code interpreter, with its own client: state, news as they come, results, errors, contexts,
sandboxes."""
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from support import doors
from support.host import wait_until
from support.projects import Project

START = "import json, time\nfrom e2b_code_interpreter import Sandbox\nseen = {}\n"


def use(project, code, start="sandbox = Sandbox.create()\n"):
    """A program that uses the client as it would E2B: the address and the key are in its environment."""
    return doors.use_client(START + start + code + "\nprint(json.dumps(seen))", E2B_API_KEY=project.key,
                            E2B_API_URL=project.service.url, E2B_SANDBOX_URL=project.service.url)


def test_a_sandbox_keeps_its_state(at_doors):
    seen = use(at_doors, r'''
first, second = sandbox.run_code("x = 41"), sandbox.run_code("print('said'); x + 1")
seen["first"] = [first.text, first.results, first.logs.stdout, first.error, first.execution_count]
seen["second"] = [second.text, second.logs.stdout, second.error, second.execution_count]
other = Sandbox.create()
seen["other"] = other.run_code("x").error.name
again = Sandbox.connect(sandbox.sandbox_id)
seen["again"] = again.run_code("x").text
seen["id"] = sandbox.sandbox_id
''')
    assert seen["first"] == [None, [], [], None, 1] and seen["second"] == ["42", ["said\n"], None, 2]
    assert seen["other"] == "NameError" and seen["again"] == "41"
    conversation = at_doors.get(f"/v1/conversations/e2b:{seen['id']}:default").json
    assert conversation["agent"] == "e2b" and conversation["run_count"] == 3
    assert at_doors.get("/v1/agents/e2b").json["stateful"]


def test_news_come_as_they_happen(at_doors):
    seen = use(at_doors, r'''
began, came = time.monotonic(), []
def on_stdout(message):
    came.append((message.line, message.timestamp, time.monotonic() - began))

sandbox.run_code("import sys, time\nprint('one', flush=True)\nprint('note', file=sys.stderr, flush=True)\n"
                 "time.sleep(1)\nprint('two')", on_stdout=on_stdout,
                 on_stderr=lambda message: seen.update(note=seen.get("note", "") + message.line))
seen["came"], seen["took"] = came, time.monotonic() - began
came, began = [], time.monotonic()
sandbox.run_code("import time\nprint('no end', end='', flush=True)\ntime.sleep(1)", on_stdout=on_stdout)
seen["unfinished"] = [came[0][0], time.monotonic() - began - came[0][2]]
''')
    assert [text for text, _, _ in seen["came"]] == ["one\n", "two\n"] and seen["note"] == "note\n"
    assert seen["took"] - seen["came"][0][2] > 0.9, "the first line came with the last"
    assert seen["unfinished"][0] == "no end" and seen["unfinished"][1] > 0.6
    assert abs(seen["came"][0][1] / 1e9 - time.time()) < 60


def test_results_have_their_forms(at_doors):
    seen = use(at_doors, r'''
execution = sandbox.run_code("import matplotlib.pyplot as plt\nimport pandas as pd\nplt.plot([1, 4])\nplt.show()\n"
                             "class J:\n  def _repr_json_(self): return {'a': [1]}\n"
                             "  def _repr_latex_(self): return '$x$'\n"
                             "pd.DataFrame({'n': [1]})")
seen["forms"] = [[list(result.formats()), result.is_main_result] for result in execution.results]
seen["png"], seen["text"], seen["html"] = execution.results[0].png[:5], execution.text, execution.results[1].html
value = sandbox.run_code("J()").results[0]
seen["json"], seen["latex"] = value.json, value.latex
''')
    assert [(set(forms), main) for forms, main in seen["forms"]] == [({"text", "png"}, False), ({"text", "html"}, True)]
    assert seen["png"] == "iVBOR" and seen["text"].split() == ["n", "0", "1"] and "<table" in seen["html"]
    assert seen["latex"] == "$x$" and seen["json"] == {"a": [1]}


def test_errors_of_the_code(at_doors):
    at_doors.agent("e2b", CODE_INTERPRETER_SESSION="true", CODE_INTERPRETER_TIMEOUT_S="1")
    seen = use(at_doors, r'''
for code in ("def f():\n  return 1 / 0\nf()", "a b", "raise ValueError('one\\ntwo')", "x = 1\nwhile True: pass", "x"):
    execution = sandbox.run_code(code)
    error = execution.error
    seen[code[:5]] = [error.name, error.value, error.traceback, "".join(execution.logs.stderr)]
''')
    name, value, traceback, printed = seen["def f"]
    assert (name, value) == ("ZeroDivisionError", "division by zero") and traceback == printed
    assert traceback.startswith("Traceback (most recent call last):\n") and "return 1 / 0" in traceback
    assert seen["a b"][0] == "SyntaxError" and seen["raise"][:2] == ["ValueError", "one\ntwo"]
    assert seen["x = 1"][0] == "TimeoutError" and "1 s" in seen["x = 1"][1]
    assert seen["x"][0] == "NameError" and "are lost" in seen["x"][3]


def test_contexts(at_doors):
    seen = use(at_doors, r'''
first, second = sandbox.create_code_context(), sandbox.create_code_context(language="python")
sandbox.run_code("x = 1", context=first)
seen["context"] = vars(first)
seen["count"] = sandbox.run_code("x", context=first).execution_count
seen["elsewhere"] = [sandbox.run_code("x", context=second).error.name, sandbox.run_code("x").error.name]
seen["listed"] = [[context.id for context in sandbox.list_code_contexts()], ["default", first.id, second.id]]
seen["other"] = [context.id for context in Sandbox.create().list_code_contexts()]
sandbox.restart_code_context(first)
seen["restarted"] = sandbox.run_code("x", context=first).error.name
sandbox.remove_code_context(second)
seen["left"] = len(sandbox.list_code_contexts())
for name, use in (("run", lambda: sandbox.run_code("1", context=second)),
                  ("restart", lambda: sandbox.restart_code_context(second)),
                  ("remove", lambda: sandbox.remove_code_context(second)),
                  ("cwd", lambda: sandbox.create_code_context(cwd="/root")),
                  ("language", lambda: sandbox.create_code_context(language="r"))):
    try:
        use()
    except Exception as problem:
        seen[name] = [type(problem).__name__, str(problem)]
seen["killed"] = [sandbox.kill(), len(sandbox.list_code_contexts()), sandbox.run_code("x").error.name]
''')
    assert seen["context"]["language"] == "python" and seen["context"]["cwd"] == "/mnt/data" and seen["count"] == 2
    assert seen["elsewhere"] == ["NameError"] * 2 and seen["restarted"] == "NameError" and seen["left"] == 2
    assert sorted(seen["listed"][0]) == sorted(seen["listed"][1]) and seen["other"] == ["default"]
    for name in ("run", "restart", "remove"):
        assert seen[name][0] == "NotFoundException" and "no such context" in seen[name][1]
    assert "/mnt/data" in seen["cwd"][1] and "only Python" in seen["language"][1]
    assert seen["killed"] == [True, 1, "NameError"]


def test_what_is_not_there_is_refused_by_name(at_doors):
    seen = use(at_doors, r'''
for name, use in (("envs", lambda: sandbox.run_code("1", envs={"A": "b"})),
                  ("language", lambda: sandbox.run_code("1", language="bash")),
                  ("created", lambda: Sandbox.create(envs={"A": "b"}))):
    try:
        use()
    except Exception as problem:
        seen[name] = [type(problem).__name__, str(problem)]
''')
    assert seen["envs"][0] == "SandboxException" and "env_vars is not supported here" in seen["envs"][1]
    assert "only Python" in seen["language"][1] and "envVars" in seen["created"][1]


def test_a_client_that_leaves_ends_its_run(at_doors):
    seen = use(at_doors, r'''
try:
    sandbox.run_code("import time\nprint('x', flush=True)\nwhile True: pass", timeout=1)
except Exception as problem:
    seen["problem"] = type(problem).__name__
seen["id"] = sandbox.sandbox_id
''')
    assert seen["problem"] == "TimeoutException"
    sessions = lambda: at_doors.get("/v1/sessions").json["sessions"]
    assert wait_until(lambda: all(session["state"] != "running" for session in sessions()), 10), sessions()


def test_asyncio_and_debug_mode(at_doors):
    """Debug mode has no control plane, so the key is in the address; all its sandboxes are one. The client's transport
    aborts now and then while Python shuts down after asyncio, so the program does not wait for that."""
    seen = doors.use_client(r'''
import asyncio, json, os
from e2b_code_interpreter import AsyncSandbox

async def main():
    sandbox = await AsyncSandbox.create()
    await sandbox.run_code("x = 5")
    contexts = [context.id for context in await sandbox.list_code_contexts()]
    print(json.dumps([(await sandbox.run_code("x")).text, contexts]), flush=True)
    os._exit(0)

asyncio.run(main())
''', E2B_DEBUG="true", E2B_SANDBOX_URL=f"http://any:{at_doors.key}@127.0.0.1:{at_doors.service.port}")
    assert seen == ["5", ["default"]]


def test_projects_are_apart(doors, at_doors):
    """A sandbox's id is a name within its project."""
    other = Project(doors)
    headers = {"E2b-Sandbox-Id": "same"}
    for project, code in ((at_doors, "x = 1"), (other, "x")):
        reply = project.post("/execute", {"code": code}, headers=headers)
        lines = [json.loads(line) for line in reply.body.splitlines()]
        assert reply.status == 200 and lines[-1] == {"type": "end_of_execution"}, reply
    assert [line["name"] for line in lines if line["type"] == "error"] == ["NameError"]
    assert at_doors.post("/execute", {"code": "1"}, headers={"E2b-Sandbox-Id": "a:b"}).json["code"] == 400
    assert at_doors.post("/execute", {"code": "1", "context_id": "unknown"}, headers=headers).status == 404


def test_a_client_that_reads_slowly_gets_all_of_it(at_doors):
    """What waits for it is bounded: the code waits in its prints, and goes on when it reads on."""
    connection = at_doors.connect(60)
    with closing(connection):
        connection.request("POST", "/execute", json.dumps({"code": "for n in range(8): print(str(n) * (1 << 20))"}),
                           {"X-API-Key": at_doors.key})
        response, lines = connection.getresponse(), []
        time.sleep(2)
        assert any(session["state"] == "running" for session in at_doors.get("/v1/sessions").json["sessions"])
        for line in response:
            lines.append(json.loads(line))
    printed = "".join(line["text"] for line in lines if line["type"] == "stdout")
    assert printed == "".join(str(n) * (1 << 20) + "\n" for n in range(8))
    assert lines[0] == {"type": "number_of_executions", "execution_count": 1}
    assert lines[-1] == {"type": "end_of_execution"}


def test_many_who_come_first_all_have_their_state(doors):
    """Each of them needs the agent that the door makes for a project when it is first used."""
    project = Project(doors)

    def talk(number):
        time.sleep(number / 1000)
        headers = {"E2b-Sandbox-Id": f"first-{number}"}
        project.post("/execute", {"code": f"x = {number}"}, headers=headers)
        reply = project.post("/execute", {"code": "x"}, headers=headers)
        lines = [json.loads(line) for line in reply.body.splitlines()]
        return [line.get("text") for line in lines if line["type"] in ("result", "error")]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(talk, range(8))) == [[str(number)] for number in range(8)]
    for number in range(8):
        assert project.request("DELETE", f"/sandboxes/first-{number}").status == 204
    assert project.get("/v1/sessions").json["sessions"] == []
    assert project.get("/v1/conversations").json["conversations"] == []
