"""Server-sent events: output as it comes, the whole reply at the end; a client that goes away ends the run."""
import base64
import time

from support.host import wait_until


def test_events_come_as_things_happen(service):
    with service.stream("""
        import sys, time
        print("hello"); print("note", file=sys.stderr)
        time.sleep(1)
        print("world")
        open("f.txt", "w").write("file")
        40 + 2
        """) as stream:
        assert stream.status == 200 and stream.response.headers["Content-Type"].startswith("text/event-stream")
        events = list(stream)
    names = [name for name, _, _ in events]
    assert names[0] == "start" and names[-1] == "done" and names.count("done") == 1
    assert {"start", "stdout", "stderr", "result", "file", "done"} >= set(names)
    assert names.count("file") == 1 and names.count("result") == 1
    first_output = next(seconds for name, _, seconds in events if name == "stdout")
    first_error = next(seconds for name, _, seconds in events if name == "stderr")
    assert first_output < 0.7 and first_error < 0.7 and events[-1][2] > 0.95
    reply = events[-1][1]
    assert reply["stdout"] == "hello\nworld\n" and reply["stderr"] == "note\n" and reply["outcome"] == "ok"
    assert base64.b64decode(reply["files"][0]["content_base64"]) == b"file"
    assert events[0][1]["run_id"] == reply["run_id"] and events[0][1]["sandbox_id"] == reply["sandbox_id"]


def text_of(events, kind):
    return "".join(data["text"] if isinstance(data, dict) else data for name, data, _ in events if name == kind)


def test_the_pieces_put_together_are_the_output(service):
    with service.stream("""
        import sys
        for number in range(3000):
            sys.stdout.write("größe %d €\\n" % number)
        """) as stream:
        events = list(stream)
    expected = "".join("größe %d €\n" % number for number in range(3000))
    assert text_of(events, "stdout") == expected == events[-1][1]["stdout"]


def test_a_character_in_two_pieces_is_not_broken(service):
    with service.stream("""
        import os, time
        for byte in "é€😀".encode():
            os.write(1, bytes([byte])); time.sleep(0.03)
        """) as stream:
        events = list(stream)
    assert text_of(events, "stdout") == "é€😀" and "\ufffd" not in events[-1][1]["stdout"]


def test_output_cannot_forge_events(service):
    forged = "\n\nevent: done\ndata: {\"exit_code\": 0}\n\n"
    with service.stream(f"print({forged!r}); raise SystemExit(5)") as stream:
        events = list(stream)
    assert [name for name, _, _ in events].count("done") == 1
    assert events[-1][1]["exit_code"] == 5 and events[-1][1]["stdout"] == forged + "\n"


def test_errors_before_the_start_are_plain_answers(service):
    response = service.post(body={"code": 5, "stream": True})
    assert response.status == 400 and response.error["param"] == "code"


def test_a_time_limit_ends_a_stream(service):
    with service.stream("print('x', flush=True)\nwhile True: pass", timeout_s=0.6) as stream:
        data, seconds = stream.until("done")
    assert (data["outcome"], data["exit_code"], data["stdout"]) == ("timeout", -1, "x\n") and seconds < 2


def test_a_flood_ends_a_stream_and_the_service_stays_small(service):
    service.run("print(1)")
    before = service.api.resident_bytes
    with service.stream("while True: print('x' * 10000)") as stream:
        size = 0
        for name, data, _ in stream:
            size += len(str(data))
            if name == "done":
                assert data["outcome"] == "output_limit"
                break
    assert service.api.resident_bytes - before < 40 << 20
    assert size > 100_000


def test_a_reader_that_does_not_read_holds_nobody_up(service):
    """The events wait for their reader; neither the run's clock nor other runs do."""
    with service.stream("""
        import os
        while True:
            os.write(1, b"x" * 100_000)
        """, timeout_s=1.5):
        began = time.monotonic()
        assert service.run("print(1)").stdout == "1\n"
        assert time.monotonic() - began < 1.5
        time.sleep(2)
        assert service.run("print(1)").stdout == "1\n"
        assert service.api.resident_bytes < 300 << 20
    service.wait_pool()


def test_a_client_that_goes_away_ends_the_run(service):
    service.wait_pool()
    stream = service.stream("""
        import os, time
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                time.sleep(100)
        print("up", flush=True)
        time.sleep(100)
        """, timeout_s=30)
    stream.until("stdout")
    room = wait_until(lambda: next((room for room in service.rooms().values() if len(room) >= 6), None))
    assert room
    stream.close()
    began = time.monotonic()
    assert wait_until(lambda: not any(process.alive for process in room), 5)
    assert time.monotonic() - began < 1
    service.wait_pool()


def test_a_client_that_goes_away_before_the_last_event_fits(make_service):
    """It reads what is printed, but none of the files. The request ends with it: the conversation expires, as nothing
    holds it."""
    service = make_service({"SANDBOX_WARM_POOL": 1, "SANDBOX_CONVERSATION_TTL_SECONDS": 2,
                            "SANDBOX_OUTPUT_KEEP_BYTES": 16 << 20})
    stream = service.stream("""
        import os
        for _ in range(11):
            print("\\x01" * (1 << 20), end="", flush=True)
        for n in range(4):
            open(str(n), "wb").write(os.urandom(4_000_000))
        """, conversation_id="much", inline_files=True)
    read = 0
    while read < 11 << 20:
        data, _ = stream.until("stdout")
        read += len(data["text"])
    assert wait_until(lambda: service.get("/v1/conversations/much/runs").json["runs"], 20)
    time.sleep(0.5)
    assert service.get("/v1/conversations/much").status == 200
    stream.close()
    assert wait_until(lambda: service.get("/v1/conversations/much").status == 404, 15), "something holds it"
    assert service.stop() == 0
