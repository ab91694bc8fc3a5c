"""platformctl run: what is asked of the service, what is shown, and how it ends. Against a server of our own."""
import base64
import json
import re
import signal
import subprocess
import threading
import time

import pytest

from support.cli import PLATFORMCTL
from support.fake_api import error, reply

PNG = b"\x89PNG\r\n\x1a\n not really \x00\xff"


# ---- output


def test_streams_are_kept_apart(fake, cli):
    fake.will_reply("out é\n", "err\n")
    result = cli("run", "-c", "print()")
    assert (result.code, result.stdout, result.stderr) == (0, "out é\n".encode(), "err\n")
    assert fake.body == {"code": "print()", "stream": True}
    assert fake.headers["User-Agent"].startswith("platformctl/")


def test_output_appears_while_the_snippet_runs(fake, cli):
    seen = threading.Event()
    fake.will_stream(("stdout", {"text": "first\n"}), lambda: seen.wait(20), ("done", reply("first\n")))
    process = cli.start("run", "-c", "x")
    line = process.stdout.readline()  # the run goes on only after this line has arrived
    seen.set()
    assert line == b"first\n"
    assert process.communicate(timeout=20) == (b"", b"")
    assert process.returncode == 0


def test_an_answer_that_is_no_stream_is_shown_as_well(fake, cli):
    fake.will_answer(200, reply("out\n", "err\n", "error", 3))
    result = cli("run", "-c", "x")
    assert (result.code, result.stdout) == (3, b"out\n")
    assert result.stderr.startswith("err\n")


def test_output_to_a_pipe_is_unchanged(fake, cli):
    hostile = "\x1b]0;title\x07\x00\x9b31m\u202e\r\b" + "é" * 3
    fake.will_reply(hostile)
    assert cli("run", "-c", "x").stdout == hostile.encode()


def test_a_lot_of_output(fake, cli):
    text = "0123456789abcdef\n" * 2000
    fake.will_stream(*[("stdout", {"text": text})] * 200, ("done", reply(text)))
    assert cli("run", "-c", "x").stdout == text.encode() * 200


def test_the_value_of_a_last_expression(fake, cli):
    fake.will_reply("printed\n", results=[{"text/plain": "42"}, {"text/plain": "two\n", "text/html": "<b>two</b>"}])
    assert cli("run", "-c", "x").stdout == b"printed\n42\ntwo\n"


def test_a_result_without_a_text_form_is_named(fake, cli):
    fake.will_reply(results=[{"text/html": "<b>x</b>"}])
    result = cli("run", "-c", "x")
    assert result.stdout == b""
    assert "result 1 has no text form" in result.stderr


def test_json(fake, cli):
    whole = reply("out\n", "err\n", "error", 3, results=[{"text/plain": "\u009b\x1b42"}], hint="try this")
    fake.will_reply("out\n", "err\n", **{name: whole[name] for name in ("outcome", "exit_code", "results", "hint")})
    result = cli("run", "--json", "-c", "x")
    assert result.code == 3
    assert json.loads(result.stdout) == whole
    assert "stream" not in fake.body


# ---- exit codes


@pytest.mark.parametrize("fields, code, words", [
    ({}, 0, ""),
    ({"outcome": "error", "exit_code": 3}, 3, "ended with exit code 3"),
    ({"outcome": "error", "exit_code": 69}, 69, "the snippet ended with exit code 69"),
    ({"outcome": "error", "exit_code": 139}, 139, "died of signal 11 (Segmentation fault)"),
    ({"outcome": "timeout", "exit_code": -1}, 124, "time is up"),
    ({"outcome": "out_of_memory", "exit_code": 137}, 137, "out of memory"),
    ({"outcome": "output_limit", "exit_code": 137}, 137, "too much output"),
    ({"outcome": "killed", "exit_code": 137}, 137, "stopped by the service"),
    ({"outcome": "internal", "exit_code": 1}, 70, "the service failed"),
    ({"outcome": "something new", "exit_code": 0}, 76, "does not know"),
])
def test_exit_codes(fake, cli, fields, code, words):
    fake.will_reply("before\n", **fields)
    result = cli("run", "-c", "x")
    assert (result.code, result.stdout) == (code, b"before\n")
    assert words in result.stderr
    assert bool(words) == result.stderr.startswith("platformctl: ")


def test_what_there_is_to_say_goes_to_standard_error(fake, cli):
    fake.will_reply("x", hint="use less", session={"message": "variables were lost"},
                    files_skipped=[{"name": "big.bin", "size": 5200000, "reason": "too_large"}],
                    files_skipped_unnamed=7, files_complete=False,
                    files=[{"name": "a.csv", "size": 3, "content_base64": "YWJj"}],
                    results=[{"image/png": base64.b64encode(PNG).decode(), "text/plain": "<Figure>"}])
    result = cli("run", "-c", "x")
    assert (result.code, result.stdout) == (0, b"x")
    for words in ("hint: use less", "session: variables were lost",
                  "big.bin (5.2 MB) was left out: it is larger than one file may be", "file a.csv (3 B) came back",
                  "7 more files were left out", "collecting the files broke off", "1 figure came back",
                  "use --out DIR"):
        assert words in result.stderr
    assert "<Figure>" not in result.stderr


def test_output_that_the_service_has_cut(fake, cli):
    """What comes live is whole; only the copy in the reply is cut."""
    fake.will_stream(("stdout", {"text": "all of it\n"}), ("done", reply("all\n", stdout_truncated=True)))
    result = cli("run", "-c", "x")
    assert (result.stdout, result.stderr) == (b"all of it\n", "")
    fake.will_answer(200, reply("all\n", stdout_truncated=True, stderr_truncated=True))
    for words in (["run", "-c", "x"], ["run", "--json", "-c", "x"]):
        assert [line.split(":")[1] for line in cli(*words).stderr.splitlines()] == [
            " standard output was longer than the service keeps", " standard error was longer than the service keeps"]


@pytest.mark.parametrize("status, kind, code, words", [
    (400, "invalid_request", 65, "timeout_s is too large (invalid_request, HTTP 400)"),
    (413, "too_large", 65, "HTTP 413"),
    (401, "unauthorized", 77, "--key or SANDBOX_KEY"),
    (403, "forbidden", 77, "admin key"),
    (429, "rate_limited", 75, "HTTP 429"),
    (503, "overloaded", 75, "HTTP 503"),
    (500, "internal", 70, "HTTP 500"),
])
def test_refusals_of_the_service(fake, cli, status, kind, code, words):
    fake.will_answer(status, error(kind, "timeout_s is too large", "timeout_s"))
    result = cli("run", "-c", "x")
    assert (result.code, result.stdout) == (code, b"")
    assert "the service says: timeout_s is too large" in result.stderr and words in result.stderr
    with_json = cli("run", "--json", "-c", "x")
    assert with_json.code == code and json.loads(with_json.stdout)["error"]["type"] == kind


def test_an_error_within_the_stream(fake, cli):
    fake.will_stream(("stdout", {"text": "begun\n"}), ("error", error("internal", "the spawner is gone")))
    result = cli("run", "-c", "x")
    assert (result.code, result.stdout) == (70, b"begun\n")
    assert "the spawner is gone" in result.stderr


# ---- the request


def test_every_option_reaches_the_service(fake, cli, tmp_path):
    fake.will_reply()
    (tmp_path / "in.csv").write_bytes(bytes(range(256)))
    (tmp_path / "a=b.txt").write_bytes(b"equals")
    (tmp_path / "input").write_text("line é\n")
    result = cli("run", "-c", "x", "--agent", "me", "--conversation", "c:1", "--timeout", "2.5", "-f", "in.csv",
                 "--file", "data/new.csv=in.csv", "--file=a=b.txt", "--stdin", "input", "--out", "out", cwd=tmp_path)
    assert result.code == 0, result
    body = fake.body
    assert {**body, "files": None} == {
        "code": "x", "agent": "me", "conversation_id": "c:1", "timeout_s": 2.5, "stdin": "line é\n", "files": None,
        "inline_files": True, "stream": True}
    assert [(file["name"], base64.b64decode(file["content_base64"])) for file in body["files"]] == [
        ("in.csv", bytes(range(256))), ("data/new.csv", bytes(range(256))), ("a=b.txt", b"equals")]


def test_code_from_a_file_from_a_pipe_and_from_a_dash(fake, cli, tmp_path):
    fake.will_reply()
    (tmp_path / "code.py").write_bytes(b"\xef\xbb\xbfprint('\xc3\xa9')\r\n")
    assert cli("run", str(tmp_path / "code.py")).code == 0
    assert fake.body["code"] == "print('é')\r\n"  # without the byte order mark
    for words in (["run"], ["run", "-"]):
        assert cli(*words, given=b"piped()\n").code == 0
        assert fake.body["code"] == "piped()\n"
    assert cli("run", "-c", "x", "--stdin", "-", given=b"input").code == 0
    assert fake.body["stdin"] == "input"
    assert cli("run", "--", str(tmp_path / "code.py")).code == 0


def test_nul_reaches_the_service_which_refuses_it(fake, cli):
    fake.will_answer(400, error("invalid_request", "code holds a NUL", "code"))
    assert cli("run", given=b"a\0b").code == 65
    assert fake.body["code"] == "a\0b"


@pytest.mark.parametrize("words, code, message", [
    (["run", "one.py", "two.py"], 64, '"two.py" is one too many'),
    (["run", "one.py", "-c", "x"], 64, "not both"),
    (["run", "--timeout", "soon", "-c", "x"], 64, '--timeout takes a number of seconds greater than 0, not "soon"'),
    (["run", "--timeout", "0", "-c", "x"], 64, "greater than 0"),
    (["run", "--timeout", "inf", "-c", "x"], 64, "greater than 0"),
    (["run", "-c"], 64, "-c needs a value"),
    (["run", "--code"], 64, "--code needs a value"),
    (["run", "--json=yes", "-c", "x"], 64, "takes no value"),
    (["run", "--nonsense", "-c", "x"], 64, "--nonsense is not an option"),
    (["run", "-z"], 64, "-z is not an option"),
    (["run", "-", "--stdin", "-"], 64, "cannot be both"),
    (["run", "/nowhere.py"], 66, "cannot open /nowhere.py: No such file"),
    (["run", "/"], 66, "cannot read /: Is a directory"),
    (["run", "-c", "x", "--file", "/nowhere.csv"], 66, "cannot open /nowhere.csv"),
    (["run", "-c", "x", "--file", "a=/nowhere.csv"], 66, "cannot open /nowhere.csv"),
    (["run", "-c", "x", "--stdin", "/nowhere"], 66, "cannot open /nowhere"),
    (["run", "-c", b"\xff"], 64, "not UTF-8"),
    (["run", "-c", "x", "--agent", b"\xff"], 64, "not UTF-8"),
    (["run", "-c", "x", "--url", "ftp://127.0.0.1/"], 64, "begins with http://"),
    (["run", "-c", "x", "--url", "http://"], 64, "is not an address"),
    (["run", "-c", "x", "--url", "http://h/?q"], 64, "no query"),
    (["run", "-c", "x", "--key", "two words"], 64, "the key has a character"),
])
def test_mistakes_of_the_command_line(fake, cli, words, code, message):
    result = cli(*words)
    assert (result.code, result.stdout) == (code, b"")
    assert result.stderr.startswith("platformctl: ") and message in result.stderr
    assert fake.requests == []


def test_code_that_is_not_utf8(fake, cli, tmp_path):
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nprint('caf\xe9')\n")
    result = cli("run", "latin.py", cwd=tmp_path)
    assert result.code == 65
    assert "latin.py is not UTF-8: byte 0xe9 in line 2" in result.stderr and "iconv" in result.stderr
    assert fake.requests == []


def test_on_a_terminal_the_code_is_not_awaited(fake, cli):
    result = cli.on_terminal("run")
    assert result.code == 64 and b"no code given" in result.stdout


# ---- readers, signals


def test_a_reader_that_has_had_enough_ends_the_run(fake, cli):
    """As `platformctl run ... | head -1`."""
    def flood(handler, _):
        handler.stream(*[("stdout", {"text": "line\n" * 1000})] * 100000)

    fake.on_execute = flood
    process = cli.start("run", "-c", "x")
    assert process.stdout.readline() == b"line\n"
    process.stdout.close()
    assert process.wait(20) == 141
    assert process.stderr.read() == b""
    assert fake.gone.wait(10), "the connection was not closed"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_cancels_the_run(fake, cli, number):
    fake.will_hang(("stdout", {"text": "begun\n"}))
    process = cli.start("run", "-c", "x")
    assert process.stdout.readline() == b"begun\n"
    began = time.monotonic()
    process.send_signal(number)
    assert process.wait(10) == 128 + number
    assert time.monotonic() - began < 1
    assert fake.gone.wait(5), "the connection was not closed"
    assert process.stderr.read() == b"platformctl: interrupted; the run was cancelled\n"


def test_interrupting_works_while_nobody_reads_the_output(fake, cli):
    fake.will_stream(*[("stdout", {"text": "line\n" * 1000})] * 1000)
    process = cli.start("run", "-c", "x")
    time.sleep(1)  # the pipe is full by now, and nothing takes from it
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    process.stdout.close()


def test_an_ignored_signal_stays_ignored(fake, cli):
    """Programs that a script starts in the background ignore Ctrl-C."""
    going_on = threading.Event()
    fake.will_stream(("stdout", {"text": "begun\n"}), lambda: going_on.wait(20), ("done", reply("begun\n")))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = cli.start("run", "-c", "x")
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    going_on.set()
    assert process.wait(10) == 0


def test_a_full_disk_is_reported(fake, cli):
    fake.will_reply("text")
    with open("/dev/full", "wb") as full:
        process = cli.start("run", "-c", "x", stdout=full)
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == 74
    assert b"cannot write the output: No space left on device" in stderr


# ---- terminals


def test_control_characters_are_made_visible_on_a_terminal(fake, cli):
    fake.will_reply("a\x1b]0;owned\x07b\x1b[2Jc\x9bd\x7fe\x08f\ttab\n\x1b[31mred\x1b[0m é\x1b")
    shown = cli.on_terminal("run", "-c", "x").stdout.decode()
    assert shown.startswith("a^[]0;owned^Gb^[[2Jc\ufffdd^?e^Hf\ttab\n\x1b[31mred\x1b[0m é^[")


def test_colours_of_a_snippet_do_not_outlast_it(fake, cli):
    fake.will_reply("\x1b[41mred for ever")
    assert cli.on_terminal("run", "-c", "x").stdout.endswith(b"\x1b[41mred for ever\x1b[0m")


def test_a_sequence_that_comes_in_pieces(fake, cli):
    pieces = ["\x1b", "[3", "2m", "green", "\x1b]", "0;x\x07", "\x1b[9", "\n"]
    fake.will_stream(*[("stdout", {"text": piece}) for piece in pieces], ("done", reply("".join(pieces))))
    assert cli.on_terminal("run", "-c", "x").stdout == b"\x1b[32mgreen^[]0;x^G^[[9\n\x1b[0m"


def test_raw_lets_everything_through(fake, cli):
    fake.will_reply("a\x1b]0;title\x07")
    assert cli.on_terminal("run", "--raw", "-c", "x").stdout == b"a\x1b]0;title\x07"


def test_results_and_json_are_filtered_too(fake, cli):
    fake.will_reply(results=[{"text/plain": "\x1b]0;x\x07\u009b"}])
    assert b"\x1b]" not in cli.on_terminal("run", "-c", "x").stdout
    shown = cli.on_terminal("run", "--json", "-c", "x").stdout.decode()
    assert "\x1b" not in shown and "\u009b" not in shown


def test_words_of_the_service_and_names_of_files_never_carry_sequences(fake, cli):
    """Not even into a file or pipe: they are shown later, in a log or by a pager."""
    name = "a\x1b[31m\nplatformctl: saved\u202etxt.exe"
    fake.will_reply(outcome="error", exit_code=1, hint="do \x1b]0;x\x07 this\nthen that",
                    files=[{"name": name, "size": 1, "content_base64": "YQ=="}])
    for result in (cli("run", "-c", "x"), cli("run", "--raw", "-c", "x")):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.stderr), result.stderr
        assert len(result.stderr.splitlines()) == 4  # the file, --out, the exit code, the hint: one line each
    fake.will_answer(400, error("invalid_request", "no \x1b]0;x\x07\n such"))
    assert cli("run", "-c", "x").stderr.count("\n") == 1


def test_our_own_colours(fake, cli):
    fake.will_reply(outcome="timeout", exit_code=-1)
    assert b"\x1b[" in cli.on_terminal("run", "-c", "x").stdout
    assert b"\x1b[" not in cli.on_terminal("run", "-c", "x", NO_COLOR="1").stdout
    assert "\x1b[" not in cli("run", "-c", "x").stderr


def test_closed_standard_streams(fake, cli):
    """The socket must not take the place of a stream that is closed, and be written the output."""
    fake.will_reply("text")
    shell = 'exec "$0" run -c x >&- <&-'
    process = subprocess.run(["sh", "-c", shell, str(PLATFORMCTL)], env=cli.environment, stderr=subprocess.PIPE,
                             timeout=20)
    assert process.returncode == 74
    assert b"cannot write the output: Bad file descriptor" in process.stderr
    process = subprocess.run(["sh", "-c", shell + " 2>&-", str(PLATFORMCTL)], env=cli.environment, timeout=20)
    assert process.returncode == 74
    assert fake.body == {"code": "x", "stream": True}
