"""Keys, validation and errors of the HTTP interface, as the contract has them."""
import json

import pytest

ERRORS = {400: "invalid_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
          413: "too_large", 415: "unsupported_media_type"}


def refused(response, status, param=None):
    assert response.status == status, response
    assert response.headers["Content-Type"].startswith("application/json")
    error = response.error
    assert error["type"] == ERRORS[status] and len(error["message"]) > 10
    if param:
        assert error["param"] == param and param.split("[")[0].split(".")[0] in error["message"] + error["param"]
    return error


@pytest.mark.parametrize("headers", [
    {}, {"Authorization": ""}, {"Authorization": "Bearer"}, {"Authorization": "Bearer "}, {"Authorization": "Bearer wrong"},
    {"Authorization": "Basic dXNlcjpwYXNz"}, {"X-Api-Key": "KEY"}, {"Authorization": "KEY"}, {"Authorization": "Bearer KEYx"},
    {"Authorization": "Bearer " + "x" * 5000},
])
@pytest.mark.parametrize("method, path", [("POST", "/v1/execute"), ("GET", "/v1/environment"), ("GET", "/v1/status")])
def test_without_a_valid_key(service, method, path, headers):
    headers = {name: value.replace("KEY", service.key) for name, value in headers.items()}
    response = service.request(method, path, {"code": "print(1)"} if method == "POST" else None, headers, key=None)
    if len(headers.get("Authorization", "")) > 4000 and response.status in (400, 431):
        return
    refused(response, 401)
    assert service.key not in response.body.decode()


def test_a_key_in_the_query_does_not_count(service):
    for name in ("key", "api_key", "access_token", "token"):
        refused(service.get(f"/v1/environment?{name}={service.key}", key=None), 401)


def test_unknown_paths_and_methods(service):
    for path in ("/", "/v1", "/v1/", "/v1/execut", "/v1/execute/", "/v1/execute/x", "/v2/execute", "/V1/execute", "//v1/execute",
                 "/v1/../v1/execute", "/v1/%65xecute/..", "/.git/config", "/etc/passwd"):
        response = service.request("POST", path, {"code": "print(1)"})
        assert response.status in (404, 405, 400), (path, response)
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        response = service.request(method, "/v1/execute", {"code": "print(1)"} if method != "GET" else None)
        refused(response, 405)
        assert "POST" in response.headers["Allow"]


@pytest.mark.parametrize("body, param", [
    ({}, "code"), ({"code": None}, "code"), ({"code": 5}, "code"), ({"code": ["print(1)"]}, "code"), ({"code": True}, "code"),
    ({"code": "a\0b"}, "code"), ({"code": "print(1)", "codes": 1}, "codes"), ({"code": "1", "timeout": 5}, "timeout"),
    ({"code": "1", "timeout_s": 0}, "timeout_s"), ({"code": "1", "timeout_s": -1}, "timeout_s"),
    ({"code": "1", "timeout_s": 61}, "timeout_s"), ({"code": "1", "timeout_s": 60000}, "timeout_s"),
    ({"code": "1", "timeout_s": "ten"}, "timeout_s"), ({"code": "1", "timeout_s": {}}, "timeout_s"),
    ({"code": "1", "timeout_s": True}, "timeout_s"), ({"code": "1", "timeout_s": [1]}, "timeout_s"),
    ({"code": "1", "timeout_s": 10**30}, "timeout_s"), ({"code": "1", "timeout_s": None}, "timeout_s"),
    ({"code": "1", "stdin": None}, "stdin"), ({"code": "1", "stream": None}, "stream"), ({"code": "1", "files": None}, "files"),
    ({"code": "1", "stdin": 5}, "stdin"), ({"code": "1", "stdin": ["a"]}, "stdin"),
    ({"code": "1", "stream": "yes"}, "stream"), ({"code": "1", "inline_files": 1}, "inline_files"),
    ({"code": "1", "files": {}}, "files"), ({"code": "1", "files": ["a"]}, "files[0]"),
    ({"code": "1", "conversation_id": ""}, "conversation_id"), ({"code": "1", "conversation_id": "x" * 129}, "conversation_id"),
    ({"code": "1", "conversation_id": "a b"}, "conversation_id"), ({"code": "1", "conversation_id": "a/b"}, "conversation_id"),
    ({"code": "1", "conversation_id": "ä"}, "conversation_id"), ({"code": "1", "conversation_id": 5}, "conversation_id"),
    ({"code": "1", "conversation_id": "a\n"}, "conversation_id"), ({"code": "1", "agent": 5}, "agent"),
    ({"code": "1", "agent": ""}, "agent"), ({"code": "1", "agent": "a/../b"}, "agent"),
])
def test_fields_that_are_refused(service, body, param):
    error = refused(service.post(body=body), 400, param)
    if param == "timeout_s" and isinstance(body["timeout_s"], (int, float)) and not isinstance(body["timeout_s"], bool):
        assert "60" in error["message"], "names the range"


@pytest.mark.parametrize("raw", [
    b"", b"{", b'{"code": ', b"null", b"[]", b'"code"', b"5", b'{"code": "1"} x', b'{"code": "1",}', b"{'code': '1'}",
    b'{"code": "1", "code": "2"}', b'{"code": "1", "files": [{"name": "a", "content": "x", "name": "b"}]}',
    b'{"code": "\xff"}', b'{"code": "\xc0\xaf"}', b'{"code": "\xed\xa0\x80"}', b'{"code": "\\ud800"}', b'{"code": "\\udc00x"}',
    b'{"code": "1", "timeout_s": 1e999}', b'{"code": "1", "timeout_s": NaN}', b'{"code": "1", "timeout_s": Infinity}',
    b'{"code": "1", "timeout_s": 01}', b"[" * 100_000, b'{"a":' * 50_000, b'{"code": "a\nb"}', b'\xef\xbb\xbf{"code": "1"}x',
    b'{"code": "1", "timeout_s": -0}', b'{"code": "1", "timeout_s": -0.0}', b'{"code": "1", "timeout_s": 0e5}',
])
def test_bodies_that_are_refused(service, raw):
    refused(service.post(body=raw), 400)


@pytest.mark.parametrize("body, expected", [
    (b'{"code": "print(1)"}', "1\n"), (b' \n{ "code" : "print(\\u0031)" }\n ', "1\n"),
    ('{"code": "print(\'ü\')"}'.encode(), "ü\n"), (b'{"code": "print(\'\\ud83d\\ude00\')"}', "😀\n"),
    (b'{"code": "print(1)", "timeout_s": 1e1}', "1\n"), (b'{"code": "print(1)", "timeout_s": 0.5}', "1\n"),
])
def test_bodies_that_are_taken(service, body, expected):
    response = service.post(body=body)
    assert response.status == 200 and response.json["stdout"] == expected


@pytest.mark.parametrize("content_type, status", [
    ("application/json", 200), ("application/json; charset=utf-8", 200), ("Application/JSON", 200), ("text/plain", 415),
    ("application/x-www-form-urlencoded", 415), ("multipart/form-data", 415), ("application/jsonx", 415),
])
def test_content_types(service, content_type, status):
    assert service.post(body=b'{"code": "print(1)"}', headers={"Content-Type": content_type}).status == status


def test_conversation_and_agent_are_echoed(service):
    reply = service.run("print(1)")
    assert reply.conversation_id is None and reply.agent is None
    reply = service.run("print(1)", conversation_id="a.B-c_d:9")
    assert reply.conversation_id == "a.B-c_d:9"


def test_a_reply_has_every_field(service):
    reply = service.run("print(1)")
    expected = {"agent", "conversation_id", "run_id", "sandbox_id", "outcome", "exit_code", "stdout", "stderr", "stdout_truncated",
                "stderr_truncated", "results", "files", "files_skipped", "session", "usage", "hint"}
    assert expected <= set(reply.fields)
    assert {"start_ms", "wall_ms", "cpu_ms", "max_memory_bytes", "queue_ms"} <= set(reply.usage)
    assert reply.session["stateful"] is False and reply.session["restarted"] is False
    assert reply.hint is None
    assert all(isinstance(value, (int, float)) and value >= 0 for value in reply.usage.values())


def test_a_body_over_the_limit(service):
    body = json.dumps({"code": "x" * (33 << 20)}).encode()
    try:
        response = service.post(body=body)
    except (BrokenPipeError, ConnectionResetError):
        return  # the connection was closed while we were still sending: refused all the same
    error = refused(response, 413)
    assert "32" in error["message"] or str(32 << 20) in error["message"]


def test_300_kilobytes_of_code(service):
    reply = service.execute("x = '" + "a" * 300_000 + "'\nprint(len(x))\n")
    assert reply.stdout == "300000\n"


def test_many_requests_over_one_connection(service):
    connection = service.connect()
    for number in range(5):
        connection.request("POST", "/v1/execute", json.dumps({"code": f"print({number})"}),
                           {"Authorization": "Bearer " + service.key, "Content-Type": "application/json"})
        response = connection.getresponse()
        assert json.loads(response.read())["stdout"] == f"{number}\n"
    connection.close()


def test_open_endpoints(service):
    for path in ("/healthz", "/readyz", "/metrics"):
        assert service.get(path, key=None).status == 200, path
    metrics = service.get("/metrics", key=None)
    assert metrics.headers["Content-Type"].startswith("text/plain")
    lines = metrics.body.decode().splitlines()
    samples = [line for line in lines if line and not line.startswith("#")]
    assert len(samples) > 5 and any(line.startswith("# TYPE ") for line in lines)
    assert all(len(line.rsplit(" ", 1)) == 2 and float(line.rsplit(" ", 1)[1]) >= 0 for line in samples)
    assert service.key not in metrics.body.decode()


def test_metrics_count_runs(service):
    def total():
        lines = service.get("/metrics", key=None).body.decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if "run" in line and "_total" in line and not line.startswith("#"))

    before = total()
    for _ in range(3):
        service.run("print(1)")
    assert total() >= before + 3


def test_status(service):
    service.wait_pool()
    status = service.get("/v1/status")
    assert status.status == 200
    text = json.dumps(status.json).lower()
    assert "pool" in text and "template" in text and service.key not in text
    assert str(service.data_dir) not in text


def test_environment(service):
    environment = service.get("/v1/environment")
    assert environment.status == 200 and environment.json["python"].startswith("3.12")
    assert environment.json["limits"]


def test_responses_carry_safe_headers(service):
    response = service.post(body={"code": "print(1)"})
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "Server" not in response.headers or "libmicrohttpd" not in response.headers["Server"].lower()
