"""SIGHUP: what can change while the service runs does, what cannot is named, and what is wrong changes nothing."""
import json
import signal

import pytest

from support.host import wait_until

SETTINGS = {"warm_pool": 1, "execute_max_timeout_s": 30, "log_level": "info"}


@pytest.fixture(scope="module")
def running(make_service):
    service = make_service(start=False)
    service.settings_file = service.folder / "sandboxd.conf"
    for name in ("SANDBOX_WARM_POOL",):
        del service.settings[name]
    service.settings["SANDBOX_CONFIG_FILE"] = str(service.settings_file)
    write(service)
    service.spawn()
    service.wait_ready()
    yield service
    assert service.stop() == 0


def write(service, **changes):
    lines = [f"{name} = {value}\n" for name, value in {**SETTINGS, **changes}.items()]
    service.settings_file.write_text("# settings of a test\n" + "".join(lines))


def lines(service):
    return [json.loads(line) for line in service.log().splitlines() if line.startswith("{")]


def reload(service, message):
    """Sends the signal and waits for a line with that message; the lines since."""
    seen = len(lines(service))
    service.process.send_signal(signal.SIGHUP)
    assert wait_until(lambda: any(line["message"] == message for line in lines(service)[seen:]), 10), service.log_tail()
    return lines(service)[seen:]


IN_FORCE = "changed settings are in force"


def test_what_can_change_does(running):
    write(running, warm_pool=2, execute_max_timeout_s=7, session_idle_seconds=60, max_sessions=30, rate_limit=100000)
    told = reload(running, IN_FORCE)
    changes = {line["setting"]: (line["from"], line["to"])
               for line in told if line["message"] == "a setting was changed"}
    assert changes == {"SANDBOX_WARM_POOL": ("1", "2"), "SANDBOX_EXECUTE_MAX_TIMEOUT_S": ("30", "7"),
                       "SANDBOX_SESSION_IDLE_SECONDS": ("900", "60"), "SANDBOX_MAX_SESSIONS": ("20", "30"),
                       "SANDBOX_RATE_LIMIT": ("0", "100000")}
    limits = running.get("/v1/environment").json["limits"]
    assert limits["timeout_max_s"] == 7 and limits["timeout_s"] == 7
    refused = running.post(body={"code": "1", "timeout_s": 8})
    assert refused.status == 400 and "at most 7" in refused.error["message"]
    status = running.get("/v1/status").json
    assert status["pool"]["target"] == 2 and status["sessions"]["max"] == 30
    assert wait_until(lambda: running.get("/v1/status").json["pool"]["parked"] == 2, 20)
    assert running.execute("print(1)").stdout == "1\n"
    line = next(line for line in running.get("/v1/audit").json["audit"] if line["action"] == "config.reload")
    assert line["details"]["SANDBOX_WARM_POOL"] == 2 and "key" not in line


def test_a_rate_that_was_changed_counts(running):
    write(running, rate_limit=1)
    reload(running, IN_FORCE)
    try:
        statuses = [running.get("/v1/environment").status for _ in range(3)]
        assert statuses[0] == 200 and statuses[-1] == 429
    finally:
        write(running)
        reload(running, IN_FORCE)
    assert running.get("/v1/environment").status == 200


def test_a_log_level_that_was_changed_counts(running):
    write(running, log_level="debug")
    reload(running, IN_FORCE)
    running.get("/healthz", key=None)
    assert wait_until(lambda: any(line["level"] == "debug" for line in lines(running)), 5)
    what_people_send_and_get_is_in_no_line(running)
    write(running)
    reload(running, IN_FORCE)


def what_people_send_and_get_is_in_no_line(running):
    """At any level: code, output, files, settings, keys."""
    reply = running.execute("print('private-' + input(), 'private-code'); open('f', 'w').write('private-output')",
                            stdin="stdin", files=[{"name": "in", "content": "private-file"}], conversation_id="talk")
    assert reply.stdout == "private-stdin private-code\n"
    (kept,) = running.get("/v1/conversations/talk/files").json["files"]
    assert running.get(kept["url"]).body == b"private-output"
    assert running.execute("raise ValueError('private-' + 'exception')").outcome == "error"
    running.request("PUT", "/v1/agents/a", {})
    running.request("PUT", "/v1/agents/a/env/SECRET", {"value": "private-value"})
    assert running.get("/v1/agents", key="sbx_private-key").status == 401
    assert wait_until(lambda: reply.run_id in running.log(), 5) and "private-" not in running.log()
    assert running.key not in running.log()


def test_what_waits_for_a_restart_is_named(running):
    write(running, listen="127.0.0.1:1", uid_base=100000, user="nobody", body_max_bytes=1 << 20)
    told = reload(running, IN_FORCE)
    waiting = {line["setting"] for line in told if line["message"] == "a changed setting waits for a restart"}
    assert waiting == {"SANDBOX_USER", "SANDBOX_BODY_MAX_BYTES"}  # the environment gives the other two
    assert running.get("/v1/environment").status == 200


def test_what_is_wrong_changes_nothing(running):
    write(running, warm_pool=999, execute_max_timeout_s=9)
    told = reload(running, "the settings are not good; nothing was changed")
    assert "warm_pool" in told[-1]["why"] and "0 to 64" in told[-1]["why"]
    running.settings_file.unlink()
    reload(running, "the settings are not good; nothing was changed")
    assert running.get("/v1/environment").json["limits"]["timeout_max_s"] == 30
    write(running)
    reload(running, IN_FORCE)
