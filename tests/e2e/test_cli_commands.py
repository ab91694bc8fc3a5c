"""platformctl: help, version, status, environment; and the documentation that is made from the same tables."""
import json
import re
import shlex
from pathlib import Path

import pytest

from support.cli import Cli
from support.fake_api import FakeApi, error

COMMANDS = ("run", "call", "mcp", "agents", "conversations", "files", "sessions", "projects", "keys", "audit", "login",
            "logout", "status", "environment", "doctor", "backup", "restore", "completion", "version")
GROUPS = {"agents": ("create", "list", "show", "delete", "deploy", "env"), "agents env": ("set", "list", "unset"),
          "conversations": ("list", "show", "delete"), "files": ("list", "get"), "sessions": ("list", "end"),
          "projects": ("create", "list"), "keys": ("create", "list", "revoke"), "audit": ("list", "verify")}
EVERY = [*COMMANDS, *(f"{group} {name}" for group, names in GROUPS.items() for name in names)]
REPOSITORY = Path(__file__).resolve().parents[2]

STATUS = {
    "version": "0.1.0", "uptime_s": 12.5, "ready": True,
    "pool": {"warm": 3, "target": 3, "starting": 0},
    "sandboxes": [{"sandbox_id": "sbx_a", "state": "parked", "memory_bytes": 14680064},
                  {"sandbox_id": "sbx_b", "state": "running", "memory_bytes": 104857600}],
    "sessions": [], "nothing": None,
}
ENVIRONMENT = {"python": "3.12.7", "packages": {"numpy": "2.1.3", "pandas": "2.2.3"},
               "limits": {"memory_bytes": 536870912, "timeout_max_s": 60, "cpu_percent": 100}}


@pytest.fixture
def fake():
    server = FakeApi()
    server.pages.update({"/v1/status": (200, STATUS), "/v1/environment": (200, ENVIRONMENT)})
    yield server
    server.close()


def test_status_for_people(cli, fake):
    result = cli("status")
    assert (result.code, result.stderr) == (0, "")
    text = result.stdout.decode()
    assert text.startswith(fake.url + "\n")
    assert re.search(r"^  uptime   12\.5 s$", text, re.M) and re.search(r"^  ready    yes$", text, re.M)
    assert re.search(r"^pool\n  warm      3$", text, re.M)
    assert "sandbox id  state    memory bytes\nsbx_a       parked   14.7 MB\nsbx_b       running  104.9 MB\n" in text
    assert "sessions: none" in text and re.search(r"^  nothing  -$", text, re.M)


def test_status_of_sessions_and_times(cli, fake):
    session = {"project": "default", "conversation_id": "c1", "created_ms": 1796065562778, "idle_s": 0.5}
    fake.pages["/v1/status"] = (200, {
        "sessions": {"live": 1, "list": [session]},
        "activity": {"minutes": [1] * 60, "latency": {
            "queue_ms": {"p50": 0.065, "p95": None}, "wall_ms": {"p50": 11.13, "p95": 20}}}})
    text = cli("status").stdout.decode()
    assert "\nlive sessions\nproject  conversation id  idle\ndefault  c1               0.5 s\n" in text
    assert "\ntime taken\nof     p50       p95\nqueue  0.065 ms  -\nwall   11.13 ms  20 ms\n" in text, text
    fake.pages["/v1/status"] = (200, {"sessions": {"live": 0, "list": []}})
    assert "none" not in cli("status").stdout.decode()


def test_numbers_in_json_are_as_short_as_they_can_be(cli, fake):
    said = {"a": 0.1, "b": 0.065, "c": 0.1 + 0.2, "d": 1.0, "e": -2.5e-9, "f": 1e22, "g": 123456789012345678,
            "1.10": "0.10 \\\" 1.50"}
    fake.pages["/v1/status"] = (200, said)
    text = cli("status", "--json").stdout.decode()
    assert json.loads(text) == said
    assert '"a": 0.1,' in text and '"b": 0.065,' in text and '"c": 0.30000000000000004,' in text and '"d": 1.0,' in text


def test_status_as_json(cli):
    assert json.loads(cli("status", "--json").stdout) == STATUS


def test_status_needs_an_admin_key(cli, fake):
    fake.pages["/v1/status"] = (403, error("forbidden", "this needs an admin key"))
    result = cli("status")
    assert result.code == 77 and "An admin key is needed" in result.stderr


def test_environment(cli):
    text = cli("environment").stdout.decode()
    assert re.search(r"^  python  3\.12\.7$", text, re.M) and re.search(r"^packages\n  numpy   2\.1\.3$", text, re.M)
    assert re.search(r"^  memory bytes  536\.9 MB$", text, re.M)
    assert re.search(r"^  timeout max   60 s$", text, re.M) and re.search(r"^  cpu           100 %$", text, re.M)
    assert json.loads(cli("environment", "--json").stdout) == ENVIRONMENT


def test_what_the_service_says_cannot_control_the_terminal(cli, fake):
    hostile = "x\x1b]0;owned\x07\n\u202e\u009b"
    fake.pages["/v1/status"] = (200, {hostile: hostile, "list": [{hostile: hostile}, hostile, 7],
                                      "deep": {hostile: {}}})
    for result in (cli("status"), cli.on_terminal("status", NO_COLOR="1")):
        assert result.code == 0
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stdout.decode()), result.stdout
    shown = cli.on_terminal("status", "--json").stdout.decode()
    assert "\x1b" not in shown and "\u009b" not in shown


def test_version():
    for word in ("version", "--version"):
        result = Cli()(word)
        assert result.code == 0 and re.fullmatch(rb"platformctl \d+\.\d+\.\d+ \(.*\)\n", result.stdout)


@pytest.mark.parametrize("command", EVERY)
def test_help_of_each_command(command):
    words = command.split()
    lines = [[*words, "--help"], [*words, "-h"], ["help", *words]]
    lines += [[words[0], "help", *words[1:]]] if words[0] in GROUPS else []
    texts = [Cli()(*line).stdout.decode() for line in lines]
    assert len(set(texts)) == 1
    assert texts[0].startswith(f"Usage: platformctl {command}")
    assert "Options of every command:" in texts[0]
    assert f"platformctl {command}" in texts[0].partition("\nExamples:\n")[2]
    assert all(len(line) <= 80 for line in texts[0].splitlines()), "does not fit a terminal of 80 columns"


def listed(text):
    """The commands that a help text lists."""
    return tuple(re.findall(r"^  (\S+)", text.partition("\nCommands:\n")[2].partition("\n\n")[0], re.M))


def test_every_level_lists_its_commands():
    assert listed(Cli()("--help").stdout.decode()) == (*COMMANDS, "help")
    for command in EVERY:
        names = listed(Cli()("help", *command.split()).stdout.decode())
        assert names == ((*GROUPS[command], "help") if command in GROUPS else ())


def examples():
    """The words of every platformctl in the examples of the help texts."""
    texts = [Cli()("help", *command.split()).stdout.decode() for command in EVERY]
    lines = {line for text in texts for line in text.partition("\nExamples:\n")[2].splitlines()}
    return [shlex.split(piece) for line in sorted(lines) for piece in re.findall(r"platformctl ([^|;<>]*)", line)]


def test_examples_name_what_there_is(fake):
    """They are commands with options and words that these take: each gets as far as asking the service, which here does
    not know the key, or as opening a file that is not there."""
    local = ("doctor", "version", "help", "logout", "login", "completion", "backup", "restore")
    tried = [words for words in examples() if words[0] not in local]
    assert len(tried) > 20
    for words in tried:
        words = words[:words.index("--url")] if "--url" in words else words
        result = Cli(fake.url, "sbx_unknown")(*words, given=b"")
        assert result.code in (66, 77), f"{words}: {result}"


def test_overview():
    for words in (["--help"], ["help"], ["-h"]):
        result = Cli()(*words)
        assert result.code == 0 and result.stderr == ""
        for command in COMMANDS:
            assert re.search(rf"^  {command} ", result.stdout.decode(), re.M)
        assert all(len(line) <= 80 for line in result.stdout.decode().splitlines())
    result = Cli()()
    assert result.code == 64 and result.stdout == b"" and "Usage: platformctl" in result.stderr


@pytest.mark.parametrize("words, message", [
    (["nonsense"], '"nonsense" is not a command'),
    (["help", "nonsense"], 'no command "nonsense"'),
    (["--nonsense"], "--nonsense is not an option"),
    (["status", "extra"], "status takes no argument"),
    (["environment", "extra"], "environment takes no argument"),
    (["version", "extra"], "version takes no argument"),
    (["completion"], "something is missing"),
    (["completion", "tcsh"], 'no completion for "tcsh": bash, zsh and fish have one'),
    (["doctor", "extra"], "doctor takes no argument"),
    (["status", "--out", "x"], "--out is not an option"),
    (["--url"], "--url needs a value"),
])
def test_mistakes(words, message):
    result = Cli()(*words)
    assert (result.code, result.stdout) == (64, b"")
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_commands_and_options_are_documented():
    """docs/platformctl.md names every command and every option that the help texts have."""
    document = (REPOSITORY / "docs/platformctl.md").read_text()
    for command in EVERY:
        if command not in GROUPS:
            assert re.search(rf"`{command}\b|^##+ .*\b{command}\b", document, re.M), command
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", Cli()("help", *command.split()).stdout.decode()):
            assert option in document, f"{option} of {command}"
