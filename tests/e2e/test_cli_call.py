"""platformctl call, against our own server: what it shows of a call, beside the function's result."""
import json

REPLY = {"agent": "shop", "tool": "page", "outcome": "error", "exit_code": 1, "result": None, "stdout": "",
         "stderr": "", "error": {"type": "OSError", "message": "no route"}, "hint": None, "egress_complete": True}
CONNECTION = {"host": None, "address": "10.0.0.1", "port": 80, "decision": "refused", "rule": "reserved", "bytes": 0}


def answers(fake, **changes):
    fake.changes["POST", "/v1/call"] = [(200, {**REPLY, **changes})]


def test_connections_that_came_to_nothing_are_shown(fake, cli):
    answers(fake, egress=[CONNECTION, {**CONNECTION, "decision": "allowed", "address": "93.184.216.34"},
                          {**CONNECTION, "host": "a.test", "decision": "failed", "rule": "unreachable"},
                          {**CONNECTION, "host": "b.test\x1b[2J", "address": None, "rule": "name", "port": 53}])
    result = cli("call", "shop", "page")
    assert result.code == 1 and result.stdout == b""
    assert result.stderr.splitlines() == [
        "platformctl: OSError: no route", "platformctl: network: 10.0.0.1, port 80: refused (reserved)",
        "platformctl: network: a.test (10.0.0.1), port 80: failed (unreachable)", result.stderr.splitlines()[-1]]
    assert "b.test" in result.stderr and "\x1b" not in result.stderr and "port 53: refused (name)" in result.stderr


def test_as_json_they_are_in_the_reply_alone(fake, cli):
    answers(fake, egress=[CONNECTION])
    result = cli("call", "shop", "page", "--json")
    assert json.loads(result.stdout)["egress"] == [CONNECTION] and "network" not in result.stderr
