"""The audit log: who did what, that nothing else is in it, and that changed, removed or moved lines are found."""
import hashlib
import json
import os
import re
import shutil

import pytest

from support.cli import Cli
from support.harness import HttpSide

ZEROS = "0" * 64


@pytest.fixture
def side():
    """A log of its own, which holds nothing but what the test does."""
    running = HttpSide()
    yield running
    assert running.stop() == 0


def command(side):
    return Cli(f"http://127.0.0.1:{side.port}", side.key)


def lines_of(service, **how):
    return list(reversed(service.get("/v1/audit?limit=1000", **how).json["audit"]))


def last_of(service, action):
    return next(line for line in service.get("/v1/audit?limit=1000").json["audit"] if line["action"] == action)


def segments_of(service):
    """The raw text of the whole log."""
    listed = service.get("/v1/audit/segments").json["segments"]
    return b"".join(service.get(segment["url"]).body for segment in listed)


def do_something(side):
    name, key = side.new_project()
    listed = side.get(f"/v1/projects/{name}/keys").json["keys"]
    secret = "value-that-nobody-may-see"
    assert side.request("PUT", "/v1/agents/robot", {}, key=key).status == 201
    assert side.request("PUT", "/v1/agents/robot", {}, key=key).status == 200
    assert side.request("PUT", "/v1/agents/robot/env/OPENAI_API_KEY", {"value": secret}, key=key).status == 200
    assert side.request("DELETE", "/v1/agents/robot/env/OPENAI_API_KEY", key=key).status == 204
    assert side.request("DELETE", "/v1/agents/robot", key=key).status == 204
    side.keep("talk-1", key=key)
    assert side.request("DELETE", "/v1/conversations/talk-1", key=key).status == 204
    assert side.request("DELETE", f"/v1/projects/{name}/keys/{listed[0]['id']}").status == 204
    return name, key, listed[0]["id"], secret


def test_who_did_what(side):
    name, key, key_id, secret = do_something(side)
    lines = lines_of(side)
    assert [(line["action"], line.get("target")) for line in lines] == [
        ("project.create", name), ("key.create", key_id), ("agent.create", "robot"), ("agent.change", "robot"),
        ("agent.env.set", "robot"), ("agent.env.unset", "robot"), ("agent.delete", "robot"),
        ("conversation.delete", "talk-1"), ("key.revoke", key_id)]
    assert [line["seq"] for line in lines] == list(range(1, 10)) and lines[0]["prev"] == ZEROS
    assert [line["prev"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]
    admin, robot = lines[0], lines[2]
    assert admin["key"] == "key_test" and admin["rights"] == "admin" and "project" not in admin
    assert robot["key"] == key_id and robot["project"] == name and "rights" not in robot
    assert robot["client"] == "127.0.0.1" and re.fullmatch("[0-9a-f]{32}", robot["request"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", robot["time"])
    assert lines[4]["details"] == {"setting": "OPENAI_API_KEY"} and lines[1]["details"] == {"project": name}
    text = segments_of(side).decode()
    assert key not in text and secret not in text and side.key not in text


def test_refusals_are_told_and_do_not_fill_the_log(side):
    _, key = side.new_project()
    assert side.get("/v1/agents", key="csk_wrong").status == 401
    assert side.get("/v1/audit", key=key).status == 403
    assert side.get("/v1/agents", key=key, headers={"X-Project": "default"}).status == 404
    refused = [line for line in lines_of(side) if line["action"] == "refused"]
    assert [(line["target"], line["details"]["route"]) for line in refused] == [
        ("unauthorized", "/v1/agents"), ("forbidden", "/v1/audit")]
    assert "key" not in refused[0] and refused[1]["key"].startswith("key_")
    for _ in range(400):
        side.get("/v1/agents/" + "x" * 60, key="csk_wrong")
    refused = [line for line in lines_of(side) if line["action"] == "refused"]
    assert 90 < len(refused) < 300, len(refused)
    assert "csk_wrong" not in segments_of(side).decode()


def test_who_signs_in_at_the_console(side):
    assert side.post("/console/login", {"key": "csk_wrong"}, key=None).status == 401
    assert side.post("/console/login", {"key": side.key}, key=None).status == 200
    assert [(line["action"], line["target"]) for line in lines_of(side)] == [
        ("refused", "unauthorized"), ("console.login", "key_test")]


def test_pages(side):
    for _ in range(5):
        side.new_project()
    seen, after = [], ""
    while after is not None:
        page = side.get(f"/v1/audit?limit=3&after={after}").json
        assert len(page["audit"]) <= 3 and page["head"]["seq"] == 10
        seen += [line["seq"] for line in page["audit"]]
        after = page["next"]
    assert seen == list(range(10, 0, -1))
    assert side.get("/v1/audit?after=99999").json["audit"][0]["seq"] == 10
    for after in ("0", "x", "-1", "01", "1x", "9" * 30):
        response = side.get(f"/v1/audit?after={after}")
        assert response.status == 400 and response.error["param"] == "after"
    for first in ("2", "0", "x", "..%2fsandbox.db"):
        assert side.get(f"/v1/audit/segments/{first}").status == 404


# ---- platformctl audit


@pytest.fixture
def log(side, tmp_path):
    """A log as a file, and the command that looks at it."""
    for _ in range(10):
        side.new_project()
    path = tmp_path / "audit.jsonl"
    path.write_bytes(segments_of(side))
    return path


def verify(path, *words):
    return Cli()("audit", "verify", *words, str(path))


def test_a_whole_log_is_found_whole(side, log):
    head = side.get("/v1/audit").json["head"]
    result = command(side)("audit", "verify")
    assert result.code == 0
    assert f"the audit log is whole: 20 lines, up to line 20 with hash {head['hash']}" in result.stderr
    assert verify(log).code == 0
    assert verify(log, "--anchor", f"20:{head['hash']}").code == 0
    assert json.loads(verify(log, "--json").stdout) == {
        "whole": True, "lines": 20, "first": 1, "last": 20, "hash": head["hash"], "faults": [], "notes": []}


def change(lines):
    """The even lines tell of keys, the odd ones of projects."""
    assert b"key.create" in lines[5]
    lines[5] = lines[5].replace(b"key.create", b"key.revoke")


def change_with_its_hash(lines):
    """By somebody who knows how the hash is made, but does not write all later lines anew."""
    assert b"project.create" in lines[4]
    head = lines[4].replace(b"project.create", b"project.delete").rsplit(b',"hash":', 1)[0]
    lines[4] = head + b',"hash":"' + hashlib.sha256(head).hexdigest().encode() + b'"}'


def remove(lines):
    del lines[7]


def remove_many(lines):
    del lines[7:10]


def swap(lines):
    lines[2], lines[3] = lines[3], lines[2]


def repeat(lines):
    lines.insert(5, lines[4])


def add(lines):
    lines.insert(5, b'{"seq":6}')


def behead(lines):
    del lines[:3]


CASES = [(change, "line 6 was changed"), (change_with_its_hash, "line 6 was not written after the line before it"),
         (remove, "line 8 is missing"), (remove_many, "lines 8 to 10 are missing"),
         (swap, "line 3 is missing(.|\n)*line 3 stands after line 4"), (repeat, "line 5 stands after line 5"),
         (add, "row 6 is no line of an audit log"), (behead, "lines 1 to 3 are missing, and no line says")]


@pytest.mark.parametrize("meddle,words", CASES, ids=[case[0].__name__ for case in CASES])
def test_what_was_done_to_it_is_found(log, meddle, words):
    lines = log.read_bytes().splitlines()
    meddle(lines)
    log.write_bytes(b"".join(line + b"\n" for line in lines))
    result = verify(log)
    assert result.code == 1 and re.search(words, result.stderr), result
    assert "is whole" not in result.stderr


def test_a_log_that_was_cut_is_found_by_what_was_noted_before(log):
    text = log.read_bytes()
    lines = text.splitlines(keepends=True)
    last = json.loads(lines[-1])
    log.write_bytes(b"".join(lines[:-2]))
    assert verify(log).code == 0  # nothing in the file itself can tell
    result = verify(log, "--anchor", f"20:{last['hash']}")
    assert result.code == 1 and "line 20, which must be there as --anchor says, is missing" in result.stderr
    log.write_bytes(text[:-1])
    assert verify(log).code == 1
    assert verify(log, "--anchor", "20:xyz").code == 64
    assert verify("/nonexistent").code == 66


def folder_of(side):
    """Where the harness has its log: a folder that it holds open."""
    opened = f"/proc/{side.process.pid}/fd"
    return next(target for name in os.listdir(opened) if (target := os.readlink(f"{opened}/{name}")).endswith("/audit"))


def test_lines_that_were_cut_off_are_found_where_the_log_lies(side, log, tmp_path):
    """Beside its files stands where it had come to, when they were last put on the disk."""
    copy = shutil.copytree(folder_of(side), tmp_path / "audit")
    (path,) = copy.glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 20 and verify(path).code == 0
    path.write_bytes(b"".join(lines[:-1]))
    result = verify(path)
    assert result.code == 1
    assert 'line 20, which must be there as the file "head" beside it says, is missing' in result.stderr
    (copy / "head").write_text("nonsense\n")
    assert verify(path).code == 0, "a note that makes no sense says nothing"


def next_line(before, **members):
    last = json.loads(before)
    line = {"seq": last["seq"] + 1, "prev": last["hash"], "time": "-", **members}
    head = json.dumps(line, separators=(",", ":"))[:-1]
    return f'{head},"hash":"{hashlib.sha256(head.encode()).hexdigest()}"}}\n'.encode()


@pytest.mark.parametrize("through, words", [
    (20, "lines 19 to 20 were changed or removed while the service was stopped"),
    (19, "line 19 was changed or removed while the service was stopped"),
    (18, "line 18 and what is before it were written anew while the service was stopped")])
def test_what_the_service_has_missed_at_its_start_is_a_fault_for_ever(log, through, words):
    lines = log.read_bytes().splitlines(keepends=True)[:18]
    lines.append(next_line(lines[-1], action="audit.lost", details={"through": through, "hash": ZEROS}))
    lines.append(next_line(lines[-1], action="key.create"))
    log.write_bytes(b"".join(lines))
    result = verify(log)
    assert result.code == 1 and words in result.stderr and result.stderr.count("\n") == 1, result


def test_the_list_for_people(side):
    name, _ = side.new_project()
    shown = command(side)("audit")
    assert shown.code == 0 and shown.stderr == "", shown
    rows = shown.stdout.decode().splitlines()
    assert rows[0].split()[:2] == ["line", "when"] and len(rows) == 3
    assert re.search(rf"^1 .* project\.create +{name} +- +key_test +127\.0\.0\.1$", rows[2])
    assert command(side)("audit", "list", "--limit", "1").stdout.decode().count("\n") == 2
    some = command(side)("audit", "--limit", "1")
    assert some.stdout.decode().count("\n") == 2 and some.stderr == "platformctl: there are more than these 1 lines\n"
    assert len(json.loads(command(side)("audit", "--json").stdout)["audit"]) == 2
    assert command(side)("audit", "--json", "--help").stdout.startswith(b"Usage: platformctl audit list")


# ---- the whole service


def test_runs_are_told_of_by_their_ids(service):
    code = "print('output-that-nobody-may-see')  # code-that-nobody-may-see"
    reply = service.execute(code)
    line = last_of(service, "run")
    assert line["target"] == reply.run_id and line["project"] == "default" and line["rights"] == "admin"
    assert line["details"] == {"sandbox": reply.sandbox_id, "outcome": "ok"}
    assert "nobody-may-see" not in segments_of(service).decode()
    assert "service.start" in {line["action"] for line in lines_of(service)}
    assert Cli(service.url, service.key)("audit", "verify").code == 0
    assert '"message":"the audit log has come to here"' in service.log()
    assert re.search(r"^sandbox_audit_lines_total [1-9]", service.get("/metrics", key=None).body.decode(), re.M)
