"""Idempotency-Key: a request that comes again gets the reply of the first one, and nothing runs twice."""
import json
import os
import secrets
import signal
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.client import events_of
from support.host import wait_until
from support.projects import Project

HEADER = "Idempotency-Key"
APPEND = "import os; n = len(open('log').read()) if os.path.exists('log') else 0; open('log', 'a').write('x'); print(n)"


@pytest.fixture(scope="module")
def project(service):
    return Project(service)


def new_key():
    return "test-" + secrets.token_hex(8)


def post(service, body, key, path="/v1/execute", **more):
    return service.post(path, body, headers={HEADER: key}, **more)


def is_repeated(response):
    return response.headers.get("Idempotency-Replayed") == "true"


def metric(service, name):
    lines = service.get("/metrics", key=None).body.decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.split(" ")[0].split("{")[0] == name)


def runs_of(service):
    """How many snippets have ended."""
    return metric(service, "sandbox_runs_total")


def runs_in(service, conversation):
    return service.get(f"/v1/conversations/{conversation}/runs").json["runs"]


def send(service, body, key):
    """A request on a bare socket, sent and not read."""
    raw = json.dumps(body).encode()
    sock = socket.create_connection((service.address, service.port), timeout=30)
    sock.sendall(b"POST /v1/execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s: %s\r\n"
                 b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
                 % (HEADER.encode(), key.encode(), service.key.encode(), len(raw)) + raw)
    return sock


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


# ---- the same and another request


def test_the_service_says_that_it_heeds_keys(project):
    assert project.get("/v1/environment").json["idempotency_key"] is True


def test_the_same_request_runs_once(project):
    key, body, before = new_key(), {"code": "import random; print(random.random())"}, runs_of(project)
    first = post(project, body, key)
    assert first.status == 200 and not is_repeated(first), first
    again = post(project, body, key)
    assert again.status == 200 and is_repeated(again) and again.body == first.body
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    assert runs_of(project) == before + 1
    other = post(project, body, new_key())
    assert other.json["run_id"] != first.json["run_id"] and runs_of(project) == before + 2


def test_whatever_the_snippet_did(project):
    for code, outcome in (("1 / 0", "error"), ("import time; time.sleep(9)", "timeout")):
        key, body = new_key(), {"code": code, "timeout_s": 0.5}
        first, again = post(project, body, key), post(project, body, key)
        assert first.json["outcome"] == outcome and is_repeated(again) and again.body == first.body


def test_another_request_is_a_conflict(project):
    key = new_key()
    assert post(project, {"code": "1"}, key).status == 200
    for body, path in (({"code": "2"}, "/v1/execute"), ({"code": "1", "timeout_s": 5}, "/v1/execute"),
                       ({"code": "1"}, "/v1/call")):
        response = post(project, body, key, path)
        assert response.status == 409, response
        assert response.error["type"] == "conflict" and response.error["param"] == HEADER
        assert "another request" in response.error["message"] and "new key" in response.error["message"]


def test_projects_do_not_meet(project, service):
    key = new_key()
    mine, other = post(project, {"code": "1"}, key), post(Project(service), {"code": "2"}, key)
    assert mine.status == other.status == 200 and not is_repeated(other)


@pytest.mark.parametrize("key", ["", "two words", "x" * 256, "ümlaut"])
def test_keys_that_are_none(project, key):
    response = post(project, {"code": "1"}, key.encode("latin-1"))
    assert response.status == 400, response
    assert response.error["param"] == HEADER and "255" in response.error["message"]


def test_the_longest_key(project):
    key = (new_key() + "~" * 255)[:255]
    assert post(project, {"code": "1"}, key).status == 200
    assert is_repeated(post(project, {"code": "1"}, key))


# ---- what is not kept


def test_a_refusal_leaves_the_key_unused(project):
    key, agent = new_key(), "idem-" + secrets.token_hex(4)
    body = {"code": "print(1)", "agent": agent}
    assert post(project, body, key).status == 404
    assert project.request("PUT", f"/v1/agents/{agent}", {}).status == 201
    good = post(project, body, key)
    assert good.status == 200 and not is_repeated(good)
    assert is_repeated(post(project, body, key))
    assert post(project, {"cod": 1}, new := new_key()).status == 400
    assert post(project, {"code": "1"}, new).status == 200


def test_a_reply_that_is_too_large(project):
    key, body = new_key(), {"code": "for n in range(2): open(str(n), 'wb').write(bytes(4_000_000))"}
    first, again = post(project, body, key), post(project, body, key)
    assert first.status == 200 and len(first.body) > 9_000_000
    assert again.status == 409 and first.json["run_id"] in again.error["message"], again
    assert "8388608" in again.error["message"] and "not run again" in again.error["message"]


def test_a_deleted_conversation_takes_its_replies_along(project):
    key, talk = new_key(), new_key()
    body = {"code": "print('a secret')", "conversation_id": talk}
    assert post(project, body, key).status == 200
    assert project.request("DELETE", f"/v1/conversations/{talk}").status == 204
    again = post(project, body, key)
    assert again.status == 409 and "deleted" in again.error["message"] and b"a secret" not in again.body
    assert project.get(f"/v1/conversations/{talk}").status == 404


# ---- at the same time


def test_many_at_once_run_once(project):
    key, talk, before = new_key(), new_key(), runs_of(project)
    body = {"code": "import time; time.sleep(0.3)\n" + APPEND, "conversation_id": talk}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: post(project, body, key), range(20)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert sum(is_repeated(answer) for answer in answers) == 19
    assert runs_of(project) == before + 1 and len(runs_in(project, talk)) == 1


def test_another_request_does_not_wait(project):
    key = new_key()
    with send(project, {"code": "import time; time.sleep(3)"}, key):
        time.sleep(0.3)
        answer = post(project, {"code": "1"}, key)
        assert answer.status == 409 and answer.seconds < 2


def test_so_many_wait(project):
    key, body = new_key(), {"code": "import time; time.sleep(3); print('done')"}
    socks = [send(project, body, key) for _ in range(66)]
    time.sleep(0.5)
    reset(socks.pop(30))  # one that waits goes away, and another one has its place
    time.sleep(0.2)
    socks.append(send(project, body, key))
    answers = [sock.makefile("rb").readline() for sock in socks]
    for sock in socks:
        sock.close()
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == 65 and b" 503 " in answers[-2], answers
    assert project.run("print(1)").stdout == "1\n"


def test_one_that_waits_takes_the_place_of_one_that_is_refused(small):
    """Both places are taken for longer than a request may wait for one."""
    held = [threading.Thread(target=small.run, args=("import time; time.sleep(6)",)) for _ in range(2)]
    for thread in held:
        thread.start()
    time.sleep(0.5)
    key, body = new_key(), {"code": "print('at last')"}
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(post, small, body, key)
        time.sleep(0.5)
        second = pool.submit(post, small, body, key)
        first, second = first.result(), second.result()
    for thread in held:
        thread.join()
    assert first.status == 503 and first.headers["Retry-After"], first
    assert second.status == 200 and not is_repeated(second) and second.json["stdout"] == "at last\n"
    again = post(small, body, key)
    assert is_repeated(again) and again.body == second.body


# ---- a client that goes away


def test_a_run_goes_on_for_the_client_that_comes_again(project):
    key, talk = new_key(), new_key()
    body = {"code": "import time; time.sleep(1)\n" + APPEND, "conversation_id": talk}
    sock = send(project, body, key)
    time.sleep(0.4)
    reset(sock)
    again = post(project, body, key)
    assert again.status == 200 and is_repeated(again) and again.json["stdout"] == "0\n", again
    assert len(runs_in(project, talk)) == 1


def test_one_that_has_ended_before_he_comes(project):
    key, talk = new_key(), new_key()
    body = {"code": APPEND, "conversation_id": talk}
    sock = send(project, body, key)
    time.sleep(0.1)
    reset(sock)
    assert wait_until(lambda: project.get(f"/v1/conversations/{talk}").status == 200 and runs_in(project, talk), 10)
    assert is_repeated(post(project, body, key)) and len(runs_in(project, talk)) == 1


# ---- streams


def stream(project, body, key):
    response = post(project, {**body, "stream": True}, key)
    assert response.status == 200 and response.headers["Content-Type"] == "text/event-stream", response
    return response, events_of(response.body)


def test_a_stream_is_repeated_by_its_ends(project):
    key, body = new_key(), {"code": "print('a'); print('b'); 6 * 7"}
    first, told = stream(project, body, key)
    again, repeated = stream(project, body, key)
    assert not is_repeated(first) and is_repeated(again)
    assert [name for name, _ in repeated] == ["start", "done"]
    assert repeated[0] == told[0] and repeated[-1] == told[-1]
    assert repeated[-1][1]["stdout"] == "a\nb\n"


def test_a_stream_that_nobody_reads_any_more_does_not_hold_its_run(project):
    """It has been told to wait for the client, who is gone then."""
    key, body = new_key(), {"code": "for _ in range(300): print('x' * 65536)", "stream": True, "timeout_s": 20}
    sock = send(project, body, key)
    time.sleep(1.5)
    reset(sock)
    began = time.monotonic()
    response, events = stream(project, body, key)
    assert time.monotonic() - began < 10 and is_repeated(response)
    assert events[-1][0] == "done" and events[-1][1]["outcome"] == "ok"


# ---- over restarts


@pytest.mark.timeout(240)  # three starts
def test_over_a_stop_and_a_crash(make_service):
    service = make_service({"SANDBOX_WARM_POOL": 1, "SANDBOX_IDEMPOTENCY_KEYS": 3})
    kept, lost, talk = new_key(), new_key(), new_key()
    body = {"code": "print('kept')"}
    slow = {"code": APPEND + "\nimport time; time.sleep(20)", "conversation_id": talk, "timeout_s": 30}
    first = post(service, body, kept)
    assert first.status == 200
    assert service.stop() == 0
    service.start()
    again = post(service, body, kept)
    assert is_repeated(again) and again.body == first.body

    sock = send(service, slow, lost)
    assert wait_until(lambda: metric(service, "sandbox_runs_active") == 1, 10)
    os.kill(service.api_pid, signal.SIGKILL)
    service.process.wait(30)
    sock.close()
    service.start()
    unknown = post(service, slow, lost)
    assert unknown.status == 409 and unknown.error["type"] == "conflict", unknown
    for words in ("may have happened", "not known", "not run again", "new key"):
        assert words in unknown.error["message"]
    assert unknown.seconds < 5 and runs_of(service) == 0
    assert post(service, {**slow, "timeout_s": 5}, lost).status == 409
    assert post(service, body, kept).body == first.body

    assert post(service, {"code": "3"}, new_key()).status == 200
    full = post(service, {"code": "4"}, new_key())
    assert full.status == 429 and full.error["type"] == "quota_exceeded", full
    assert "SANDBOX_IDEMPOTENCY_KEYS" in full.error["message"] and "3 keys" in full.error["message"]
    assert service.run("print(4)").stdout == "4\n" and is_repeated(post(service, body, kept))
    assert service.stop() == 0
