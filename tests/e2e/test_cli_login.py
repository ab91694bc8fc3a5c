"""platformctl login and logout: what is kept, where, and to whom it is sent. Against our own server."""
import json
import os
import pty
import select
import signal
import stat
import termios
import time

import pytest

from support.cli import Cli
from support.fake_api import KEY, FakeApi, error

TRY = "/v1/projects?limit=1"


@pytest.fixture
def fake():
    server = FakeApi()
    server.pages.update({TRY: (200, {"projects": [], "next": None}), "/v1/status": (200, {"ready": True})})
    yield server
    server.close()


@pytest.fixture
def other():
    server = FakeApi()
    server.pages["/v1/status"] = (200, {"ready": True})
    yield server
    server.close()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "config"


@pytest.fixture
def cli(home):
    return Cli(XDG_CONFIG_HOME=str(home))


def kept(home):
    return home / "code-sandbox/login.json"


def last_key(server):
    return server.headers.get("Authorization")


def test_login_status_logout(fake, cli, home):
    result = cli("login", "--url", fake.url + "/", "--key", KEY)
    assert (result.code, result.stdout) == (0, b"")
    assert result.stderr == f"platformctl: logged in at {fake.url} with an admin key; it is kept in {kept(home)}\n"
    assert json.loads(kept(home).read_text()) == {"url": fake.url, "key": KEY}
    assert stat.S_IMODE(kept(home).stat().st_mode) == 0o600 and stat.S_IMODE(kept(home).parent.stat().st_mode) == 0o700
    assert os.listdir(kept(home).parent) == ["login.json"]
    assert cli("status").code == 0 and last_key(fake) == f"Bearer {KEY}"
    result = cli("logout")
    assert result.code == 0 and f"removed {kept(home)}" in result.stderr and not kept(home).exists()
    assert cli("logout").stderr == "platformctl: nobody was logged in\n"
    assert cli("status", SANDBOX_LISTEN=f"127.0.0.1:{fake.port}").code == 77


def test_the_key_from_standard_input(fake, cli, home):
    result = cli("login", "--url", fake.url, given=f"  {KEY} \r\nsecond line\n".encode())
    assert result.code == 0 and json.loads(kept(home).read_text())["key"] == KEY
    assert KEY not in result.stderr


def test_address_and_key_from_the_environment(fake, cli, home):
    result = cli("login", SANDBOX_URL=fake.url, SANDBOX_KEY=KEY, given=b"sbx_another\n")
    assert result.code == 0 and json.loads(kept(home).read_text()) == {"url": fake.url, "key": KEY}
    assert "the key is that of SANDBOX_KEY" in result.stderr, "nobody is told that the pipe was not read"
    assert "go before it as long as they are set" in result.stderr


def test_a_second_login_keeps_the_address(fake, cli, home):
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    fake.check_key = False
    assert cli("login", given=b"sbx_new\n").code == 0
    assert json.loads(kept(home).read_text()) == {"url": fake.url, "key": "sbx_new"}
    assert stat.S_IMODE(kept(home).stat().st_mode) == 0o600


def test_the_key_of_a_project(fake, cli):
    fake.pages[TRY] = (403, error("forbidden", "an admin key is needed"))
    result = cli("login", "--url", fake.url, "--key", KEY)
    assert result.code == 0 and "with a project's key" in result.stderr


def test_without_xdg_config_home(fake, tmp_path):
    for value in ("", "not/absolute"):
        cli = Cli(HOME=str(tmp_path), XDG_CONFIG_HOME=value)
        assert cli("login", "--url", fake.url, "--key", KEY).code == 0
        assert kept(tmp_path / ".config").exists() and cli("logout", cwd=tmp_path).code == 0


def test_nowhere_to_keep_it(fake, tmp_path):
    (tmp_path / "file").write_text("")
    for place in ({"HOME": "", "XDG_CONFIG_HOME": ""}, {"XDG_CONFIG_HOME": str(tmp_path / "file")}):
        result = Cli()("login", "--url", fake.url, "--key", KEY, **place)
        assert (result.code, result.stdout) == (73, b"") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("key, answer, code", [
    ("sbx_wrong", None, 77), ("two words", None, 64), ("", None, 66), (KEY, (500, error("internal", "broken")), 70),
    (KEY, (200, {"something": "else"}), 76), (KEY, (403, {"message": "a proxy says no"}), 76),
    (KEY, (200, b"<html>", "text/html"), 76), (KEY, (429, error("rate_limited", "later")), 75),
])
def test_what_does_not_work_is_not_kept(fake, cli, home, key, answer, code):
    if answer:
        fake.pages[TRY] = answer
    result = cli("login", "--url", fake.url, given=key.encode() + b"\n")
    assert result.code == code and result.stderr.startswith("platformctl: ") and not home.exists()


def test_a_failed_login_leaves_the_one_before(fake, cli, home):
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    assert cli("login", "--url", fake.url, "--key", "sbx_wrong").code == 77
    assert json.loads(kept(home).read_text())["key"] == KEY


# ---- who is told what


def test_options_and_variables_go_before_what_is_kept(fake, other, cli):
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    other.check_key = fake.check_key = False
    for words, variables in ((["--url", other.url], {}), ([], {"SANDBOX_URL": other.url}),
                             ([], {"SANDBOX_LISTEN": f"127.0.0.1:{other.port}"})):
        assert cli("status", *words, **variables).code == 0
        assert last_key(other) is None, "the key was sent to an address that it was not given for"
        assert cli("status", *words, **variables, SANDBOX_KEY="sbx_theirs").code == 0
        assert last_key(other) == "Bearer sbx_theirs"
    assert len(fake.requests) == 1
    assert cli("status", SANDBOX_KEY="sbx_mine").code == 0 and last_key(fake) == "Bearer sbx_mine"
    assert cli("status", "--key", "sbx_option", SANDBOX_KEY="sbx_mine").code == 0
    assert last_key(fake) == "Bearer sbx_option"
    assert cli("status", SANDBOX_ADMIN_KEY="sbx_admin").code == 0 and last_key(fake) == "Bearer sbx_admin"
    assert cli("status", "--url", fake.url + "/").code == 0 and last_key(fake) == f"Bearer {KEY}"


def test_the_login_goes_before_the_key_in_a_data_folder(fake, cli, tmp_path):
    (tmp_path / "admin-key").write_text("sbx_admin\n")
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    assert cli("status", SANDBOX_DATA_DIR=str(tmp_path)).code == 0 and last_key(fake) == f"Bearer {KEY}"


def test_a_key_that_others_can_read_is_not_used(fake, cli, home):
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    count = len(fake.requests)
    for mode in (0o640, 0o604, 0o620, 0o602):
        kept(home).chmod(mode)
        result = cli("status")
        assert (result.code, result.stdout) == (66, b"") and "chmod 600" in result.stderr
    assert len(fake.requests) == count
    assert cli("status", "--url", fake.url, "--key", KEY).code == 0  # it is not even looked at
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    assert cli("status").code == 0


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"url": "http://127.0.0.1:1"}', '{"url": 1, "key": 2}'])
def test_a_file_that_makes_no_sense(fake, cli, home, text):
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    kept(home).write_text(text)
    result = cli("status")
    assert result.code == 66 and "`platformctl login` writes it anew" in result.stderr
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0 and cli("status").code == 0


# ---- a person at a terminal


class Typing:
    """login at a terminal, and what appears on it."""

    def __init__(self, cli, *words):
        self.ours, self.theirs = pty.openpty()
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), self.theirs)
        self.process = cli.start("login", *words, **streams, TERM="xterm")
        self.seen = b""

    def until(self, text):
        deadline = time.monotonic() + 20
        while text not in self.seen and time.monotonic() < deadline:
            if select.select([self.ours], [], [], 0.2)[0]:
                self.seen += os.read(self.ours, 4096)
        assert text in self.seen, self.seen

    def type(self, text):
        os.write(self.ours, text)

    def echoes(self):
        return bool(termios.tcgetattr(self.theirs)[3] & termios.ECHO)

    def end(self):
        return self.process.wait(20)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def typing_login():
    made = []

    def make(*arguments):
        made.append(Typing(*arguments))
        return made[-1]

    yield make
    for typing in made:
        typing.close()


def test_a_person_is_asked_and_the_key_does_not_appear(fake, cli, home, typing_login):
    typing = typing_login(cli)
    typing.until(b"Address of the service [http://127.0.0.1:8080]: ")
    typing.type(fake.url.encode() + b"\n")
    typing.until(b"Key (it does not appear): ")
    time.sleep(0.2)  # until the terminal is silent
    typing.type(KEY.encode() + b"\n")
    typing.until(b"logged in at")
    assert typing.end() == 0 and KEY.encode() not in typing.seen
    assert json.loads(kept(home).read_text()) == {"url": fake.url, "key": KEY}


def test_an_empty_answer_takes_the_address_that_is_proposed(fake, cli, home, typing_login):
    assert cli("login", "--url", fake.url, "--key", KEY).code == 0
    typing = typing_login(cli)
    typing.until(f"Address of the service [{fake.url}]: ".encode())
    typing.type(b"\n")
    typing.until(b"Key (it does not appear): ")
    time.sleep(0.2)
    typing.type(KEY.encode() + b"\n")
    typing.until(b"logged in at")
    assert typing.end() == 0


def test_nobody_is_asked_for_what_was_given(fake, cli, typing_login):
    typing = typing_login(cli, "--url", fake.url, "--key", KEY)
    typing.until(b"logged in at")
    assert typing.end() == 0 and b"Address" not in typing.seen and b"Key (" not in typing.seen


def test_ctrl_c_leaves_a_terminal_that_shows_what_is_typed(fake, cli, home, typing_login):
    typing = typing_login(cli, "--url", fake.url)
    typing.until(b"Key (it does not appear): ")
    time.sleep(0.2)
    assert not typing.echoes()
    os.kill(typing.process.pid, signal.SIGINT)
    assert typing.process.wait(20) == 130 and not home.exists()
    assert typing.echoes()
