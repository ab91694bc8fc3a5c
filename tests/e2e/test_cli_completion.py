"""platformctl completion: what bash, zsh and fish offer when Tab is pressed."""
import os
import pty
import re
import select
import subprocess
import time

import pytest

from docs import pages
from support.cli import PLATFORMCTL, Cli

from e2e.test_cli_commands import EVERY, listed

AGENTS = ["create", "list", "show", "delete", "deploy", "env", "help"]
CASES = [
    (["agen"], ["agents"]), (["agents", ""], AGENTS), (["agents", "e"], ["env"]),
    (["agents", "env", ""], ["set", "list", "unset", "help"]), (["help", "agents", "env", "s"], ["set"]),
    (["agents", "list", "--l"], ["--limit"]), (["agents", "--p"], ["--project"]), (["run", "--js"], ["--json"]),
    (["--url", "x", "sess"], ["sessions"]), (["--url=x", "sess"], ["sessions"]),
    (["files", "get", "-o", "x", "--fo"], ["--force"]),
    # Names, values and files: nothing of ours.
    (["agents", "show", ""], []), (["run", "--out", ""], []), (["run", "-o", ""], []), (["nonsense", ""], []),
    (["__"], []), (["agents", "xyz"], []),
]


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "home").mkdir()
    return {"PATH": f"{PLATFORMCTL.parent}:{os.environ['PATH']}", "HOME": str(tmp_path / "home"), "LANG": "C.UTF-8",
            "TERM": "dumb"}


@pytest.mark.parametrize("words, offered", CASES)
def test_what_is_offered(words, offered):
    result = Cli()("__complete", "--", *words)
    assert (result.code, result.stderr) == (0, "")
    lines = [line.split("\t") for line in result.stdout.decode().splitlines()]
    assert [name for name, _ in lines] == offered and all(text for _, text in lines)


def offered_after(*words):
    return {line.split("\t")[0] for line in Cli()("__complete", "--", *words).stdout.decode().splitlines()}


@pytest.mark.parametrize("command", ["", *EVERY])
def test_all_commands_and_options_are_offered(command):
    """As the help has them, on each level."""
    words = command.split()
    text = Cli()("help", *words).stdout.decode()
    options = set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", text, re.M))
    assert {"--url", "--key", "--project", "--help"} <= options and offered_after(*words, "--") >= options
    assert offered_after(*words, "") >= set(listed(text))


@pytest.mark.parametrize("words, offered", CASES)
def test_bash(environment, words, offered):
    script = ('. <(platformctl completion bash); COMP_WORDS=(platformctl "$@"); COMP_CWORD=$#; _platformctl; '
              'printf "%s\\n" "${COMPREPLY[@]}"; complete -p platformctl')
    done = subprocess.run(["bash", "-c", script, "bash", *words], env=environment, capture_output=True, text=True,
                          timeout=20)
    *found, rule = done.stdout.splitlines()
    assert ([name for name in found if name], done.stderr) == (offered, "")
    assert rule == "complete -o default -F _platformctl platformctl"  # default: files, where nothing is offered


@pytest.mark.parametrize("words, offered", [case for case in CASES if case[1]])
def test_fish(environment, words, offered):
    line = " ".join(["platformctl", *words])
    script = f"platformctl completion fish | source; complete -C '{line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], env=environment, capture_output=True, text=True,
                          timeout=20)
    found = [entry.split("\t")[0] for entry in done.stdout.splitlines()]
    assert (sorted(found), done.stderr) == (sorted(offered), "")


def test_fish_offers_files_where_one_belongs(environment, tmp_path):
    (tmp_path / "data.csv").write_text("")
    script = "platformctl completion fish | source; complete -C 'platformctl run --file da'"
    done = subprocess.run(["fish", "--no-config", "-c", script], env=environment, cwd=tmp_path, capture_output=True,
                          text=True, timeout=20)
    assert done.stdout.split() == ["data.csv"]


def test_the_documented_ways_to_have_it(environment):
    """The lines of docs/platformctl.md, each in its shell, which then knows what to offer."""
    bash, zsh, fish = pages.shown("docs/platformctl.md", ". <(platformctl").text.splitlines()
    (pages.Path(environment["HOME"]) / ".config/fish/completions").mkdir(parents=True)
    for shell, script, known in (
            (["bash"], f"{bash}\ncomplete -p platformctl", "_platformctl"),
            (["zsh", "-f"], f"autoload -Uz compinit; compinit -u -D\n{zsh}\necho $_comps[platformctl]", "_platformctl"),
            (["fish", "--no-config"],
             f"{fish}\nsource ~/.config/fish/completions/*; complete -C 'platformctl agen'", "agents")):
        done = subprocess.run([*shell, "-c", script], env=environment, capture_output=True, text=True, timeout=20)
        assert known in done.stdout and done.stderr == "", done


class Zsh:
    """An interactive zsh at a terminal."""

    def __init__(self, environment, folder):
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(["zsh", "-f", "-i"], env=environment, cwd=folder, stdin=theirs, stdout=theirs,
                                        stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.seen = b""

    def type(self, text):
        os.write(self.ours, text)

    def until(self, text, seconds=20):
        deadline = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < deadline:
            if select.select([self.ours], [], [], 0.2)[0]:
                self.seen += os.read(self.ours, 4096)
        assert text in self.seen, self.seen
        self.seen = b""

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)


@pytest.fixture
def zsh(environment, tmp_path):
    (tmp_path / "data.csv").write_text("")
    shell = Zsh(environment, tmp_path)
    # The words that tell of the end are put together by the shell: what is typed appears as well.
    shell.type(b"autoload -Uz compinit; compinit -u -D; . <(platformctl completion zsh); PS1=; echo re''ady\n")
    shell.until(b"ready\r\n")
    yield shell
    shell.close()


@pytest.mark.parametrize("typed, line", [
    (b"agen\t", b"<agents>"), (b"agents env uns\t", b"<agents><env><unset>"),
    (b"agents list --lim\t", b"<agents><list><--limit>"), (b"run --file da\t", b"<run><--file><data.csv>"),
])
def test_zsh(zsh, typed, line):
    """The completed line goes to a function of that name, which shows its words."""
    zsh.type(b"shown() { printf '<%s>' \"$@\"; echo; }; echo he''re\n")
    zsh.until(b"here\r\n")
    zsh.type(b"compdef _platformctl shown; echo th''ere\n")
    zsh.until(b"there\r\n")
    zsh.type(b"shown " + typed)
    time.sleep(1)
    zsh.type(b"\n")
    zsh.until(line + b"\r\n")
