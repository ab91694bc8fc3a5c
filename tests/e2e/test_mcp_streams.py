"""The MCP server's streams: progress, cancelling, coming back, and what a session may cost."""
import threading
import time

import pytest

from support.harness import HttpSide
from support.mcp_raw import ModernMcp, RawMcp, wait_for

LOUD = """
import time
for i in range(4):
    print("line", i, flush=True)
    time.sleep(0.4)
"""
SLEEP = "import time\nprint('begun', flush=True)\ntime.sleep({})"


def call_message(client, code, token="t-1", **arguments):
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return client.message("tools/call", {"name": "run_python", "arguments": {"code": code, **arguments}, **meta})


def running(service):
    return service.get("/v1/status").json["runs"]["running"]


def test_output_is_told_while_it_comes(mcp):
    message = call_message(mcp, LOUD, token=7)
    with mcp.stream(message, {"Accept": "application/json, text/event-stream"}) as events:
        times, texts, numbers = [], "", []
        for name, event in events:
            if event is None:
                assert name == "1_0" and not times
            elif event.get("method") == "notifications/progress":
                assert event["params"]["progressToken"] == 7
                times.append(time.monotonic())
                texts += event["params"]["message"]
                numbers.append(event["params"]["progress"])
            else:
                assert event["id"] == message["id"] and event["result"]["isError"] is False
    assert texts == "".join(f"line {i}\n" for i in range(4))
    assert len(numbers) >= 3 and numbers == sorted(set(numbers)) and times[-1] - times[0] > 0.5
    assert [name for name, _ in events.seen] == [f"1_{i}" for i in range(len(events.seen))]


def test_a_quiet_run_is_told_of(mcp):
    with mcp.stream(call_message(mcp, "import time; time.sleep(5.6)")) as events:
        told = [event["params"]["message"] for event in events.messages() if "params" in event]
    assert told == ["running for 5 s"]


def test_an_older_revision_gets_no_empty_event(service):
    client = RawMcp(service)
    client.initialize("2025-06-18")
    with client.stream(call_message(client, "print(1)")) as events:
        assert all(message for _, message in events) and "result" in events.seen[-1][1]
    client.delete()


def test_what_lasts_becomes_a_stream(mcp):
    both = {"Accept": "application/json, text/event-stream"}
    with mcp.stream(call_message(mcp, "1", token=None), both) as answer:
        assert answer.headers["Content-Type"] == "application/json"
    with mcp.stream(call_message(mcp, "import time; time.sleep(2.5)", token=None), both) as events:
        assert events.headers["Content-Type"] == "text/event-stream"
        assert "result" in events.messages()[-1]
    with mcp.stream(call_message(mcp, "import time; time.sleep(2.5)"), {"Accept": "application/json"}) as answer:
        assert answer.headers["Content-Type"] == "application/json"


def test_a_run_is_cancelled(service, mcp):
    message = call_message(mcp, SLEEP.format(20))
    with mcp.stream(message) as events:
        iterator = iter(events)
        while not (event := next(iterator)[1]) or "begun" not in event["params"]["message"]:
            pass
        began = time.monotonic()
        stranger = RawMcp(service)
        stranger.initialize()
        stranger.cancel(message["id"])  # an id of its own session only
        assert running(service) == 1
        assert mcp.cancel(message["id"]).status == 202
        assert list(iterator) == [] and time.monotonic() - began < 5
    wait_for(lambda: running(service) == 0, 5)
    assert mcp.call("1")["isError"] is False


def test_a_run_without_a_stream_is_cancelled(service, mcp):
    message, answers = call_message(mcp, SLEEP.format(20), token=None), []
    thread = threading.Thread(target=lambda: answers.append(mcp.post(message, {"Accept": "application/json"})))
    thread.start()
    wait_for(lambda: running(service) == 1)
    mcp.cancel(message["id"])
    thread.join(5)
    assert answers[0].status == 204
    wait_for(lambda: running(service) == 0, 5)


def test_a_client_comes_back(service, mcp):
    message = call_message(mcp, LOUD)
    with mcp.stream(message) as events:
        for name, event in events:
            if event and "line 0" in event["params"]["message"]:
                break
    seen = name
    time.sleep(0.5)  # what comes now is kept
    with mcp.resume(seen) as events:
        assert events.status == 200 and events.headers["Content-Type"] == "text/event-stream"
        rest = list(events)
    numbers = [int(name.split("_")[1]) for name, _ in rest]
    assert numbers == [int(seen.split("_")[1]) + 1 + i for i in range(len(rest))]
    told = "".join(event["params"]["message"] for _, event in rest if "params" in event)
    assert told == "line 1\nline 2\nline 3\n" and rest[-1][1]["id"] == message["id"]
    with mcp.resume(rest[-2][0]) as events:  # it has ended, and is kept
        assert list(events) == rest[-1:]
    with mcp.resume("1_0") as events:
        assert [event["id"] for event in events.messages() if "id" in event] == [message["id"]]
    other = RawMcp(service)
    other.initialize()
    assert other.resume("1_0").status == 400
    other.delete()


def test_who_asks_for_the_head_alone_takes_no_stream(service, mcp):
    code = "import time\nfor i in range(3):\n print(i, flush=True)\n time.sleep(0.5)"
    stream = mcp.stream(mcp.message("tools/call", {"name": "run_python", "arguments": {"code": code},
                                                   "_meta": {"progressToken": 1}}))
    events = iter(stream)
    first, _ = next(events)
    answer = service.request("HEAD", mcp.path, headers=mcp.headers({"Last-Event-ID": first}))
    assert answer.status == 405 and answer.headers["Allow"] == "POST, DELETE"
    assert [message for _, message in events][-1]["result"]["structuredContent"]["stdout"] == "0\n1\n2\n"


def test_a_lost_connection_ends_no_run_of_a_session(service, mcp):
    with mcp.stream(call_message(mcp, SLEEP.format(2) + "\nprint('survived')")) as events:
        next(iter(events))
    with mcp.resume("1_0") as events:
        first = next(iter(events))
        with mcp.resume(first[0]) as newer:  # takes the older connection's place
            assert events.messages() == []
            assert "survived" in str(newer.messages()[-1])


def test_the_end_of_a_session_ends_its_runs(service):
    client = RawMcp(service)
    client.initialize()
    with client.stream(call_message(client, SLEEP.format(20))) as events:
        next(iter(events))
        wait_for(lambda: running(service) == 1)
        assert client.delete().status == 204
        assert events.messages() == []
    wait_for(lambda: running(service) == 0, 5)


def test_without_sessions_leaving_is_cancelling(service):
    client = ModernMcp(service)
    for meta in ({}, {"_meta": {"progressToken": "t"}}):
        params = {"name": "run_python", "arguments": {"code": SLEEP.format(20)}, **meta}
        with client.stream(*client.envelope("tools/call", params)) as events:
            if meta:
                name, event = next(iter(events))
                assert name is None and event["method"] == "notifications/progress"
            wait_for(lambda: running(service) == 1)
        wait_for(lambda: running(service) == 0, 5)


def test_an_id_is_used_once_at_a_time(service, mcp):
    message = call_message(mcp, SLEEP.format(20))
    with mcp.stream(message) as events:
        next(iter(events))
        again = mcp.post(message)
        assert again.status == 400 and "under way" in again.error["message"]
        ping = mcp.post({**mcp.message("ping"), "id": str(message["id"])})  # another id: a text
        assert ping.status == 200
        mcp.cancel(message["id"])


def test_requests_under_way_are_bounded(service, mcp):
    held = [mcp.stream(call_message(mcp, SLEEP.format(20))) for _ in range(32)]
    refused = mcp.post(call_message(mcp, "1"))
    assert refused.status == 503 and "32 requests" in refused.error["message"]
    assert mcp.delete().status == 204
    for events in held:
        events.close()
    wait_for(lambda: running(service) == 0)


def test_progress_of_much_output_is_bounded(service, mcp):
    code = "for i in range(400_000): print('0123456789')"
    with mcp.stream(call_message(mcp, code)) as events:
        messages = events.messages()
    told = [message["params"]["message"] for message in messages if "params" in message]
    assert all(len(text) <= 4096 for text in told) and len(told) < 100
    with mcp.resume("1_0") as events:
        kept = events.messages()
    assert kept[-1] == messages[-1]


# ---- sessions, without anything that runs

@pytest.fixture(scope="module")
def brief():
    """The HTTP side alone, whose sessions live for two seconds."""
    side = HttpSide(conversation_ttl_s=2)
    yield side
    assert side.stop() == 0


def test_idle_sessions_expire(brief):
    client = RawMcp(brief)
    client.initialize()
    for _ in range(3):
        time.sleep(1)
        assert client.result("ping") == {}
    time.sleep(2.5)
    assert client.post(client.message("ping")).status == 404


def test_sessions_are_bounded_and_the_idlest_makes_room(http_side):
    name, key = http_side.new_project()
    clients = []
    for _ in range(101):
        client = RawMcp(http_side, key=key)
        client.initialize()
        clients.append(client)
        if len(clients) == 2:
            first = clients[0]
            assert first.result("ping") == {}  # the second is idle for longer now
    assert clients[1].post(clients[1].message("ping")).status == 404
    for client in (clients[0], clients[2], clients[-1]):
        assert client.result("ping") == {}
    for client in clients:
        client.delete()
