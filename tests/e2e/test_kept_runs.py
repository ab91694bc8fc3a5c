"""Runs of conversations in the real service: kept, listed, shown, told of, given on, and deleted with all they hold."""
import base64
import hashlib
import json
import uuid

import pytest

from support.client import Refused
from support.host import wait_until

TWO_FILES = """
    open("a.csv", "w").write("a,b\\n1,2\\n")
    open("b.txt", "w").write("ä")
    print("written")
    40 + 2
    """


@pytest.fixture
def talk(service):
    """A conversation of its own."""
    name = "talk-" + uuid.uuid4().hex
    yield name
    service.request("DELETE", f"/v1/conversations/{name}")


@pytest.fixture(scope="module")
def stranger(service):
    """The key of another project."""
    name = "p-" + uuid.uuid4().hex[:12]
    assert service.post("/v1/projects", {"name": name}).status == 201
    return service.post(f"/v1/projects/{name}/keys", {}).json["key"]


def of(service, talk, what=""):
    return service.get(f"/v1/conversations/{talk}{what}")


def test_a_run_is_kept_as_it_was_answered(service, talk):
    reply = service.run(TWO_FILES, conversation_id=talk)
    assert reply.outcome == "ok" and reply.conversation_id == talk
    shown = of(service, talk).json
    assert (shown["run_count"], shown["file_count"], shown["agent"]) == (1, 2, None)

    (run,) = of(service, talk, "/runs").json["runs"]
    assert run["run_id"] == reply.run_id and run["outcome"] == "ok" and run["sandbox_id"] == reply.sandbox_id
    assert (run["file_count"], run["result_count"], run["exit_code"], run["stateful"]) == (2, 1, 0, False)
    assert run["usage"]["wall_ms"] == pytest.approx(reply.usage["wall_ms"], abs=1)

    kept = service.get(f"/v1/runs/{reply.run_id}").json
    assert kept.pop("code").startswith("open(\"a.csv\"") and kept.pop("started_at")
    assert kept == reply.fields


def test_files_are_fetched_by_their_address(service, talk):
    reply = service.run(TWO_FILES, conversation_id=talk)
    contents = {"a.csv": b"a,b\n1,2\n", "b.txt": "ä".encode()}
    assert {file["name"] for file in reply.files} == set(contents)
    listed = {file["file_id"]: file for file in of(service, talk, "/files").json["files"]}
    for file in reply.files:
        assert "content_base64" not in file
        response = service.get(file["url"])
        assert response.body == contents[file["name"]] and len(response.body) == file["size"]
        assert response.headers["ETag"] == f'"{file["sha256"]}"' == f'"{hashlib.sha256(response.body).hexdigest()}"'
        entry = listed.pop(file["file_id"])
        assert {name: entry[name] for name in file} == file and entry["run_id"] == reply.run_id
    assert listed == {}


def test_contents_come_with_the_reply_if_they_are_asked_for(service, talk):
    reply = service.run(TWO_FILES, conversation_id=talk, inline_files=True)
    assert reply.contents == {"a.csv": b"a,b\n1,2\n", "b.txt": "ä".encode()}
    for file in reply.files:
        assert service.get(f"/v1/files/{file['file_id']}").body == base64.b64decode(file["content_base64"])


def test_versions_of_a_file(service, talk):
    ids = [service.run(f"open('a.txt', 'w').write('{i}')", conversation_id=talk).files[0]["file_id"] for i in range(3)]
    files = of(service, talk, "/files").json["files"]
    assert [file["file_id"] for file in files] == ids[::-1] and [file["latest"] for file in files] == [True, False,
                                                                                                       False]
    assert [service.get(f"/v1/files/{file_id}").body for file_id in ids] == [b"0", b"1", b"2"]
    assert [file["file_id"] for file in of(service, talk, "/files?latest=1").json["files"]] == ids[2:]


def test_a_file_is_given_to_a_later_run(service, talk, stranger):
    file_id = service.run(TWO_FILES, conversation_id=talk).files[0]["file_id"]
    given = {"files": [{"name": "in/given.csv", "file_id": file_id}]}
    assert service.run("print(open('in/given.csv').read(), end='')", **given).stdout == "a,b\n1,2\n"
    for key, wrong in ((stranger, given), (service.key, {"files": [{"name": "x", "file_id": "file_nothing"}]})):
        response = service.post(body={"code": "1", **wrong}, key=key)
        assert response.status == 404 and response.error["param"] == "files[0].file_id"


def test_names_and_contents_that_a_snippet_chose(service, talk):
    """Headers stay the service's own, and what is a program is saved and not shown."""
    reply = service.run("""
        page = "<script>alert(document.cookie)</script>"
        for name in ("x\\r\\nSet-Cookie: a=b", 'quote".csv', "ü.txt", "page.html", "p.svg", "p.png", "no ending"):
            open(name, "w").write(page)
        """, conversation_id=talk)
    assert reply.outcome == "ok" and len(reply.files) == 7, reply
    for file in reply.files:
        response = service.get(file["url"])
        assert response.status == 200 and "Set-Cookie" not in response.headers
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        shown = response.headers["Content-Disposition"].split(";")[0]
        assert shown == ("inline" if file["name"].endswith((".csv", ".txt", ".png")) else "attachment"), file
        assert "html" not in response.headers["Content-Type"] or shown == "attachment"


def test_a_failed_run_is_kept_too(service, talk):
    reply = service.run("print('before')\nopen('a.txt', 'w').write('x')\n1 / 0", conversation_id=talk)
    kept = service.get(f"/v1/runs/{reply.run_id}").json
    assert kept["outcome"] == "error" and kept["stdout"] == "before\n" and "ZeroDivisionError" in kept["stderr"]
    assert of(service, talk, "/files").json["files"][0]["name"] == "a.txt"


def test_without_a_conversation_nothing_is_kept(service):
    reply = service.run(TWO_FILES)
    assert service.get(f"/v1/runs/{reply.run_id}").status == 404
    assert all(service.get(f"/v1/files/{file['file_id']}").status == 404 for file in reply.files)
    assert all(file.get("url") is None for file in reply.files)


def test_another_project_sees_nothing(service, talk, stranger):
    reply = service.run(TWO_FILES, conversation_id=talk)
    paths = [f"/v1/conversations/{talk}{rest}" for rest in ("", "/runs", "/files", "/events")]
    paths += [f"/v1/runs/{reply.run_id}", f"/v1/files/{reply.files[0]['file_id']}"]
    assert [service.get(path, key=stranger).status for path in paths] == [404] * len(paths)
    assert service.request("DELETE", f"/v1/conversations/{talk}", key=stranger).status == 404
    assert service.get("/v1/conversations", key=stranger).json["conversations"] == []
    assert of(service, talk).status == 200


def test_a_deleted_conversation_takes_everything_along(service, talk):
    reply = service.run(TWO_FILES, conversation_id=talk)
    assert service.request("DELETE", f"/v1/conversations/{talk}").status == 204
    for path in (f"/v1/conversations/{talk}", f"/v1/runs/{reply.run_id}", f"/v1/files/{reply.files[0]['file_id']}"):
        assert service.get(path).status == 404
    with pytest.raises(Refused):
        service.run("1", files=[{"name": "x", "file_id": reply.files[0]["file_id"]}])
    assert service.run("import os; print(os.listdir())", conversation_id=talk).stdout == "[]\n"
    assert of(service, talk).json["run_count"] == 1


def run_if_possible(service, code, **fields):
    """None as long as the conversation is being deleted."""
    try:
        return service.execute(code, **fields)
    except Refused as refused:
        assert refused.response.status == 503 and refused.response.headers["Retry-After"], refused
        return None


def test_deleting_ends_the_interpreter(service, talk):
    assert service.request("PUT", f"/v1/agents/{talk}", {}).status == 201
    service.request("PUT", f"/v1/agents/{talk}/env/CODE_INTERPRETER_SESSION", {"value": "true"})
    run = {"agent": talk, "conversation_id": talk}
    assert service.run("x = 1", **run).session["stateful"]
    assert talk in {session["conversation_id"] for session in service.get("/v1/sessions").json["sessions"]}
    assert service.request("DELETE", f"/v1/conversations/{talk}").status == 204
    assert talk not in {session["conversation_id"] for session in service.get("/v1/sessions").json["sessions"]}
    again = wait_until(lambda: run_if_possible(service, "x", **run), 10)
    assert again.outcome == "error" and "NameError" in again.stderr, "it was another interpreter"
    service.request("DELETE", f"/v1/agents/{talk}")


def test_news_come_as_they_happen(service, talk):
    first = service.run("1", conversation_id=talk)
    connection = service.connect(20)
    connection.request("GET", f"/v1/conversations/{talk}/events",
                       headers=service.headers({"Last-Event-ID": first.run_id}, service.key))
    stream = connection.getresponse()
    assert stream.status == 200
    second = service.run("print(2)", conversation_id=talk)
    service.run("print('elsewhere')", conversation_id=talk + "-other")
    service.request("DELETE", f"/v1/conversations/{talk}")
    service.request("DELETE", f"/v1/conversations/{talk}-other")
    text = stream.read().decode()  # ends with the conversation
    events = [dict(line.split(": ",
                              1) for line in event.splitlines()) for event in text.split("\n\n") if "event: " in event]
    assert [event["event"] for event in events] == ["run", "end"]
    assert events[0]["id"] == second.run_id and json.loads(events[0]["data"])["conversation_id"] == talk
    connection.close()


def test_a_stream_of_events_does_not_hold_the_service_up(make_service):
    """It ends when the service stops, at once."""
    running = make_service({"SANDBOX_WARM_POOL": 1})
    running.run("1", conversation_id="talk")
    connection = running.connect(20)
    connection.request("GET", "/v1/conversations/talk/events", headers=running.headers(None, running.key))
    stream = connection.getresponse()
    assert running.stop(seconds=5) == 0
    assert stream.read() == b": listening\n\n"


def test_lists_stay_small(service, talk):
    """What a run printed and was given is read with the run, not with the list."""
    service.run("print('x' * 500_000)", conversation_id=talk)
    assert len(of(service, talk, "/runs").body) < 1000
    assert wait_until(lambda: of(service, talk).json["bytes"] > 500_000, 5)
