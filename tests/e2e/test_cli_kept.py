"""platformctl with the real service: projects, keys, agents, conversations, their files and sessions."""
import itertools
import json
import re

import pytest

from support.cli import Cli

SESSION = "CODE_INTERPRETER_SESSION=true"
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def admin(service):
    return Cli(service.url, service.key)


@pytest.fixture
def project(admin):
    name = f"cli-{next(numbers)}"
    assert admin("projects", "create", name).code == 0
    return name


@pytest.fixture
def cli(service, admin, project):
    """With a key of a project of its own, which was made as a person would."""
    result = admin("keys", "create", project, "--label", "tests")
    assert result.code == 0 and result.stdout.count(b"\n") == 1
    return Cli(service.url, result.stdout.decode().strip())


def as_json(cli, *words):
    result = cli(*words, "--json")
    assert result.code == 0, result
    return json.loads(result.stdout)


def run(cli, conversation, code, *words):
    return cli("run", "--agent", "my-agent", "--conversation", conversation, "-c", code, *words)


def test_projects_and_keys(service, admin, project, tmp_path):
    assert project in [entry["name"] for entry in as_json(admin, "projects", "list")["projects"]]
    assert f"\n{project} " in admin("projects", "list").stdout.decode()
    again = admin("projects", "create", project)
    assert again.code == 65 and f'There is a project "{project}" already.' in again.stderr
    made = as_json(admin, "keys", "create", project, "--label", "nightly job")
    theirs = Cli(service.url, made["key"])
    assert theirs("agents", "list").code == 0 and theirs("projects", "list").code == 77
    listed = admin("keys", "list", project).stdout.decode()
    assert f"{made['id']}  {made['hint']}" in listed and "nightly job" in listed and made["key"] not in listed
    stays = Cli(XDG_CONFIG_HOME=str(tmp_path))
    assert "a project's key" in stays("login", "--url", service.url, given=made["key"].encode()).stderr
    assert stays("agents", "list").code == 0
    assert admin("keys", "revoke", project, made["id"]).stderr == \
        f"platformctl: revoked the key {made['id']} of the project {project}\n"
    for result in (theirs("agents", "list"), stays("agents", "list")):
        assert result.code == 77 and "unknown, or was revoked" in result.stderr
    assert admin("keys", "revoke", project, made["id"]).code == 65
    assert admin("keys", "list", "no-such-project").code == 65


def test_lists_of_many_pages(service, admin, project):
    for i in range(5):
        assert admin("agents", "create", f"agent-{i}", "--project", project).code == 0
    names = [entry["name"] for entry in as_json(admin, "agents", "list", "--project", project)["agents"]]
    assert names == [f"agent-{i}" for i in range(5)]
    some = admin("agents", "list", "--project", project, "--limit", "2")
    assert len(some.stdout.splitlines()) == 3 and "there are more than these 2 agents" in some.stderr
    assert admin("agents", "list", "--project", "no-such-project").code == 65


def test_agents(cli):
    assert cli("agents", "create", "shop").stderr == "platformctl: made the agent shop\n"
    assert "was there already" in cli("agents", "create", "shop").stderr
    assert cli("agents", "list").stdout.startswith(b"name  made (UTC)")
    assert re.search(r"^  stateful +no$", cli("agents", "show", "shop").stdout.decode(), re.M)
    assert cli("agents", "env", "set", "shop", SESSION, "CODE_INTERPRETER_TIMEOUT_S=7").code == 0
    shown = as_json(cli, "agents", "show", "shop")
    assert (shown["stateful"], shown["timeout_s"]) == (True, 7)
    refused = cli("agents", "env", "set", "shop", "CODE_INTERPRETER_TIMEOUT_S=121")
    assert refused.code == 65 and "CODE_INTERPRETER_TIMEOUT_S" in refused.stderr
    warned = cli("agents", "env", "set", "shop", "CODE_INTERPRETER_TIMEOUT_S=90")
    assert warned.code == 0 and "platformctl: warning: CODE_INTERPRETER_TIMEOUT_S is stored as 90" in warned.stderr
    assert "a run may take 60 s" in warned.stderr
    assert as_json(cli, "agents", "env", "list", "shop")["env"] == {
        "CODE_INTERPRETER_SESSION": "true", "CODE_INTERPRETER_TIMEOUT_S": "90"}
    assert cli("agents", "env", "unset", "shop", "CODE_INTERPRETER_SESSION", "CODE_INTERPRETER_TIMEOUT_S").code == 0
    assert "the agent shop has no settings" in cli("agents", "env", "list", "shop").stderr
    assert cli("agents", "delete", "shop").code == 0
    for words in (["delete", "shop"], ["show", "shop"], ["env", "list", "shop"], ["env", "unset", "shop", "A"]):
        result = cli("agents", *words)
        assert result.code == 65 and "not_found, HTTP 404" in result.stderr, words
    refused = cli("agents", "env", "set", "no agent", "A=1")
    assert refused.code == 65 and "The name of an agent must be" in refused.stderr


def test_the_command_of_the_documentation_makes_a_notebook(cli):
    """Exactly as it is written everywhere, for an agent that is not there yet."""
    result = cli("agents", "env", "set", "my-agent", "CODE_INTERPRETER_SESSION=true")
    assert result.code == 0 and "made the agent my-agent, which was not there yet" in result.stderr
    assert "all runs of a conversation share one interpreter" in result.stderr
    assert run(cli, "talk", "x = 41").code == 0
    result = run(cli, "talk", "x + 1")
    assert (result.code, result.stdout, result.stderr) == (0, b"42\n", "")
    sessions = as_json(cli, "sessions", "list")["sessions"]
    assert [(entry["conversation_id"], entry["agent"], entry["calls"]) for entry in sessions] == [
        ("talk", "my-agent", 2)]
    assert b"\ntalk          my-agent  " in cli("sessions", "list").stdout
    assert "ended the session of talk" in cli("sessions", "end", "talk").stderr
    assert "talk has no live session" in cli("sessions", "end", "talk").stderr
    assert cli("sessions", "list").stderr == "platformctl: there are no live sessions\n"
    result = run(cli, "talk", "x")
    assert result.code == 1 and "platformctl: session: " in result.stderr, "nobody was told that x is lost"
    assert cli("sessions", "end", "no-such").code == 65
    assert cli("conversations", "delete", "talk").code == 0


def test_files_of_a_conversation(cli, tmp_path):
    code = "import matplotlib.pyplot as plt\nopen('a.csv', 'w').write('1,2\\n')\nplt.plot([1]); plt.savefig('a.png')"
    result = cli("run", "--conversation", "c:1", "-c", code)
    listed = {entry["name"]: entry for entry in as_json(cli, "files", "list", "c:1")["files"]}
    assert result.code == 0 and set(listed) == {"a.csv", "a.png"}
    csv, png = listed["a.csv"]["file_id"], listed["a.png"]["file_id"]
    assert f"file a.csv (4 B) is kept: platformctl files get {csv}\n" in result.stderr and "--out" not in result.stderr
    assert cli("files", "get", csv).stdout == b"1,2\n"
    assert cli("files", "get", png, "-o", "chart.png", cwd=tmp_path).code == 0
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    result = cli("run", "--conversation", "c:1", "-c", "open('a.csv', 'w').write('3,4\\n')", "--out", "out",
                 cwd=tmp_path)
    assert (tmp_path / "out/a.csv").read_text() == "3,4\n", result  # it comes back as well
    assert len(as_json(cli, "files", "list", "c:1")["files"]) == 2
    assert len(as_json(cli, "files", "list", "c:1", "--all")["files"]) == 3
    shown = as_json(cli, "conversations", "show", "c:1")
    assert [entry["outcome"] for entry in shown["runs"]] == ["ok", "ok"] and shown["file_count"] == 3
    assert cli("conversations", "show", "c:1").stdout.count(b"  ok  ") == 2
    assert [entry["conversation_id"] for entry in as_json(cli, "conversations", "list")["conversations"]] == ["c:1"]
    assert as_json(cli, "conversations", "list", "--agent", "other")["conversations"] == []
    assert "deleted the conversation c:1 with its runs and files" in cli("conversations", "delete", "c:1").stderr
    for words in (["files", "get", csv], ["files", "list", "c:1"], ["conversations", "show", "c:1"],
                  ["conversations", "delete", "c:1"]):
        assert cli(*words).code == 65, words


def test_what_is_not_there_is_answered_with_where_to_look(admin, cli, project):
    for asked, words, where in (
            (admin, ["keys", "list", "no-such"], "projects list"), (admin, ["keys", "create", "no-such"], "projects list"),
            (admin, ["agents", "list", "--project", "no-such"], "projects list"),
            (admin, ["keys", "revoke", project, "key_none"], "keys list"), (cli, ["agents", "show", "no-such"], "agents create"),
            (cli, ["run", "-c", "1", "--agent", "no-such"], "agents create"), (cli, ["files", "get", "file_none"], "files list"),
            (cli, ["call", "no-such", "tool"], "agents deploy"), (cli, ["sessions", "end", "no-such"], "conversations list"),
            (cli, ["files", "list", "no-such"], "conversations list"),
            (cli, ["conversations", "show", "no-such"], "conversations list")):
        result = asked(*words)
        assert (result.code, result.stdout) == (65, b"") and f"platformctl {where}" in result.stderr, result


def test_a_conversation_of_an_odd_name(cli):
    for name in ("..", ".", "a.b:c_d-e"):
        assert cli("run", "--conversation", name, "-c", "open('f', 'w').write('x')").code == 0
        assert cli("conversations", "show", name).code == 0
        assert len(as_json(cli, "files", "list", name)["files"]) == 1
        assert cli("sessions", "end", name).code == 0
        assert cli("conversations", "delete", name).code == 0
    assert cli("conversations", "list").stderr == "platformctl: there are no conversations\n"
