"""The HTTP side: connections, certificates, proxies, redirects, and when a request is made again."""
import asyncio
import email.utils
import http.server
import socket
import ssl
import subprocess
import threading
import time
import uuid

import fake_platform
import pytest
from fake_platform import KEY, FakePlatform, busy, error, event, run_reply

from code_sandbox import ApiError, AsyncClient, Client, ConnectionFailed, Retries, _exchange, _http

ENVIRONMENT = ("GET", "/v1/environment")
RUN = ("POST", "/v1/execute")


@pytest.fixture
def client(fake):
    with Client(fake.url, KEY) as made:
        yield made


# ---- connections


def test_connections_are_used_again(fake, client):
    fake.on(*ENVIRONMENT, {"python": "3.12"}).on(*RUN, run_reply())
    for _ in range(5):
        client.environment()
        client.run("1")
    assert len(fake.peers) == 1 and len(fake.requests) == 10


def test_after_an_error_as_well(fake, client):
    for _ in range(3):
        with pytest.raises(ApiError):
            client.environment()
    assert len(fake.peers) == 1


def test_a_connection_that_the_service_has_closed_is_not_used(fake, client):
    fake.on(*RUN, (200, run_reply(), {"Connection": "close"}), run_reply())
    client.run("1")
    client.run("2")
    assert len(fake.peers) == 2 and len(fake.requests) == 2


def test_a_service_that_was_restarted(fake, client):
    """Its end of an idle connection is gone; a run is not tried on it."""
    listener = socket.create_server(("127.0.0.1", 0))
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    served = []

    def serve():
        for _ in range(2):
            connection, _ = listener.accept()
            served.append(connection.recv(65536))
            connection.sendall(answer)
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    with Client(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY) as other:
        assert other.environment() == {}
        time.sleep(0.1)
        assert other.environment() == {}
    assert len(served) == 2


def test_many_threads_share_a_client(fake, client):
    fake.on(*RUN, lambda request: (200, run_reply(stdout=request.json["code"]), {}))
    found = {}
    threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, client.run(str(i)).stdout)) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: str(i) for i in range(24)}
    assert len(client._connection.transport._idle) <= _http.IDLE_CONNECTIONS


def test_an_answer_without_end_is_bounded(fake, client, monkeypatch):
    monkeypatch.setattr(_http, "REPLY_BYTES_MAX", 1000)
    fake.on(*ENVIRONMENT, {"python": "x" * 2000})
    with pytest.raises(ConnectionFailed, match="longer than"):
        client.environment()


def test_silence_is_not_waited_for_for_ever(fake, monkeypatch):
    fake.on(*RUN, "hang")
    monkeypatch.setattr("code_sandbox._requests.RUN_SECONDS", 0.2)
    with Client(fake.url, KEY) as client, pytest.raises(ConnectionFailed, match="did not answer within 0.2 s") as caught:
        client.run("1")
    assert caught.value.may_have_run and len(fake.requests) == 1


@pytest.mark.parametrize("key", ["", "a b", "a\nb", "ключ"])
def test_a_key_that_is_none(key):
    with pytest.raises(ValueError, match="needs the address" if not key else "The key must be one word"):
        Client("http://127.0.0.1:1", key)


def test_project_and_base_path(fake):
    fake.on("GET", "/sandbox/v1/environment", {})
    with Client(fake.url + "/sandbox/", KEY, project="other") as client:
        client.environment()
    assert fake.last.headers["X-Project"] == "other" and fake.last.headers["User-Agent"] == "code-sandbox-python"


# ---- certificates


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / "key.pem", "-out", folder / "certificate.pem", "-days", "2", "-subj", "/CN=test",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return folder


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    server = FakePlatform(context)
    yield server
    server.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(tls):
    tls.on(*ENVIRONMENT, {})
    with Client(tls.url, KEY) as client, pytest.raises(ConnectionFailed, match="certificate is not trusted") as caught:
        client.environment()
    assert tls.requests == [] and not caught.value.may_have_run


def test_a_certificate_for_another_name_is_refused(tls, certificate):
    context = ssl.create_default_context(cafile=certificate / "certificate.pem")
    with Client(f"https://localhost:{tls.port}", KEY, ssl_context=context) as client, \
            pytest.raises(ConnectionFailed, match="certificate is not trusted"):
        client.environment()
    assert tls.requests == []


def test_the_control_a_trusted_certificate(tls, certificate, monkeypatch):
    tls.on(*ENVIRONMENT, {"a": 1})
    with Client(tls.url, KEY, ssl_context=ssl.create_default_context(cafile=certificate / "certificate.pem")) as client:
        assert client.environment() == {"a": 1}
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "certificate.pem"))  # as an operator with a CA of his own
    with Client(tls.url, KEY) as client:
        assert client.environment() == {"a": 1}


# ---- proxies and redirects


class Proxy(http.server.BaseHTTPRequestHandler):
    seen: list = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.seen.append((self.requestline, self.headers.get("Proxy-Authorization")))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def do_CONNECT(self):
        self.seen.append((self.requestline, self.headers.get("Proxy-Authorization"), self.headers.get("Authorization")))
        self.send_error(403)


@pytest.fixture
def proxy():
    Proxy.seen = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"user:secret@127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_proxy_of_the_environment_is_used(proxy, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://{proxy}")
    monkeypatch.setenv("https_proxy", f"http://{proxy}")
    with Client("http://sandbox.invalid:8080", KEY) as client:
        assert client.environment() == {}
    with Client("https://sandbox.invalid", KEY) as client, pytest.raises(ConnectionFailed):
        client.environment()
    basic = "Basic dXNlcjpzZWNyZXQ="
    assert Proxy.seen[0] == ("GET http://sandbox.invalid:8080/v1/environment HTTP/1.1", basic)
    assert {seen[1:] for seen in Proxy.seen[1:]} == {(basic, None)}  # the key does not go to the proxy
    assert all(seen[0].startswith("CONNECT sandbox.invalid:443 ") for seen in Proxy.seen[1:])


def test_not_for_this_machine_and_not_where_it_says_no(fake, proxy, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://{proxy}")
    monkeypatch.setenv("no_proxy", "sandbox.invalid")
    fake.on(*ENVIRONMENT, {"direct": True})
    with Client(fake.url, KEY) as client:
        assert client.environment() == {"direct": True}
    with Client("http://sandbox.invalid", KEY, retries=Retries(0)) as client, pytest.raises(ConnectionFailed):
        client.environment()
    assert Proxy.seen == []


def test_redirects_are_not_followed(fake, client):
    other = FakePlatform()
    other.on(*ENVIRONMENT, {})
    fake.on(*ENVIRONMENT, (302, b"", {"Location": other.url + "/v1/environment"}))
    with pytest.raises(ApiError, match="The service sends elsewhere"):
        client.environment()
    assert other.requests == []
    other.close()


# ---- again, or not


def test_busy_is_asked_again_for_as_long_as_it_says(fake, client):
    fake.on(*RUN, busy(1), (429, error("rate_limited", "60 a minute"), {"Retry-After": "0"}), run_reply(stdout="x"))
    began = time.monotonic()
    assert client.run("1").stdout == "x"
    assert 1 <= time.monotonic() - began < 3 and len(fake.requests) == 3
    assert len({request.raw for request in fake.requests}) == 1


def test_not_longer_than_allowed(fake):
    fake.on(*RUN, busy(5))
    with Client(fake.url, KEY, retries=Retries(seconds=1)) as client, pytest.raises(ApiError) as caught:
        client.run("1")
    assert (caught.value.status, caught.value.type, caught.value.retry_after) == (503, "overloaded", 5)
    assert len(fake.requests) == 1


@pytest.mark.parametrize("says, least, most", [
    (lambda: email.utils.formatdate(time.time() + 100, usegmt=True), 90, 100), ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0),
    ("2.5", 2.5, 2.5), ("-3", 0, 0), ("soon", None, None), ("Thu, 99 Foo 1970 99:00:00 GMT", None, None),
    ("", None, None)], ids=lambda value: str(value) if isinstance(value, str) else "")
def test_how_long_may_be_a_date(fake, says, least, most):
    fake.on(*RUN, (503, error("overloaded", "busy"), {"Retry-After": says() if callable(says) else says}))
    with Client(fake.url, KEY, retries=Retries(seconds=0)) as client, pytest.raises(ApiError) as caught:
        client.run("1")
    wait = caught.value.retry_after
    assert wait is None if least is None else least <= wait <= most


def test_busy_for_ever_ends(fake, monkeypatch):
    fake.on(*RUN, busy())
    with Client(fake.url, KEY, retries=Retries(seconds=0.2)) as client, pytest.raises(ApiError, match="All places are taken"):
        client.run("1")
    assert 2 <= len(fake.requests) <= 12


@pytest.mark.parametrize("answer", [
    (429, error("session_limit", "2 sessions"), {}), (429, error("quota_exceeded", "full"), {}),
    (400, error("invalid_request", "bad", "code"), {}), (500, error("internal", "fault"), {}),
    (503, b"<html>upstream", {}), (504, b"", {})], ids=str)
def test_what_does_not_pass_by_waiting_or_may_have_run_is_not_asked_again(fake, client, answer):
    fake.on(*RUN, answer)
    with pytest.raises(ApiError) as caught:
        client.run("1")
    assert caught.value.status == answer[0] and len(fake.requests) == 1


def test_reading_is_asked_again_when_the_answer_is_lost(fake, client):
    fake.on(*ENVIRONMENT, "drop", (503, b"proxy", {}), {"a": 1})
    assert client.environment() == {"a": 1} and len(fake.requests) == 3


def test_but_not_for_ever(fake, client):
    fake.on(*ENVIRONMENT, "drop")
    with pytest.raises(ConnectionFailed):
        client.environment()
    assert len(fake.requests) == 3


@pytest.mark.parametrize("key, heeded, tries", [(None, True, 1), ("k-1", False, 1), ("k-1", True, 2)])
def test_a_run_that_may_have_happened(fake, client, key, heeded, tries):
    """Only with a key for it, and only if the service says that it heeds one."""
    fake.on(*RUN, "drop", run_reply(stdout="x")).on(*ENVIRONMENT, {"idempotency_key": heeded})
    if tries == 1:
        with pytest.raises(ConnectionFailed) as caught:
            client.run("1", idempotency_key=key)
        assert caught.value.may_have_run
    else:
        assert client.run("1", idempotency_key=key).stdout == "x"
    runs = [request for request in fake.requests if request.method == "POST"]
    assert len(runs) == tries and all(run.headers.get("Idempotency-Key") == key for run in runs)


def test_a_key_of_its_own_stays_the_same(fake, client):
    fake.on(*RUN, "drop", busy(), run_reply(stdout="x")).on(*ENVIRONMENT, "drop", {"idempotency_key": True})
    assert client.run("1", idempotency_key="auto").stdout == "x"
    assert client.run("1", idempotency_key="auto").stdout == "x"
    keys = [request.headers["Idempotency-Key"] for request in fake.requests if request.method == "POST"]
    assert len(keys) == 4 and len(set(keys[:3])) == 1 and keys[3] != keys[0] and uuid.UUID(keys[0]).version == 4


START, HELLO = event("start", {"run_id": "r", "sandbox_id": "s"}), event("stdout", {"text": "hello"})
REPEATED = (200, "events", [START, event("done", run_reply(stdout="hello"))])


@pytest.mark.parametrize("steps", [[START, HELLO, "cut"], [START, HELLO], [START, "event: stdout\nda", "cut"]], ids=str)
def test_a_broken_stream_is_taken_up_at_its_end(fake, client, steps):
    fake.on(*RUN, (200, "events", steps), "drop", REPEATED).on(*ENVIRONMENT, {"idempotency_key": True})
    with client.stream("1", idempotency_key="k-1") as news:
        told = [type(one).__name__ for one in news]
    assert told == (["Started", "Stdout", "Done"] if HELLO in steps else ["Started", "Done"])
    runs = [request for request in fake.requests if request.method == "POST"]
    assert len(runs) == 3 and len({run.raw for run in runs}) == 1
    assert {run.headers["Idempotency-Key"] for run in runs} == {"k-1"}


@pytest.mark.parametrize("key, heeded", [(None, True), ("k-1", False)])
def test_but_not_without_a_key_that_is_heeded(fake, client, key, heeded):
    fake.on(*RUN, (200, "events", [START, HELLO, "cut"]), REPEATED).on(*ENVIRONMENT, {"idempotency_key": heeded})
    with client.stream("1", idempotency_key=key) as news, pytest.raises(ConnectionFailed) as caught:
        list(news)
    assert caught.value.may_have_run and sum(request.method == "POST" for request in fake.requests) == 1


def test_asyncio_takes_it_up_as_well(fake):
    fake.on(*RUN, (200, "events", [START, HELLO, "cut"]), REPEATED).on(*ENVIRONMENT, {"idempotency_key": True})

    async def told():
        async with AsyncClient(fake.url, KEY) as client, client.stream("1", idempotency_key="auto") as news:
            return [type(one).__name__ async for one in news]

    assert asyncio.run(told()) == ["Started", "Stdout", "Done"]


def test_a_result_that_is_not_known_is_said(fake, client):
    """The service was stopped in the middle: it refuses to run it again, and so does the client."""
    unknown = 409, error("conflict", "may have happened", "Idempotency-Key"), {}
    fake.on(*RUN, "drop", unknown).on(*ENVIRONMENT, {"idempotency_key": True})
    with pytest.raises(ApiError, match="may have happened") as caught:
        client.run("1", idempotency_key="k-1")
    assert caught.value.param == "Idempotency-Key" and sum(request.method == "POST" for request in fake.requests) == 2


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConte"], ids=str)
def test_a_head_that_is_cut_off_is_lost(head):
    """The standard library takes its end for the end of the head."""
    def answer():
        connection, _ = listener.accept()
        connection.recv(65536)
        connection.sendall(head)
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, daemon=True).start()
        with Client(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY) as client, pytest.raises(ConnectionFailed) as caught:
            client.run("1")
    assert caught.value.may_have_run


def test_an_answer_that_is_cut_off_is_lost(fake, client):
    fake.on(*RUN, (200, b'{"run_id"', {"Content-Length": "5000", "Connection": "close"}))
    with pytest.raises(ConnectionFailed) as caught:
        client.run("1")
    assert caught.value.may_have_run and len(fake.requests) == 1


def test_nobody_there_is_tried_again_for_a_moment(monkeypatch):
    monkeypatch.setattr(_exchange, "FIRST_PAUSE", 0.2)
    port = socket.create_server(("127.0.0.1", 0)).getsockname()[1]
    servers = []

    def come_up():
        time.sleep(0.1)
        servers.append(fake_platform.Server(("127.0.0.1", port), fake_platform.Handler))
        servers[0].fake = fake
        servers[0].serve_forever(poll_interval=0.02)

    fake = FakePlatform().on(*RUN, run_reply(stdout="x"))
    threading.Thread(target=come_up, daemon=True).start()
    with Client(f"http://127.0.0.1:{port}", KEY) as client:
        assert client.run("1").stdout == "x"
    servers[0].shutdown()
    fake.close()
