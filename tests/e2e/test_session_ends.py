"""What outlives what: sessions end when they are idle, or with the service; conversations expire; what was answered stays."""
import hashlib
import os
import signal
import threading
import time

import pytest

from support.client import Refused
from support.host import wait_until
from support.projects import Project

IDLE, TTL = 2, 6


@pytest.fixture(scope="module")
def quick(make_service):
    """A service in which everything ends soon."""
    running = make_service({
        "SANDBOX_SESSION_IDLE_SECONDS": IDLE, "SANDBOX_CONVERSATION_TTL_SECONDS": TTL, "SANDBOX_MAX_SESSIONS": 3,
        "SANDBOX_SESSIONS_PER_PROJECT": 2, "SANDBOX_QUOTA_BYTES": 3_000_000, "SANDBOX_QUOTA_FILES": 30, "SANDBOX_WARM_POOL": 2,
    })
    yield running
    assert running.stop() == 0


@pytest.fixture
def make_project(quick):
    """Projects whose sessions end with the test."""
    made = []
    yield lambda: made.append(Project(quick)) or made[-1]
    for project in made:
        for session in project.sessions():
            project.end_session(session["conversation_id"])


@pytest.fixture
def project(make_project):
    return make_project()


def rows(service, table):
    import sqlite3
    with sqlite3.connect(service.data_dir / "service/sandbox.db") as database:
        return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def blobs(service):
    folder = service.data_dir / "service/blobs"
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_an_idle_session_ends(project):
    project.call("x = 1\nopen('kept', 'w').write('k')\nopen('large', 'wb').write(bytes(5 << 20))")
    assert len(project.sessions()) == 1
    assert wait_until(lambda: project.sessions() == [], IDLE + 5)
    reply = project.call("import os\nprint('x' in globals(), open('kept').read(), os.listdir())")
    assert reply.stdout == "False k ['kept']\n"
    assert reply.session["restarted"] and "idle" in reply.session["message"] and "large" in reply.session["message"]


def test_a_call_keeps_a_session_from_being_idle(project):
    project.call("x = 1\nimport time")
    for _ in range(3):
        assert project.call(f"time.sleep({IDLE / 2 + 0.2})\nprint(x)").stdout == "1\n"
        time.sleep(IDLE / 2)
    assert project.call(f"time.sleep({IDLE + 1})\nprint(x)", timeout_s=IDLE + 5).stdout == "1\n"


def test_the_cap_of_the_platform(make_project, project):
    other = make_project()
    project.call("1", "a"), project.call("1", "b"), other.call("1", "c")
    refusal = other.refused("1", "d")
    assert refusal.status == 429 and "SANDBOX_MAX_SESSIONS" in refusal.error["message"] and " 3 " in refusal.error["message"]
    project.end_session("a")
    assert other.call("print('in')", "d").stdout == "in\n"


def test_a_conversation_expires(quick, project):
    reply = project.call("open('f', 'w').write('expires')")
    name = hashlib.sha256(b"expires").hexdigest()
    assert name in blobs(quick)
    assert wait_until(lambda: project.get("/v1/conversations/talk").status == 404, IDLE + TTL + 8, 0.2)
    assert project.get(reply.files[0]["url"]).status == 404
    assert project.get(f"/v1/runs/{reply.run_id}").status == 404
    assert wait_until(lambda: name not in blobs(quick), 5)
    again = project.call("import os\nprint(os.listdir())")
    assert again.stdout == "[]\n" and again.session["restarted"] is False


def test_a_conversation_in_use_does_not_expire(project):
    for _ in range(3):
        project.execute("open('f', 'w').write('1')", conversation_id="used")
        time.sleep(TTL * 0.6)
    assert project.get("/v1/conversations/used").json["run_count"] == 3


def test_the_quota_of_a_project(project):
    first = project.execute("open('a', 'wb').write(bytes(2_000_000)); open('b', 'wb').write(bytes(1_500_000)); open('c', 'w').write('c')",
                            conversation_id="q")
    assert [file["name"] for file in first.files] == ["a", "c"]
    assert [(file["name"], file["reason"]) for file in first.files_skipped] == [("b", "quota")]
    project.execute("open('d', 'wb').write(bytes(990_000))", conversation_id="q")
    with pytest.raises(Refused) as refusal:
        for _ in range(40):  # what is kept of a run counts, too
            project.execute("open('e', 'wb').write(bytes(500))", conversation_id="q")
    response = refusal.value.response
    assert response.status == 429 and response.error["type"] == "quota_exceeded"
    for part in ("3000000", "SANDBOX_QUOTA_BYTES", "DELETE"):
        assert part in response.error["message"]
    assert project.execute("print('unkept')").stdout == "unkept\n", "a run that keeps nothing still goes"
    assert project.request("DELETE", "/v1/conversations/q").status == 204
    assert project.execute("open('e', 'w').write('1')", conversation_id="r").files_skipped == []


def test_a_file_over_the_quota_is_named_when_it_is_lost(project):
    project.call("open('a', 'wb').write(bytes(2_500_000)); open('b', 'wb').write(bytes(1_000_000))")
    project.end_session()
    assert "b" in project.call("import os; print(os.listdir())").session["message"]


# ---- the end of the service


@pytest.fixture
def own(make_service):
    running = make_service({"SANDBOX_WARM_POOL": 1})
    yield running
    running.stop()


def restart(service, how):
    status = service.stop(how)
    assert how == signal.SIGKILL or status == 0
    service.start()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_a_restart_of_the_service(own, how):
    project = Project(own)
    reply = project.call("x = 1\nopen('kept', 'w').write('k')\nopen('large', 'wb').write(bytes(5 << 20))")
    restart(own, how)
    assert project.sessions() == []
    after = project.call("import os\nprint('x' in globals(), open('kept').read(), os.listdir())")
    assert after.stdout == "False k ['kept']\n"
    message = after.session["message"]
    assert after.session["restarted"] and "restarted" in message and "variables" in message and "large" in message
    assert project.file(reply.files[0]) == b"k"
    runs = project.get("/v1/conversations/talk/runs").json["runs"]
    assert [run["run_id"] for run in runs] == [reply.run_id, after.run_id]


class Load(threading.Thread):
    """Keeps runs with files as fast as it can, and notes what was answered."""

    def __init__(self, project, name):
        super().__init__(daemon=True)
        self.project, self.name_, self.kept, self.over = project, name, [], False
        self.start()

    def run(self):
        number = 0
        while not self.over:
            number += 1
            text = f"{self.name_}-{number}-" + "x" * 5000
            try:
                reply = self.project.execute(f"open('f{number % 3}', 'w').write('{text}'); open('same', 'w').write('same')",
                                             conversation_id=f"{self.name_}-{number % 4}")
            except (OSError, ValueError, Refused):
                return
            for file in reply.files:
                content = b"same" if file["name"] == "same" else text.encode()
                self.kept.append((reply.run_id, file["file_id"], content))


def test_what_was_answered_survives_a_kill_at_any_point(own):
    """And nothing is left over that nobody refers to."""
    project, kept = Project(own), []
    for round_ in range(6):
        loads = [Load(project, f"r{round_}w{worker}") for worker in range(3)]
        time.sleep(0.35 + 0.13 * round_)
        os.kill(own.process.pid, signal.SIGKILL)
        for load in loads:
            load.over = True
            load.join(60)
            kept += load.kept
        own.process.wait()
        own.start()
    assert len(kept) > 20, "there was a load"
    for run_id, file_id, content in kept:
        assert project.get(f"/v1/files/{file_id}").body == content
        assert project.get(f"/v1/runs/{run_id}").status == 200
    assert own.stop() == 0
    referred = rows(own, "blobs")
    assert wait_until(lambda: len(blobs(own)) == referred), "every content has its row, and every row its content"
    own.start()


@pytest.mark.timeout(600)
def test_twenty_sessions_beside_runs_of_their_own(make_service):
    """Nothing is mixed up: every call sees its own conversation's counter, every run none."""
    running = make_service({"SANDBOX_SESSIONS_PER_PROJECT": 20, "SANDBOX_MAX_SESSIONS": 20})
    seconds = float(os.environ.get("SANDBOX_TEST_SESSIONS_SECONDS", "180"))
    project, wrong, calls = Project(running), [], [0] * 20
    until = time.monotonic() + seconds

    def talk(number):
        name, count = f"talk-{number}", 0
        try:
            project.call(f"me, count = {number}, 0", name)
            while time.monotonic() < until:
                count += 1
                reply = project.call(f"count += 1\nprint(me, count)\nopen(f'f{{count % 5}}', 'w').write(f'{{me}} {{count}}')\nme * 1000 + count",
                                     name)
                file, = reply.files
                seen = (reply.stdout, reply.results, project.file(file), reply.session["restarted"], reply.conversation_id)
                want = (f"{number} {count}\n", [{"text/plain": str(number * 1000 + count)}], f"{number} {count}".encode(), False, name)
                if seen != want:
                    wrong.append((seen, want))
            calls[number] = count
        except BaseException as problem:
            wrong.append((name, problem))

    def run_alone():
        try:
            while time.monotonic() < until:
                if running.run("print('me' in globals())\nimport os\nprint(os.listdir())").stdout != "False\n[]\n":
                    wrong.append("a run that was not alone")
        except BaseException as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(20)]
    threads += [threading.Thread(target=run_alone) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 120)
    assert wrong == [] and min(calls) >= 3, (wrong[:3], calls)
    assert running.stop() == 0
