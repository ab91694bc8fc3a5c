"""platformctl shows how far a transfer has come: to a person at a terminal, when it takes long, and to nobody else."""
import json
import re

import pytest

from support.fake_api import MB

CLEARED = b"\r\x1b[K"
CONTENT = bytes(range(256)) * (20 * MB // 256)


@pytest.fixture
def slow(fake):
    """A service that takes more than a second for twenty megabytes, which grow by a third on their way there."""
    fake.will_reply("output\n")
    fake.seconds_per_mb = 0.05
    fake.pages["/v1/files/big"] = lambda handler: handler.answer_slowly(CONTENT, 1.4)
    return fake


@pytest.fixture
def big(tmp_path):
    path = tmp_path / "big.csv"
    path.write_bytes(CONTENT)
    return path


def shares(seen, step):
    """The percentages that were shown, and that each came in a line that says of what."""
    lines = [line for line in seen.split(CLEARED) if line]
    shown = [re.fullmatch(step.encode() + rb": [\d.]+ [kM]B of ([\d.]+) MB \((\d+) %\)", line) for line in lines]
    return [int(match[2]) for match in shown if match]


def rises(numbers):
    return len(numbers) > 1 and numbers == sorted(numbers) and numbers[0] < numbers[-1] <= 100


def test_files_on_their_way_to_a_run(slow, cli, big):
    seen = cli.on_terminal("run", "--file", big, "-c", "x")
    assert seen.code == 0 and rises(shares(seen.stdout, "sending the files")), seen.stdout
    assert seen.stdout.endswith(CLEARED + b"output\n"), "the line is gone before anything else appears"
    assert cli.on_terminal("run", "--raw", "--file", big, "-c", "x").stdout.endswith(CLEARED + b"output\n")


def test_a_file_on_its_way_here(slow, cli, tmp_path):
    seen = cli.on_terminal("files", "get", "big", "-o", tmp_path / "big")
    assert seen.code == 0 and rises(shares(seen.stdout, "fetching the file")), seen.stdout
    after = seen.stdout.rpartition(CLEARED)[2]
    assert b"saved" in after and b"fetching" not in after and (tmp_path / "big").read_bytes() == CONTENT


def test_output_that_goes_elsewhere_holds_none_of_it(slow, cli, big, tmp_path):
    for words, expected in ((["files", "get", "big"], CONTENT), (["run", "--file", big, "-c", "x"], b"output\n")):
        with open(tmp_path / "out", "wb") as out:
            seen = cli.on_terminal(*words, stdout=out)
        assert seen.code == 0 and b" MB (" in seen.stdout and seen.stdout.endswith(CLEARED)
        assert (tmp_path / "out").read_bytes() == expected


def test_who_is_not_at_a_terminal_sees_none(slow, cli, big, tmp_path):
    assert cli("run", "--file", big, "-c", "x").stderr == ""
    result = cli("files", "get", "big", "-o", tmp_path / "saved")
    assert result.stderr == f"platformctl: saved {tmp_path}/saved (20.0 MB)\n"


def test_a_terminal_that_cannot_rewrite_a_line_shows_none(slow, cli, big):
    assert cli.on_terminal("run", "--file", big, "-c", "x", TERM="dumb").stdout == b"output\n"


def test_who_wants_json_sees_none(slow, cli, big):
    seen = cli.on_terminal("run", "--json", "--file", big, "-c", "x")
    assert seen.code == 0 and json.loads(seen.stdout)["stdout"] == "output\n"


def test_what_is_quick_or_small_needs_none(fake, cli, tmp_path):
    fake.will_reply("output\n")
    fake.pages["/v1/files/small"] = (200, b"1,2\n", "text/csv")
    (tmp_path / "small").write_bytes(b"1,2\n")
    (tmp_path / "quick").write_bytes(bytes(2 * MB))
    assert cli.on_terminal("run", "--file", tmp_path / "quick", "-c", "x").stdout == b"output\n"
    assert cli.on_terminal("files", "get", "small").stdout == b"1,2\n"
    fake.seconds_per_mb = 1
    assert cli.on_terminal("run", "--file", tmp_path / "small", "-c", "x").stdout == b"output\n", "sent at once"


def test_a_transfer_that_breaks_off_leaves_a_clean_line(slow, cli):
    slow.pages["/v1/files/broken"] = lambda handler: breaks_off(handler)
    seen = cli.on_terminal("files", "get", "broken")
    assert seen.code == 69 and b"fetching the file: " in seen.stdout
    assert b"ended in the middle" in seen.stdout.rpartition(CLEARED)[2]


def breaks_off(handler):
    handler.answer_slowly(CONTENT[: 10 * MB], 1, len(CONTENT))
    handler.close_connection = True


def test_the_audit_log_on_its_way_here(slow, cli):
    line = json.dumps({"seq": 1, "prev": "0" * 64}) + "\n"
    slow.pages["/v1/audit/segments"] = (200, {"segments": [{"first": 1}], "head": {"seq": 1, "hash": "0" * 64}})
    slow.pages["/v1/audit/segments/1"] = lambda handler: handler.answer_slowly(line.encode() * 1000, 1.4)
    seen = cli.on_terminal("audit", "verify", NO_COLOR="1")
    assert seen.code == 1 and b"\x1b[Kfetching the audit log: " in seen.stdout
    assert b"is no line of an audit log" in seen.stdout.rpartition(CLEARED)[2]
    seen = cli.on_terminal("audit", "verify", "--json", NO_COLOR="1").stdout
    assert json.loads(seen.partition(b"platformctl")[0])["whole"] is False


def test_a_deployment_for_a_program_is_silent(fake, cli, tmp_path):
    done = {"name": "a", "python": "3.12.7", "tools": []}
    steps = [("progress", {"step": "fetch", "message": "reading the archive"}), ("done", done)]
    fake.changes["PUT", "/v1/agents/a/image?kind=docker-archive"] = [lambda handler: handler.stream(*steps)]
    (tmp_path / "image.tar").write_bytes(bytes(1000))
    words = ["agents", "deploy", "a", "--json", "--image", f"docker-archive:{tmp_path}/image.tar"]
    assert cli(*words).stderr == "" and json.loads(cli.on_terminal(*words).stdout) == done
