"""The front door of Azure's dynamic sessions, with LangChain's client for them: runs, a session's state, files."""
import base64
import json

from support import doors

CLIENT = r'''
import io, json, os
from langchain_azure_dynamic_sessions import SessionsPythonREPLTool

tool = SessionsPythonREPLTool(pool_management_endpoint=os.environ["URL"],
                              access_token_provider=lambda: os.environ["KEY"], session_id="azure-talk")
seen = {}
'''


def use(project, code):
    return doors.use_client(CLIENT + code + "\nprint(json.dumps(seen))", URL=project.service.url, KEY=project.key)


def test_runs_share_a_session(at_doors):
    seen = use(at_doors, r'''
seen["first"] = tool.invoke("x = 41\nprint('said')")
seen["second"] = json.loads(tool.invoke("x + 1"))
seen["values"] = [tool.execute(code)["result"] for code in ("'text'", "[1, 2.5]", "True", "None", "object", "2 ** 80")]
seen["error"] = tool.execute("1 / 0")
seen["picture"] = tool.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")["result"]
''')
    assert json.loads(seen["first"]) == {"result": None, "stdout": "said\n", "stderr": ""}
    assert seen["second"]["result"] == 42
    assert seen["values"] == ["text", [1, 2.5], True, None, "<class 'object'>", str(2 ** 80)]
    assert seen["error"]["status"] == "Failure" and "ZeroDivisionError" in seen["error"]["stderr"]
    assert seen["picture"]["type"] == "image" and seen["picture"]["base64_data"].startswith("iVBOR")
    agent = at_doors.get("/v1/agents/azure").json
    assert agent["stateful"] and at_doors.get("/v1/conversations/azure-talk").json["agent"] == "azure"


def test_files(at_doors):
    seen = use(at_doors, r'''
seen["empty"] = [vars(entry) for entry in tool.list_files()]
seen["sent"] = vars(tool.upload_file(data=io.BytesIO(b"a,b\n1,2\n"), remote_file_path="data.csv"))
seen["read"] = tool.execute("open('data.csv').read()")["result"]
tool.execute("open('out.bin', 'wb').write(bytes([0, 255]))")
seen["names"] = sorted(entry.filename for entry in tool.list_files())
seen["got"] = tool.download_file(remote_file_path="out.bin").read().hex()
tool.session_id = "another"
try:
    tool.download_file(remote_file_path="out.bin")
except Exception as problem:
    seen["unknown"] = problem.response.json()
''')
    assert seen["empty"] == [] and seen["sent"] == {"filename": "data.csv", "size_in_bytes": 8}
    assert seen["read"] == "a,b\n1,2\n"
    assert seen["names"] == ["data.csv", "out.bin"] and seen["got"] == "00ff"
    assert seen["unknown"]["error"]["code"] == "NotFound"


def test_a_session_is_deleted(at_doors):
    use(at_doors, r'''
tool.invoke("x = 1")
tool._delete_session_sync("azure-talk")
''')
    assert at_doors.get("/v1/conversations/azure-talk").status == 404


def execute(project, body, query="identifier=later-version"):
    return project.post(f"/executions?api-version=2025-10-02-preview&{query}", body)


def test_the_later_version(at_doors):
    good = execute(at_doors, {"codeInputType": "InlineBase64", "executionType": "Synchronous", "timeoutInSeconds": 10,
                              "code": base64.b64encode(b"x = 6\nprint('said'); x * 7").decode()})
    assert good.status == 200 and good.json["status"] == "Succeeded" and good.json["error"] is None
    assert good.json["identifier"] == "later-version" and good.json["executionType"] == "Synchronous"
    result = good.json["result"]
    assert (result["stdout"], result["stderr"], result["executionResult"]) == ("said\n", "", 42)
    assert result["executionTimeInMilliseconds"] >= 0
    bad = execute(at_doors, {"code": "[][1]"}).json
    assert bad["status"] == "Failed" and bad["error"] == {"code": "IndexError", "message": "list index out of range"}
    slow = execute(at_doors, {"code": "while True: pass", "timeoutInSeconds": 0.5}).json
    assert slow["status"] == "Failed" and slow["error"]["code"] == "timeout"
    assert "time limit" in slow["result"]["stderr"]
    assert "variables" in execute(at_doors, {"code": "1"}).json["result"]["stderr"]


def test_what_is_refused(at_doors):
    for body, query, word in (
            ({"code": "1", "executionType": "Asynchronous"}, "identifier=abcd", "executionType"),
            ({"shellCommand": "ls"}, "identifier=abcd", "shellCommand"), ({}, "identifier=abcd", "code"),
            ({"code": "1", "outputStreamsMaxLength": 5}, "identifier=abcd", "outputStreamsMaxLength"),
            ({"code": "1"}, "identifier=abc", "identifier"), ({"code": "1"}, "", "identifier"),
            ({"code": "1", "timeoutInSeconds": 31}, "identifier=abcd", "timeout")):
        refused = execute(at_doors, body, query)
        assert refused.status == 400 and refused.error["code"] == "InvalidRequest", refused
        assert word in refused.error["message"], refused
    big = b"--XX\r\nContent-Disposition: form-data; name=f; filename=big\r\n\r\n" + bytes((4 << 20) + 1) + b"\r\n--XX--"
    sent = at_doors.post("/files?identifier=abcd", big, headers={"Content-Type": "multipart/form-data; boundary=XX"})
    assert sent.status == 413 and "4194304" in sent.error["message"]
