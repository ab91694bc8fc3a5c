"""platformctl projects, keys, agents, conversations, files, sessions: what is asked, shown and said. Against our own
server; with the real service in test_cli_kept.py."""
import json
import os
import re
import stat

import pytest

from support.fake_api import error

FILE_ID = "file_01M8NTPNEK7RB7Z7E3W9KS1B79"


def asked(fake):
    return [path for path, _, _ in fake.requests]


def agent(name):
    return {"name": name, "image": None, "created_at": "2026-11-30T12:01:07Z", "updated_at": "2026-11-30T12:02:07Z"}


# ---- lists


def test_a_list_as_a_table(fake, cli):
    fake.pages["/v1/agents?limit=200"] = (200, {"agents": [agent("shop"), agent("my-agent")], "next": None})
    result = cli("agents", "list")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.decode() == ("name      made (UTC)           changed (UTC)\n"
                                      "shop      2026-11-30 12:01:07  2026-11-30 12:02:07\n"
                                      "my-agent  2026-11-30 12:01:07  2026-11-30 12:02:07\n")


def test_an_empty_list_says_so_where_programs_do_not_read(fake, cli):
    fake.pages["/v1/agents?limit=200"] = (200, {"agents": [], "next": None})
    result = cli("agents", "list")
    assert (result.code, result.stdout, result.stderr) == (0, b"", "platformctl: there are no agents\n")
    assert json.loads(cli("agents", "list", "--json").stdout) == {"agents": [], "next": None}


def pages_of_five(fake):
    fake.pages.update({
        "/v1/projects?limit=200": (200, {"projects": [{"name": "a"}, {"name": "b"}], "next": "b&c"}),
        "/v1/projects?limit=200&after=b%26c": (200, {"projects": [{"name": "c"}, {"name": "d"}], "next": "d"}),
        "/v1/projects?limit=200&after=d": (200, {"projects": [{"name": "e"}], "next": None}),
        "/v1/projects?limit=3": (200, {"projects": [{"name": "a"}, {"name": "b"}], "next": "b&c"}),
        "/v1/projects?limit=1&after=b%26c": (200, {"projects": [{"name": "c"}], "next": "c"}),
    })


def test_lists_follow_their_pages(fake, cli):
    pages_of_five(fake)
    shown = cli("projects", "list").stdout.decode().splitlines()
    assert [line.split()[0] for line in shown] == ["name", "a", "b", "c", "d", "e"]
    whole = json.loads(cli("projects", "list", "--json").stdout)
    assert whole == {"projects": [{"name": name} for name in "abcde"], "next": None}


def test_a_limit_ends_a_list_and_says_that_there_is_more(fake, cli):
    pages_of_five(fake)
    result = cli("projects", "list", "--limit", "3")
    assert len(result.stdout.splitlines()) == 4
    assert result.stderr == "platformctl: there are more than these 3 projects\n"
    assert asked(fake) == ["/v1/projects?limit=3", "/v1/projects?limit=1&after=b%26c"]
    whole = json.loads(cli("projects", "list", "--limit", "3", "--json").stdout)
    assert whole["next"] == "c"  # where a program can go on


@pytest.mark.parametrize("answer", [{"projects": [], "next": "x"}, {"projects": 7}, {"others": []}])
def test_a_list_that_makes_no_sense(fake, cli, answer):
    fake.pages["/v1/projects?limit=200"] = (200, answer)
    result = cli("projects", "list")
    assert (result.code, result.stdout) == (76, b"") and "without a list of projects" in result.stderr


def test_what_lists_can_be_asked_for(fake, cli):
    for words, path in (
            (["conversations", "list", "--agent", "a b", "--limit", "5"], "/v1/conversations?limit=5&agent=a%20b"),
            (["files", "list", "c:1"], "/v1/conversations/c%3A1/files?limit=200&latest=1"),
            (["files", "list", "c:1", "--all"], "/v1/conversations/c%3A1/files?limit=200"),
            (["keys", "list", "p"], "/v1/projects/p/keys?limit=200"),
            (["sessions", "list"], "/v1/sessions")):
        assert cli(*words).code == 65  # 404
        assert asked(fake)[-1] == path


def test_sessions(fake, cli):
    session = {"project": "default", "conversation_id": "talk", "agent": "shop", "state": "idle", "created_ms": 1,
               "idle_s": 61.7, "calls": 3, "waiting": 0}
    fake.pages["/v1/sessions"] = (200, {"sessions": [session], "limits": {"per_project": 2}, "idle_seconds": 900})
    assert cli("sessions", "list").stdout == (b"conversation  agent  state  idle  runs  waiting\n"
                                              b"talk          shop   idle   62 s  3     0\n")
    assert json.loads(cli("sessions", "list", "--json").stdout)["limits"] == {"per_project": 2}


def test_a_hostile_list_cannot_control_the_terminal(fake, cli):
    hostile = "x\x1b]0;owned\x07\n\u202e\u009b"
    fake.pages["/v1/agents?limit=200"] = (200, {"agents": [agent(hostile), 7, {"name": [hostile]}], "next": None})
    for result in (cli("agents", "list"), cli.on_terminal("agents", "list", NO_COLOR="1")):
        assert result.code == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stdout.decode()), result.stdout


# ---- one thing


def test_a_conversation_with_its_runs(fake, cli):
    run = {"run_id": "run_1", "conversation_id": "c", "outcome": "error", "exit_code": 1, "stateful": True,
           "started_at": "2026-11-30T12:01:07.123Z", "file_count": 2}
    fake.pages["/v1/conversations/c"] = (200, {"conversation_id": "c", "run_count": 1})
    fake.pages["/v1/conversations/c/runs?limit=200"] = (200, {"runs": [run], "next": None})
    text = cli("conversations", "show", "c").stdout.decode()
    assert "  conversation id  c\n" in text and "  run count        1\n" in text
    assert "run_1  2026-11-30 12:01:07  error    1          yes      2\n" in text
    whole = json.loads(cli("conversations", "show", "--json", "c").stdout)
    assert whole == {"conversation_id": "c", "run_count": 1, "runs": [run]}


def test_show_an_agent(fake, cli):
    fake.pages["/v1/agents/shop"] = (200, {**agent("shop"), "tools": [], "stateful": True, "timeout_s": 20.0})
    tools = [{"name": "add", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}},
             {"name": "now", "parameters": {"type": "object", "properties": {}}}]
    fake.pages["/v1/agents/tools"] = (200, {**agent("tools"), "tools": tools})
    shown = cli("agents", "show", "tools").stdout.decode()
    assert "name  parameters\nadd   a, b\nnow   -\n" in shown
    text = cli("agents", "show", "shop").stdout.decode()
    assert re.search(r"^  stateful +yes$", text, re.M) and re.search(r"^  timeout +20 s$", text, re.M)


# ---- names in addresses


@pytest.mark.parametrize("name, path", [
    ("a/../../v1/projects", "/v1/conversations/a%2F..%2F..%2Fv1%2Fprojects"), ("..", "/v1/conversations/.."),
    ("a?b#c", "/v1/conversations/a%3Fb%23c"), ("é %", "/v1/conversations/%C3%A9%20%25"),
    (b"\xff", "/v1/conversations/%FF"),
])
def test_a_name_never_becomes_another_address(fake, cli, name, path):
    fake.changes["DELETE", path] = [(204, None)]
    assert cli("conversations", "delete", name).code == 0
    assert [(method, asked_for) for method, asked_for, _ in fake.changed] == [("DELETE", path)]


@pytest.mark.parametrize("words", [
    ["agents", "delete", ""], ["agents", "env", "unset", "a", ""], ["agents", "env", "list", ""], ["files", "get", ""],
    ["conversations", "show", ""], ["keys", "revoke", "p", ""],
])
def test_an_empty_name(fake, cli, words):
    result = cli(*words)
    assert (result.code, result.stderr) == (64, "platformctl: a name on the command line is empty\n")
    assert fake.requests == []


# ---- changes


@pytest.mark.parametrize("words, request_, answer, said, shown", [
    (["projects", "create", "reports"], ("POST", "/v1/projects", {"name": "reports"}), (201, {"name": "reports"}),
     "made the project reports; `platformctl keys create reports` makes a key", {"name": "reports"}),
    (["keys", "revoke", "p", "key_1"], ("DELETE", "/v1/projects/p/keys/key_1", None), (204, None),
     "revoked the key key_1 of the project p", {"project": "p", "id": "key_1", "revoked": True}),
    (["agents", "create", "shop"], ("PUT", "/v1/agents/shop", {}), (201, {"name": "shop"}), "made the agent shop",
     {"name": "shop"}),
    (["agents", "create", "shop"], ("PUT", "/v1/agents/shop", {}), (200, {"name": "shop"}),
     "the agent shop was there already, and stays as it is", {"name": "shop"}),
    (["agents", "delete", "shop"], ("DELETE", "/v1/agents/shop", None), (204, None),
     "deleted the agent shop with its settings; its conversations stay", {"name": "shop", "deleted": True}),
    (["conversations", "delete", "c:1"], ("DELETE", "/v1/conversations/c%3A1", None), (204, None),
     "deleted the conversation c:1 with its runs and files", {"conversation_id": "c:1", "deleted": True}),
    (["sessions", "end", "c"], ("DELETE", "/v1/conversations/c/session", None),
     (200, {"conversation_id": "c", "ended": True}),
     "ended the session of c: its variables are lost, kept files come back with its next run",
     {"conversation_id": "c", "ended": True}),
    (["sessions", "end", "c"], ("DELETE", "/v1/conversations/c/session", None),
     (200, {"conversation_id": "c", "ended": False}), "c has no live session: nothing to end",
     {"conversation_id": "c", "ended": False}),
])
def test_changes_say_what_they_did(fake, cli, words, request_, answer, said, shown):
    fake.changes[request_[:2]] = [answer]
    result = cli(*words)
    assert (result.code, result.stdout, result.stderr) == (0, b"", f"platformctl: {said}\n")
    assert fake.changed == [request_]
    result = cli(*words, "--json")
    assert (result.code, result.stderr, json.loads(result.stdout)) == (0, "", shown)


@pytest.mark.parametrize("words", [
    ["projects", "create", "x"], ["keys", "create", "x"], ["keys", "revoke", "x", "y"], ["agents", "create", "x"],
    ["agents", "delete", "x"], ["agents", "env", "unset", "x", "Y"], ["conversations", "delete", "x"],
    ["sessions", "end", "x"],
])
@pytest.mark.parametrize("status, kind, code", [
    (404, "not_found", 65), (409, "conflict", 65), (403, "forbidden", 77), (429, "rate_limited", 75),
    (500, "internal", 70),
])
def test_refusals_have_the_words_of_the_service(fake, cli, words, status, kind, code):
    methods = {"create": "POST", "agents create": "PUT"}
    method = methods.get(" ".join(words[:2]), methods.get(words[1], "DELETE"))
    path = {"projects": "/v1/projects", "keys": "/v1/projects/x/keys", "agents": "/v1/agents/x",
            "conversations": "/v1/conversations/x", "sessions": "/v1/conversations/x/session"}[words[0]]
    path += {"revoke": "/y", "env": "/env/Y"}.get(words[1], "")
    fake.changes[method, path] = [(status, error(kind, "what the service says"))]
    result = cli(*words)
    assert (result.code, result.stdout) == (code, b"")
    assert result.stderr.startswith(f"platformctl: the service says: what the service says ({kind}, HTTP {status})")


def test_a_new_key_alone_is_on_standard_output(fake, cli):
    answer = {"id": "key_1", "project": "p", "label": "job", "hint": "csk_a…", "key": "csk_abc"}
    fake.changes["POST", "/v1/projects/p/keys"] = [(201, answer)]
    result = cli("keys", "create", "p", "--label", "job")
    assert (result.code, result.stdout) == (0, b"csk_abc\n")
    assert result.stderr == "platformctl: made the key key_1 of the project p. It is shown this once: keep it\n"
    assert fake.changed[-1][2] == {"label": "job"}
    assert json.loads(cli("keys", "create", "p", "--json").stdout) == answer
    assert fake.changed[-1][2] == {}


def test_another_project(fake, cli):
    fake.pages["/v1/agents?limit=200"] = (200, {"agents": [], "next": None})
    assert cli("agents", "list").code == 0 and "X-Project" not in fake.headers
    for words in (["agents", "list", "--project", "reports"], ["--project", "reports", "agents", "list"]):
        assert cli(*words).code == 0 and fake.headers["X-Project"] == "reports"
    count = len(fake.requests)
    for name in ("", "a\r\nX-Evil: 1", "a b"):
        result = cli("agents", "list", "--project", name)
        assert result.code == 64 and "cannot be the name of a project" in result.stderr
    assert len(fake.requests) == count


# ---- settings of agents


def stored(name, value, warnings=(), stateful=True, timeout_s=20.0):
    return (200, {"name": name, "value": value, "effective": {"stateful": stateful, "timeout_s": timeout_s},
                  "warnings": list(warnings)})


def test_set_a_setting(fake, cli):
    path = "/v1/agents/my-agent/env/CODE_INTERPRETER_SESSION"
    fake.changes["PUT", path] = [stored("CODE_INTERPRETER_SESSION", "true")]
    result = cli("agents", "env", "set", "my-agent", "CODE_INTERPRETER_SESSION=true")
    assert (result.code, result.stdout) == (0, b"")
    assert result.stderr == (
        "platformctl: set CODE_INTERPRETER_SESSION of my-agent\n"
        "platformctl: my-agent: all runs of a conversation share one interpreter, and a run may take 20 s\n")
    assert fake.changed == [("PUT", path, {"value": "true"})]


def test_an_agent_that_is_not_there_is_made(fake, cli):
    path = "/v1/agents/my-agent/env/A"
    missing = (404, error("not_found", "no such agent"))
    fake.changes.update({("PUT", path): [missing, stored("A", "1")], ("PUT", "/v1/agents/my-agent"): [(201, {})],
                         ("PUT", "/v1/agents/my-agent/env/B"): [stored("B", "")]})
    result = cli("agents", "env", "set", "--json", "my-agent", "A=1", "B=")
    assert result.code == 0 and "made the agent my-agent, which was not there yet" in result.stderr
    assert fake.changed == [("PUT", path, {"value": "1"}), ("PUT", "/v1/agents/my-agent", {}),
                            ("PUT", path, {"value": "1"}), ("PUT", "/v1/agents/my-agent/env/B", {"value": ""})]
    whole = json.loads(result.stdout)
    assert (whole["agent"], whole["created"]) == ("my-agent", True)
    assert [item["name"] for item in whole["settings"]] == ["A", "B"]


def test_an_agent_that_cannot_be_made(fake, cli):
    fake.changes["PUT", "/v1/agents/a/env/A"] = [(404, error("not_found", "no such agent"))]
    fake.changes["PUT", "/v1/agents/a"] = [(409, error("conflict", "there are too many agents"))]
    result = cli("agents", "env", "set", "a", "A=1")
    assert result.code == 65 and "there are too many agents" in result.stderr and len(fake.changed) == 2


def test_an_agent_that_goes_away_again_does_not_keep_us_busy(fake, cli):
    fake.changes["PUT", "/v1/agents/a/env/A"] = [(404, error("not_found", "no such agent"))]
    fake.changes["PUT", "/v1/agents/a"] = [(201, {})]
    result = cli("agents", "env", "set", "a", "A=1")
    assert result.code == 65 and "no such agent" in result.stderr and len(fake.changed) == 3


def test_values_are_sent_as_they_are_and_not_shown(fake, cli):
    value = "p=q  é\n--x \"'$"
    fake.changes["PUT", "/v1/agents/a/env/TOKEN"] = [stored("TOKEN", value, stateful=False, timeout_s=1.5)]
    result = cli("agents", "env", "set", "a", f"TOKEN={value}")
    assert fake.changed[0][2] == {"value": value}
    assert "p=q" not in result.stderr and "each run has a fresh interpreter, and a run may take 1.5 s" in result.stderr


def test_warnings_of_the_service_are_shown(fake, cli):
    warning = "T is stored as 90, but the platform allows at most 60 s a run"
    fake.changes["PUT", "/v1/agents/a/env/T"] = [stored("T", "90", [warning])]
    assert f"platformctl: warning: {warning}\n" in cli("agents", "env", "set", "a", "T=90").stderr
    fake.pages["/v1/agents/a/env"] = (200, {"env": {"T": "90", "B": "x\ny"}, "warnings": [warning],
                                            "effective": {"stateful": False, "timeout_s": 60.0}})
    result = cli("agents", "env", "list", "a")
    assert result.stdout.decode() == "setting  value\nT        90\nB        x\ufffdy\n"
    assert f"platformctl: warning: {warning}\n" in result.stderr and "may take 60 s" in result.stderr
    assert json.loads(cli("agents", "env", "list", "a", "--json").stdout)["env"] == {"T": "90", "B": "x\ny"}


def test_the_first_refusal_ends_it_and_what_was_done_is_known(fake, cli):
    fake.changes["PUT", "/v1/agents/a/env/A"] = [stored("A", "1")]
    fake.changes["PUT", "/v1/agents/a/env/B"] = [(400, error("invalid_request", "B must be something else"))]
    result = cli("agents", "env", "set", "a", "A=1", "B=2", "C=3")
    assert result.code == 65 and [path[-1] for _, path, _ in fake.changed] == ["A", "B"]
    assert "set A of a" in result.stderr and "B must be something else" in result.stderr


@pytest.mark.parametrize("pair", ["NAME", "=x", "", b"A=\xff"])
def test_a_slip_is_found_before_anything_is_sent(fake, cli, pair):
    result = cli("agents", "env", "set", "a", "GOOD=1", pair)
    assert result.code == 64 and fake.requests == []


def test_unset(fake, cli):
    for name in "AB":
        fake.changes["DELETE", f"/v1/agents/a/env/{name}"] = [(204, None)]
    result = cli("agents", "env", "unset", "a", "A", "B", "--json")
    assert (result.code, json.loads(result.stdout)) == (0, {"agent": "a", "unset": ["A", "B"]})
    assert result.stderr == "platformctl: removed A of a\nplatformctl: removed B of a\n"
    assert cli("agents", "env", "unset", "a", "A", "C").code == 65


# ---- files


def test_a_file_to_standard_output(fake, cli):
    content = bytes(range(256)) * 1000
    fake.pages[f"/v1/files/{FILE_ID}"] = (200, content, "application/octet-stream")
    for words in ([], ["-o", "-"]):
        result = cli("files", "get", FILE_ID, *words)
        assert (result.code, result.stdout, result.stderr) == (0, content, "")


def test_a_file_on_a_terminal(fake, cli):
    fake.pages["/v1/files/text"] = (200, "é\x1b]0;x\x07\n".encode(), "text/plain; charset=utf-8")
    fake.pages["/v1/files/png"] = (200, b"\x89PNG\r\n", "image/png")
    fake.pages["/v1/files/events"] = (200, b"data: 1\n\n", "text/event-stream")
    assert cli.on_terminal("files", "get", "text").stdout == "é^[]0;x^G\n".encode()
    result = cli.on_terminal("files", "get", "png")
    assert result.code == 64 and b"save it with --out FILE" in result.stdout and b"PNG" not in result.stdout
    assert cli("files", "get", "events").stdout == b"data: 1\n\n"


def test_a_file_is_saved(fake, cli, tmp_path):
    fake.pages["/v1/files/x"] = (200, b"new", "text/csv")
    assert cli("files", "get", "x", "-o", "total.csv", cwd=tmp_path).stderr == "platformctl: saved total.csv (3 B)\n"
    assert (tmp_path / "total.csv").read_bytes() == b"new"
    assert not stat.S_IMODE((tmp_path / "total.csv").stat().st_mode) & 0o111
    (tmp_path / "old").write_bytes(b"old")
    result = cli("files", "get", "x", "--out", tmp_path / "old")
    assert result.code == 73 and "it exists already; --force overwrites" in result.stderr
    assert (tmp_path / "old").read_bytes() == b"old"
    assert cli("files", "get", "x", "--out", tmp_path / "old", "--force").code == 0
    assert (tmp_path / "old").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["old", "total.csv"]


def test_where_a_file_is_not_saved(fake, cli, tmp_path):
    """Above all not in the place of a device, which root could replace."""
    fake.pages["/v1/files/x"] = (200, b"new", "text/csv")
    device = tmp_path / "device"
    os.mkfifo(device)
    for out, words in ((device, "no ordinary file"), (tmp_path, "no ordinary file"),
                       (tmp_path / "away/x", "cannot open its folder"), (f"{tmp_path}/new/", "the name of a folder")):
        result = cli("files", "get", "x", "--force", "-o", out)
        assert result.code == 73 and words in result.stderr, result
    assert os.listdir(tmp_path) == ["device"] and stat.S_ISFIFO(device.stat().st_mode)


def test_a_file_that_is_not_there(fake, cli, tmp_path):
    result = cli("files", "get", "nothing", "-o", tmp_path / "x")
    assert result.code == 65 and "there is no /v1/files/nothing" in result.stderr and os.listdir(tmp_path) == []


# ---- mistakes


@pytest.mark.parametrize("words, message", [
    (["agents"], "Usage: platformctl agents COMMAND"),
    (["agents", "env"], "Usage: platformctl agents env COMMAND"),
    (["agents", "nonsense"],
     '"nonsense" is not a command of platformctl agents (platformctl agents --help lists them)'),
    (["agents", "help", "nonsense"], 'no command "nonsense"'),
    (["agents", "show"], "something is missing: platformctl agents show [--json] NAME"),
    (["agents", "show", "a", "b"], '"b" is one too many: platformctl agents show [--json] NAME'),
    (["agents", "env", "set", "a"], "something is missing: platformctl agents env set [--json] AGENT NAME=VALUE..."),
    (["agents", "env", "unset", "a"], "something is missing"),
    (["keys", "revoke", "p"], "something is missing"),
    (["agents", "list", "extra"], 'list takes no argument; "extra" is one'),
    (["agents", "list", "--limit", "0"], '--limit takes a whole number greater than 0, not "0"'),
    (["agents", "list", "--limit", "-1"], "whole number"),
    (["agents", "list", "--limit", "1x"], "whole number"),
    (["agents", "list", "--limit", "99999999999999999999999"], "whole number"),
    (["agents", "--json", "list"], "--json is not an option"),
    (["files", "get", "x", "--json"], "--json is not an option"),
    (["projects", "create", b"\xff"], "not UTF-8"),
])
def test_mistakes_of_the_command_line(fake, cli, words, message):
    result = cli(*words)
    assert (result.code, result.stdout) == (64, b"") and message in result.stderr
    assert fake.requests == []
