"""Conversations, their runs, files and events: the HTTP side alone, in which runs are kept without being run."""
import http.client
import json
import re
import socket
import threading
import time
import uuid

import pytest

from support.host import wait_until

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
CSV = ("t.csv", "text/csv", b"a\n1\n")


class Project:
    def __init__(self, http_side, key):
        self.http_side, self.key = http_side, key

    def get(self, path, **more):
        return self.http_side.get("/v1" + path, key=self.key, **more)

    def delete(self, path):
        return self.http_side.request("DELETE", "/v1" + path, key=self.key)

    def keep(self, conversation, *files, **fields):
        return self.http_side.keep(conversation, files, key=self.key, **fields)

    def walk(self, path, name, limit=2):
        """All entries of a list, page by page."""
        seen, after = [], ""
        while after is not None:
            page = self.get(f"{path}{'&' if '?' in path else '?'}limit={limit}&after={after}")
            assert page.status == 200, page
            assert len(page.json[name]) <= limit and set(page.json) == {name, "next"}
            seen += page.json[name]
            after = page.json["next"]
        return seen


@pytest.fixture
def mine(http_side, http_project):
    return Project(http_side, http_project[1])


def ids(entries, name="conversation_id"):
    return [entry[name] for entry in entries]


# ---- conversations


def test_a_conversation_is_shown(mine):
    assert mine.get("/conversations").json == {"conversations": [], "next": None}
    mine.keep("talk", CSV, ("u.csv", "text/csv", b"b\n"))
    mine.keep("talk", CSV)
    shown = mine.get("/conversations/talk").json
    assert mine.get("/conversations").json["conversations"] == [shown]
    assert shown.pop("bytes") > 0
    times = [shown.pop(name) for name in ("created_at", "active_at", "expires_at")]
    assert all(re.fullmatch(TIME, text) for text in times) and times == sorted(times)
    assert shown == {"conversation_id": "talk", "agent": None, "run_count": 2, "file_count": 3}


def test_conversations_are_listed_latest_first_in_pages(mine):
    names = [f"c:{i}.{uuid.uuid4().hex}" for i in range(7)]
    for name in names:
        mine.keep(name)
        time.sleep(0.003)
    assert ids(mine.walk("/conversations", "conversations")) == names[::-1]
    mine.keep(names[2])
    assert ids(mine.walk("/conversations", "conversations"))[0] == names[2]
    assert len(mine.get("/conversations").json["conversations"]) == 7, "50 if nothing is said"


def test_conversations_of_one_agent(mine):
    for name in ("shop", "desk"):
        mine.http_side.request("PUT", f"/v1/agents/{name}", {}, key=mine.key)
    for i in range(5):
        mine.keep(f"c{i}", agent="shop" if i % 2 else "desk")
    assert ids(mine.walk("/conversations?agent=shop", "conversations", 1)) == ["c3", "c1"]
    assert mine.get("/conversations/c1").json["agent"] == "shop"
    assert mine.get("/conversations?agent=nobody").json["conversations"] == []


@pytest.mark.parametrize("query, param", [("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"),
                                          ("limit=", "limit"),
                                          ("after=x", "after"), ("after=1-", "after"), ("after=-1-1", "after"),
                                          ("after=1-1-1", "after")])
def test_pages_that_there_are_not(mine, query, param):
    response = mine.get(f"/conversations?{query}")
    assert response.status == 400 and response.error["param"] == param


def test_a_conversation_is_deleted_with_all_it_holds(mine):
    kept = mine.keep("talk", CSV)
    mine.keep("other", CSV)
    gone = mine.delete("/conversations/talk")
    assert gone.status == 204 and gone.body == b""
    paths = ["/conversations/talk", "/conversations/talk/runs", "/conversations/talk/files",
             "/conversations/talk/events",
             f"/runs/{kept['run_id']}", f"/files/{kept['files'][0]}"]
    for path in paths:
        response = mine.get(path)
        assert response.status == 404 and response.error["type"] == "not_found", path
    assert mine.delete("/conversations/talk").status == 404
    assert ids(mine.get("/conversations").json["conversations"]) == ["other"]
    assert mine.get(f"/files/{mine.get('/conversations/other/files').json['files'][0]['file_id']}").body == CSV[2]
    mine.keep("talk")
    assert mine.get("/conversations/talk").json["run_count"] == 1, "the name is free, and nothing of before is there"


def test_another_projects_things_are_not_there(mine, http_side):
    kept = mine.keep("talk", CSV)
    other = Project(http_side, http_side.new_project()[1])
    for path in ("/conversations/talk", "/conversations/talk/runs", "/conversations/talk/files",
                 "/conversations/talk/events",
                 f"/runs/{kept['run_id']}", f"/files/{kept['files'][0]}"):
        assert other.get(path).status == 404, path
    assert other.delete("/conversations/talk").status == 404
    assert other.get("/conversations").json["conversations"] == []
    other.keep("talk")
    assert other.get("/conversations/talk").json["file_count"] == 0, "names are of one project"
    assert mine.get("/conversations/talk").json["file_count"] == 1


# ---- runs


def test_runs_are_listed_oldest_first(mine):
    run_ids = [mine.keep("talk", *[CSV] * (i % 2), code="x" * 5000)["run_id"] for i in range(5)]
    runs = mine.walk("/conversations/talk/runs", "runs")
    assert ids(runs, "run_id") == run_ids
    first = runs[0]
    assert re.fullmatch(TIME, first.pop("started_at")) and first.pop("sandbox_id").startswith("sbx_")
    assert first == {"run_id": run_ids[0], "conversation_id": "talk", "agent": None, "tool": None,
                     "outcome": "error", "exit_code": 3, "stateful": False, "result_count": 0, "file_count": 0,
                     "usage": {"wall_ms": 1.5, "cpu_ms": 1.25, "max_memory_bytes": 4096}}
    assert runs[1]["file_count"] == 1
    assert "xxx" not in mine.get("/conversations/talk/runs").body.decode()


def test_a_run_is_shown_whole(mine):
    code = 'print("ä€𝄞")\n# \\ " \x01 <script>'
    run_id = mine.keep("talk", code=code, stdout="out\n" * 3)["run_id"]
    shown = mine.get(f"/runs/{run_id}").json
    assert re.fullmatch(TIME, shown.pop("started_at"))
    assert shown == {"run_id": run_id, "conversation_id": "talk", "stdout": "out\n" * 3, "code": code}


def test_runs_that_there_are_not(mine):
    for run_id in ("run_01ARZ3NDEKTSV4RRFFQ69G5FAV", "x", "%2e%2e"):
        response = mine.get(f"/runs/{run_id}")
        assert response.status == 404 and "There is no run" in response.error["message"]
    mine.keep("talk")
    response = mine.get("/conversations/talk/runs?after=run_01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert response.status == 400 and response.error["param"] == "after"


# ---- files


def test_files_are_listed_latest_first_with_all_versions(mine):
    first = mine.keep("talk", CSV, ("u.txt", "text/plain", b"u"))
    second = mine.keep("talk", ("t.csv", "text/csv", b"new"))
    files = mine.walk("/conversations/talk/files", "files", 1)
    assert files[0]["file_id"] == second["files"][0]
    assert sorted(ids(files, "file_id")) == sorted(first["files"] + second["files"])
    by_id = {file["file_id"]: file for file in files}
    old, new = by_id[first["files"][0]], by_id[second["files"][0]]
    assert (old["latest"], new["latest"], by_id[first["files"][1]]["latest"]) == (False, True, True)
    assert re.fullmatch(TIME, new.pop("created_at")) and len(new.pop("sha256")) == 64
    assert new == {"file_id": second["files"][0], "name": "t.csv", "size": 3, "media_type": "text/csv",
                   "run_id": second["run_id"],
                   "conversation_id": "talk", "latest": True, "url": f"/v1/files/{second['files'][0]}"}
    latest = mine.walk("/conversations/talk/files?latest=1", "files", 1)
    assert sorted(file["name"] for file in latest) == ["t.csv", "u.txt"] and all(file["latest"] for file in latest)
    assert mine.http_side.get(new["url"], key=mine.key).body == b"new"
    for query, param in (("latest=2", "latest"), ("after=file_x", "after"), ("limit=0", "limit")):
        assert mine.get(f"/conversations/talk/files?{query}").error["param"] == param


# ---- events


class Listener:
    """Server-sent events of a conversation, read in a thread."""

    def __init__(self, project, conversation, headers=None):
        self.connection = project.http_side.connect(20)
        self.connection.request("GET", f"/v1/conversations/{conversation}/events",
                                headers=project.http_side.headers(headers, project.key))
        self.sock = self.connection.sock
        self.response = self.connection.getresponse()
        self.events, self.comments, self.ended = [], [], False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        if self.response.status == 200:
            assert wait_until(lambda: self.comments, 5), "the stream did not begin"

    def read(self):
        event = {}
        while line := self.read_line():
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "":
                if value:
                    self.comments.append(value)
                elif event:
                    self.events.append(event)
                    event = {}
            else:
                event[name] = json.loads(value) if name == "data" else value
        self.ended = True

    def read_line(self):
        try:
            return self.response.readline().decode()
        except (OSError, http.client.HTTPException):
            return ""

    def close(self):
        """What a client does that goes away: the stream ends for the reading thread too."""
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.connection.close()

    def wait(self, count):
        assert wait_until(lambda: len(self.events) >= count, 5), self.events
        return self.events


def test_listeners_are_told_of_runs(mine):
    mine.keep("talk")
    mine.keep("other")
    one, two = Listener(mine, "talk"), Listener(mine, "talk")
    assert one.response.headers["Content-Type"] == "text/event-stream"
    run_ids = [mine.keep("talk", CSV)["run_id"] for _ in range(3)]
    mine.keep("other")
    for listener in (one, two):
        events = listener.wait(3)
        assert [event["event"] for event in events] == ["run"] * 3 and [event["id"] for event in events] == run_ids
        assert [event["data"] for event in events] == mine.get("/conversations/talk/runs").json["runs"][1:]
    one.close()
    mine.keep("talk")
    assert len(two.wait(4)) == 4
    two.close()


def test_a_listener_that_comes_back_is_told_what_it_missed(mine):
    run_ids = [mine.keep("talk")["run_id"] for _ in range(4)]
    listener = Listener(mine, "talk", {"Last-Event-ID": run_ids[1]})
    assert [event["id"] for event in listener.wait(2)] == run_ids[2:]
    last = mine.keep("talk")["run_id"]
    assert [event["id"] for event in listener.wait(3)] == run_ids[2:] + [last]
    listener.close()
    for unknown in ("run_01ARZ3NDEKTSV4RRFFQ69G5FAV", "x", ""):
        listener = Listener(mine, "talk", {"Last-Event-ID": unknown})
        last = mine.keep("talk")["run_id"]
        assert [event["id"] for event in listener.wait(1)] == [last]
        listener.close()


def test_the_stream_ends_with_the_conversation(mine):
    mine.keep("talk")
    listener = Listener(mine, "talk")
    mine.delete("/conversations/talk")
    assert [event["event"] for event in listener.wait(1)] == ["end"]
    assert wait_until(lambda: listener.ended, 5)


def test_head_of_a_stream(mine):
    mine.keep("talk")
    response = mine.http_side.request("HEAD", "/v1/conversations/talk/events", key=mine.key, timeout=5)
    assert response.status == 200 and response.body == b""
    mine.keep("talk")


def test_an_address_has_so_many_streams(mine):
    mine.keep("talk")
    listeners = []
    for _ in range(33):
        listeners.append(Listener(mine, "talk"))
        if listeners[-1].response.status != 200:
            break
    response = mine.get("/conversations/talk/events")
    assert response.status == 503 and "32" in response.error["message"] and "address" in response.error["message"]
    for listener in listeners:
        listener.close()
    assert wait_until(lambda: free_again(mine), 5), "places are free when their clients have left"


def free_again(project):
    listener = Listener(project, "talk")
    listener.close()
    return listener.response.status == 200
