"""HTTP on the wire, byte by byte: what is refused, what is taken, clocks, closing, and clients that go away.

Runs the HTTP side of the api process alone (tests/unit/http_harness.c): no root, no sandbox, short clocks. What its
POST /v1/execute does is told by the header X-Test.
"""
import json
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("SANDBOX_TEST_PROGRAM", Path(__file__).resolve().parents[2] / "build" / "sandboxd")).parent
HARNESS = BUILD / "tests" / "unit" / "http_harness"
KEY = "key-of-the-wire-tests"
TIMEOUT = 2  # for a whole request
PER_ADDRESS = 40
BODY_MAX = 1 << 20


class Harness:
    def __init__(self, *settings):
        assert HARNESS.exists(), f"{HARNESS} is not built"
        self.process = subprocess.Popen([HARNESS, KEY, *map(str, settings)], stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def status(self):
        """Requests held, and those of them whose client's leaving was noticed."""
        return json.loads(self.ask(request("/v1/status"))[0].body)

    def ask(self, raw, half_close=False):
        """Sends bytes, reads until the end, returns the answers."""
        with self.connect() as sock:
            return read_answers(sock, raw, half_close)

    def stop(self):
        self.process.terminate()
        return self.process.wait(10)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def error(self):
        return json.loads(self.body)["error"]

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r}>"


def read_all(sock):
    data = b""
    try:
        while block := sock.recv(1 << 16):
            data += block
    except ConnectionResetError:
        data += b"RESET"
    return data


def split_answers(data, no_body=False):
    answers = []
    while data:
        assert data.startswith(b"HTTP/1.1 "), data[:200]
        head, data = data.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        length = 0 if no_body or lines[0].split()[1][0] == "1" else int(headers.get("content-length", len(data)))
        answers.append(Answer(int(lines[0].split()[1]), headers, data[:length]))
        data = data[length:]
    return answers


def read_answers(sock, raw, half_close=False):
    sock.sendall(raw)
    if half_close:
        sock.shutdown(socket.SHUT_WR)
    return split_answers(read_all(sock))


def request(path="/v1/execute", method="GET", headers=(), body=b"", key=KEY, close=True, version="HTTP/1.1"):
    lines = [f"{method} {path} {version}", "Host: x"]
    lines += [f"Authorization: Bearer {key}"] * (key is not None) + ["Connection: close"] * close
    return "\r\n".join([*lines, *headers, "", ""]).encode("latin-1") + body


def post(body=b"hello", headers=(), test="length", close=True, **more):
    return request(method="POST", headers=[f"Content-Length: {len(body)}", f"X-Test: {test}", *headers], body=body, close=close, **more)


@pytest.fixture(scope="module")
def wire():
    harness = Harness(TIMEOUT, PER_ADDRESS, BODY_MAX)
    yield harness
    assert harness.stop() == 0


# ---- heads that are refused

LINE = "GET /healthz HTTP/1.1\r\n"
POST = f"POST /v1/execute HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
MALFORMED = {
    "two different lengths": POST + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "two equal lengths": POST + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "a list of lengths": POST + "Content-Length: 5, 5\r\n\r\nhello",
    "length with plus": POST + "Content-Length: +5\r\n\r\nhello",
    "length with minus": POST + "Content-Length: -5\r\n\r\nhello",
    "length in hex": POST + "Content-Length: 0x5\r\n\r\nhello",
    "length with a point": POST + "Content-Length: 5.0\r\n\r\nhello",
    "length empty": POST + "Content-Length: \r\n\r\nhello",
    "length with inner space": POST + "Content-Length: 1 0\r\n\r\nhello",
    "length over 64 bits": POST + "Content-Length: 18446744073709551621\r\n\r\nhello",
    "length and chunks": POST + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": POST + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "unknown coding": POST + "Transfer-Encoding: gzip\r\n\r\n",
    "coding in disguise": POST + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding list": POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "coding identity": POST + "Transfer-Encoding: identity\r\n\r\n",
    "coding quoted": POST + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
    "coding with vertical tab": POST + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "coding twice": POST + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": POST.replace("1.1", "1.0") + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "space before the colon": LINE + "Host : x\r\n\r\n",
    "tab before the colon": LINE + "Host: x\r\nX-A\t: b\r\n\r\n",
    "space in a name": LINE + "Host: x\r\nX A: b\r\n\r\n",
    "no name": LINE + "Host: x\r\n: b\r\n\r\n",
    "no colon": LINE + "Host: x\r\nX-A\r\n\r\n",
    "NUL in a name": LINE + "Host: x\r\nX-\0A: b\r\n\r\n",
    "NUL in a value": LINE + "Host: x\r\nX-A: b\0c\r\n\r\n",
    "NUL in the target": "GET /healthz\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    "control character in a value": LINE + "Host: x\r\nX-A: b\x01c\r\n\r\n",
    "delete in a value": LINE + "Host: x\r\nX-A: b\x7fc\r\n\r\n",
    "8 bits in a name": LINE + "Host: x\r\nX-\xe4: b\r\n\r\n",
    "folded by space": LINE + "Host: x\r\nX-A: b\r\n c\r\n\r\n",
    "folded by tab": LINE + "Host: x\r\nX-A: b\r\n\tc\r\n\r\n",
    "folded first line": LINE + " Host: x\r\n\r\n",
    "bare line feeds": LINE.replace("\r", "") + "Host: x\n\n",
    "one bare line feed": LINE + "Host: x\nX-A: b\r\n\r\n",
    "bare carriage return": LINE + "Host: x\r\nX-A: b\rX-B: c\r\n\r\n",
    "two carriage returns": LINE + "Host: x\r\r\n\r\n",
    "no host": LINE + "\r\n",
    "two hosts": LINE + "Host: x\r\nHost: x\r\n\r\n",
    "host with a space": LINE + "Host: x y\r\n\r\n",
    "host with a slash": LINE + "Host: x/y\r\n\r\n",
    "two keys": POST + f"Authorization: Bearer {KEY}\r\nContent-Length: 0\r\n\r\n",
    "two content types": POST + "Content-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n",
    "two projects": POST + "X-Project: a\r\nX-Project: b\r\nContent-Length: 0\r\n\r\n",
    "expect something": POST + "Expect: 200-maybe\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/0.9": "GET /healthz\r\n\r\n",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/1.2": "GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n",
    "HTTP/1.10": "GET /healthz HTTP/1.10\r\nHost: x\r\n\r\n",
    "http in small letters": "GET /healthz http/1.1\r\nHost: x\r\n\r\n",
    "absolute target": "GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "asterisk target": "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "authority target": "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "no slash": "GET healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "two spaces": "GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "tab for space": "GET\t/healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "space at the end": "GET /healthz HTTP/1.1 \r\nHost: x\r\n\r\n",
    "space at the start": " GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "fragment": "GET /healthz#a HTTP/1.1\r\nHost: x\r\n\r\n",
    "8 bits in the target": "GET /health\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    "escape cut off": "GET /healthz%2 HTTP/1.1\r\nHost: x\r\n\r\n",
    "escape of no digits": "GET /healthz%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    "escaped NUL": "GET /healthz%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    "escaped NUL in the query": "GET /healthz?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "SSH": "SSH-2.0-OpenSSH_9.2\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(wire, name):
    # Something follows that would be answered with 200 if the first request were read differently.
    answers = wire.ask(MALFORMED[name].encode("latin-1") + request("/healthz"), half_close=True)
    assert [answer.status for answer in answers] == [400], answers
    assert answers[0].error["type"] == "invalid_request" and len(answers[0].error["message"]) > 10
    assert answers[0].headers["connection"] == "close"


@pytest.mark.parametrize("raw", [
    request("/healthz", headers=["X-A: " + "a" * 20000]),
    request("/healthz", headers=[f"X-{number}: a" for number in range(200)]),
    request("/healthz?" + "a" * 5000),
    request("/healthz?" + "a" * 50000),
    b"G" * 20000,
    b"\r\n" * 10000,
])
def test_head_too_large(wire, raw):
    answers = wire.ask(raw)
    assert [answer.status for answer in answers] == [431] and answers[0].error["type"] == "too_large"


@pytest.mark.parametrize("raw, status", [
    (request("/healthz"), 200),
    (request("/healthz?a=b&c=%41"), 200),
    (b"\r\n" + request("/healthz"), 200),
    (request("/healthz", headers=["X-A:b", "X-B: \t c \t ", "X-C:", "X-D: \xe4\xf6"]), 200),
    (request("/healthz", headers=["X-" + str(number) + ": a" for number in range(90)]), 200),
    (request("/healthz", version="HTTP/1.0"), 200),
    (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
    (b"GET /healthz HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", 200),
    (b"GET /healthz HTTP/1.1\r\nhOsT: [::1]:80\r\ncOnNeCtIoN: close\r\n\r\n", 200),
    (request("/nothing"), 404),
    (request("/healthz/"), 404),
    (request("//healthz"), 404),
    (request("/%68ealthz"), 404),
    (request("/v1/projects/a%2fb"), 404),
    (request("/healthz", method="PUT"), 405),
    (request("/healthz", method="OPTIONS"), 405),
    (request("/healthz", method="TRACE"), 405),
    (request("/healthz", method="get"), 405),
    (request("/healthz", method="M-SEARCH"), 405),
    (request("/v1/execute"), 405),
    (post(key=None), 401),
    (post(key="wrong"), 401),
    (post(key=KEY + " \t"), 200),
    (request(method="POST", headers=["X-Test: length", "Content-Length: 5 \t "], body=b"hello"), 200),
    (post(), 200),
    (post(b""), 200),
    (post(headers=["Transfer-Encoding-Not: chunked", "Upgrade: h2c", "HTTP2-Settings: AAA"]), 200),
    (request("/healthz", headers=["Content-Length: 5"], body=b"hello"), 413),
    (request("/healthz?key=csk_" + "0" * 64), 400),
])
def test_status(wire, raw, status):
    answers = wire.ask(raw)
    assert [answer.status for answer in answers] == [status], answers
    headers = answers[0].headers
    assert re.fullmatch("[0-9a-f]{32}", headers["x-request-id"])
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    assert headers["content-type"] == "application/json" and "server" not in headers
    if status >= 400:
        assert set(answers[0].error) <= {"type", "message", "param"}
    if status == 401:
        assert headers["www-authenticate"] == "Bearer"


def test_head_has_no_body(wire):
    with wire.connect() as sock:
        sock.sendall(request("/healthz", method="HEAD"))
        answer, = split_answers(read_all(sock), no_body=True)
    assert answer.status == 200 and answer.headers["content-length"] == "15"


def test_allow_lists_what_there_is(wire):
    assert wire.ask(request("/healthz", method="PUT"))[0].headers["allow"] == "GET, HEAD"
    assert wire.ask(request("/v1/execute"))[0].headers["allow"] == "POST"
    assert wire.ask(request("/v1/projects", method="PUT"))[0].headers["allow"] == "GET, HEAD, POST"


# ---- bodies

def checksum(data):
    total = 5381
    for byte in data:
        total = (total * 33 + byte) & 0x7FFFFFFF
    return total


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 65535, 65536, 300_000, BODY_MAX])
def test_bodies_arrive_unchanged(wire, size):
    body = os.urandom(size)
    answer, = wire.ask(post(body, test="sum"))
    assert json.loads(answer.body) == {"length": size, "sum": checksum(body)}


def chunks(body, sizes, extension=b"", trailer=b""):
    out, at = b"", 0
    while at < len(body):
        size = sizes[len(out) % len(sizes)]
        part = body[at:at + size]
        out += b"%x%s\r\n%s\r\n" % (len(part), extension, part)
        at += size
    return out + b"0\r\n" + trailer + b"\r\n"


@pytest.mark.parametrize("body, sizes, more", [
    (b"", [1], {}), (b"x", [1], {}), (os.urandom(5000), [1, 7, 300], {}), (os.urandom(BODY_MAX), [70_000], {}),
    (os.urandom(1000), [10], {"extension": b";a=b"}), (b"hello", [5], {"trailer": b"X-Trailer: a\r\n"}),
])
@pytest.mark.parametrize("half_close", [False, True])
def test_chunked_bodies(wire, body, sizes, more, half_close):
    raw = request(method="POST", headers=["Transfer-Encoding: chunked", "X-Test: sum"], body=chunks(body, sizes, **more))
    answer, = wire.ask(raw, half_close)
    assert json.loads(answer.body) == {"length": len(body), "sum": checksum(body)}


def test_nothing_is_read_after_a_chunked_body(wire):
    raw = request(method="POST", headers=["Transfer-Encoding: chunked"], body=chunks(b"hello", [5]), close=False)
    answers = wire.ask(raw + request("/healthz"))
    assert [answer.status for answer in answers] == [200] and answers[0].headers["connection"] == "close"


@pytest.mark.parametrize("body", [b"zz\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"5\r\nhelloXX0\r\n\r\n",
                                  b"ffffffffffffffffff\r\nhello\r\n", b"5 hello", b"\r\n\r\n"])
def test_bad_chunks(wire, body):
    raw = request(method="POST", headers=["Transfer-Encoding: chunked"], body=body, close=False)
    with wire.connect() as sock:
        sock.sendall(raw)
        data = read_all(sock)
    assert b" 200 " not in data
    assert wire.ask(request("/healthz"))[0].status == 200


def test_too_large_by_its_length(wire):
    """The refusal comes before the body, and reaches a client that sends on regardless."""
    with wire.connect() as sock:
        sock.sendall(request(method="POST", headers=[f"Content-Length: {BODY_MAX + 1}"]))
        answer, = split_answers(read_all(sock))
    assert answer.status == 413 and str(BODY_MAX) in answer.error["message"]
    answer, = wire.ask(post(b"x" * (8 * BODY_MAX)))
    assert answer.status == 413 and answer.error["type"] == "too_large"


def test_too_large_by_its_chunks(wire):
    answer, = wire.ask(request(method="POST", headers=["Transfer-Encoding: chunked"], body=chunks(b"x" * (3 * BODY_MAX), [100_000])))
    assert answer.status == 413 and str(BODY_MAX) in answer.error["message"]


IMAGE_MAX = 3 << 20
IMAGE = "/v1/agents/shop/image"


def send_image(body, headers, **more):
    return request(IMAGE, "PUT", headers, body, **more)


def test_an_image_goes_into_a_file_and_may_be_larger(wire):
    for size in (0, 5, 70_000, BODY_MAX + 1, IMAGE_MAX):
        answer, = wire.ask(send_image(b"x" * size, [f"Content-Length: {size}"]))
        assert answer.status == 200 and json.loads(answer.body) == {"length": size}
    answer, = wire.ask(send_image(chunks(b"x" * IMAGE_MAX, [100_000]), ["Transfer-Encoding: chunked"]))
    assert json.loads(answer.body) == {"length": IMAGE_MAX}
    answer, = wire.ask(send_image(b"", [f"Content-Length: {IMAGE_MAX + 1}"]))
    assert answer.status == 413 and "SANDBOX_IMAGE_MAX_BYTES" in answer.error["message"]
    answer, = wire.ask(send_image(chunks(b"x" * (IMAGE_MAX + 1), [100_000]), ["Transfer-Encoding: chunked"]))
    assert answer.status == 413 and str(IMAGE_MAX) in answer.error["message"]


def test_images_are_few_at_a_time_and_have_time_of_their_own(wire):
    with wire.connect() as one, wire.connect() as two:
        for sock in (one, two):
            sock.sendall(send_image(b"x" * 10, ["Content-Length: 20"]))
        time.sleep(0.2)
        answer, = wire.ask(send_image(b"x" * 5, ["Content-Length: 5"]))
        assert answer.status == 503 and "2 images" in answer.error["message"] and answer.headers["retry-after"]
        time.sleep(TIMEOUT + 0.5)  # longer than any other request may take
        one.sendall(b"x" * 10)
        answer, = split_answers(read_all(one))
        assert answer.status == 200 and json.loads(answer.body) == {"length": 20}
    answer, = wire.ask(send_image(b"x" * 5, ["Content-Length: 5"]))
    assert answer.status == 200


def test_a_wrong_key_spares_the_body(wire):
    with wire.connect() as sock:
        sock.sendall(request(method="POST", headers=["Content-Length: 1000"], key="wrong", close=False))
        began = time.monotonic()
        answer, = split_answers(read_all(sock))
    assert answer.status == 401 and time.monotonic() - began < TIMEOUT - 1 + 2.5


def test_expect_continue(wire):
    with wire.connect() as sock:
        sock.sendall(request(method="POST", headers=["Content-Length: 5", "Expect: 100-continue"]))
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"hello")
        answer, = split_answers(read_all(sock))
    assert json.loads(answer.body) == {"length": 5}
    for headers, status in [(["Content-Length: 9999999"], 413), (["Content-Length: 5", "X-Project: none"], 404)]:
        with wire.connect() as sock:
            sock.sendall(request(method="POST", headers=[*headers, "Expect: 100-continue"]))
            answer, = split_answers(read_all(sock))
            assert answer.status == status, "no 100 before a refusal"


# ---- many requests on one connection

def test_keep_alive(wire):
    with wire.connect() as sock:
        for number in range(50):
            sock.sendall(post(b"x" * number, close=False))
            head = b""
            while not head.endswith(b"}"):
                head += sock.recv(65536)
            assert b'{"length":%d}' % number in head


@pytest.mark.parametrize("test", ["length", "later"])
@pytest.mark.parametrize("half_close", [False, True])
def test_pipelined_requests_are_answered_in_order(wire, test, half_close):
    count = 5
    raw = b"".join(post(b"x" * number, close=False, test=test) for number in range(count)) + post(b"x" * count, test=test)
    answers = [answer for answer in wire.ask(raw, half_close) if answer.status != 100]
    assert [json.loads(answer.body)["length"] for answer in answers] == list(range(count + 1))


def test_pipelined_bytes_one_by_one(wire):
    raw = post(b"abc", close=False) + request("/healthz", close=False) + post(b"defgh")
    with wire.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(raw)):
            sock.sendall(raw[at:at + 1])
        answers = split_answers(read_all(sock))
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert json.loads(answers[2].body) == {"length": 5}


def test_a_bad_request_after_a_good_one(wire):
    answers = wire.ask(post(close=False) + MALFORMED["length and chunks"].encode() + request("/healthz"))
    assert [answer.status for answer in answers] == [200, 400]


def test_nothing_after_connection_close(wire):
    assert [answer.status for answer in wire.ask(post() + request("/healthz"))] == [200]


# ---- clocks

def drip(sock, raw, every, seconds):
    """Sends a byte at a time; returns how long the other side put up with it."""
    began = time.monotonic()
    for at in range(len(raw)):
        try:
            sock.sendall(raw[at:at + 1])
        except OSError:
            break
        time.sleep(every)
        sock.setblocking(False)
        try:
            if sock.recv(1, socket.MSG_PEEK) is not None:
                break
        except BlockingIOError:
            pass
        finally:
            sock.setblocking(True)
            sock.settimeout(10)
        if time.monotonic() - began > seconds:
            break
    return time.monotonic() - began


@pytest.mark.parametrize("raw", [
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 80,
    request(method="POST", headers=["Content-Length: 500"], body=b"x" * 500)[-520:],
])
def test_dripping_bytes_does_not_extend_the_time(wire, raw):
    with wire.connect() as sock:
        if not raw.startswith(b"GET"):
            sock.sendall(request(method="POST", headers=["Content-Length: 1000"], close=False))
        lasted = drip(sock, raw, 0.1, 3 * TIMEOUT)
        answer, = split_answers(read_all(sock))
    assert TIMEOUT - 0.2 < lasted < TIMEOUT + 1.5
    assert answer.status == 408 and answer.error["type"] == "request_timeout"


@pytest.mark.parametrize("raw", [
    b"G", b"GET /healthz HTTP/1.1\r\n", request("/healthz")[:-1], post(b"x" * 100)[:-1],
    request(method="POST", headers=["Transfer-Encoding: chunked"], body=b"5\r\nhello\r\n"),
])
def test_half_a_request_times_out(wire, raw):
    with wire.connect() as sock:
        sock.sendall(raw)
        began = time.monotonic()
        answer, = split_answers(read_all(sock))
        assert answer.status == 408 and time.monotonic() - began < TIMEOUT + 1.5


def test_silence_is_closed_without_a_word(wire):
    with wire.connect() as sock:
        began = time.monotonic()
        assert read_all(sock) == b"" and time.monotonic() - began < TIMEOUT + 1.5


def test_idle_connections_stay_between_requests(wire):
    with wire.connect() as sock:
        for _ in range(2):
            sock.sendall(post(close=False))
            data = b""
            while not data.endswith(b"}"):
                data += sock.recv(65536)
            time.sleep(TIMEOUT + 1)
        sock.sendall(post())
        assert split_answers(read_all(sock))[0].status == 200


# ---- limits on connections

def test_connections_per_address(wire):
    time.sleep(0.5)
    sockets = [wire.connect() for _ in range(PER_ADDRESS)]
    try:
        with wire.connect() as sock:
            answer, = split_answers(read_all(sock))
        assert answer.status == 503 and answer.error["type"] == "overloaded" and answer.headers["retry-after"] == "1"
        with socket.socket() as other:
            other.bind(("127.0.0.77", 0))
            other.connect(("127.0.0.1", wire.port))
            other.settimeout(5)
            assert read_answers(other, request("/healthz"))[0].status == 200
    finally:
        for sock in sockets:
            sock.close()
    time.sleep(0.2)
    assert wire.ask(request("/healthz"))[0].status == 200


# ---- clients that go away, and those that only seem to

def wait_for(condition, seconds=5):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("how", ["close", "reset", "shutdown"])
@pytest.mark.parametrize("test", ["hold", "flood"])
def test_leaving_is_noticed(wire, test, how):
    before = wire.status()["gone"]
    sock = wire.connect()
    sock.sendall(post(test=test, close=False))
    time.sleep(0.3)
    assert wire.status()["gone"] == before
    if how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    if how == "shutdown":
        sock.shutdown(socket.SHUT_RDWR)
    else:
        sock.close()
    assert wait_for(lambda: wire.status()["gone"] == before + 1)
    sock.close()


def test_half_closing_is_not_leaving(wire):
    before = wire.status()["gone"]
    answers = wire.ask(post(test="later"), half_close=True)
    assert [answer.status for answer in answers if answer.status != 100] == [200]
    with wire.connect() as sock:
        sock.sendall(post(test="hold"))
        sock.shutdown(socket.SHUT_WR)
        time.sleep(1.5)
        assert wire.status()["gone"] == before, "a client that can still read is there"
    assert wait_for(lambda: wire.status()["gone"] == before + 1)


def test_half_closing_is_leaving_for_who_cannot_be_asked(wire):
    before = wire.status()["gone"]
    for raw in (post(test="hold", version="HTTP/1.0"), post(test="flood")):
        with wire.connect() as sock:
            sock.sendall(raw)
            time.sleep(0.3)
            sock.shutdown(socket.SHUT_WR)
            before += 1
            assert wait_for(lambda: wire.status()["gone"] == before)


def test_leaving_is_noticed_after_half_closing_and_behind_unread_input(wire):
    before = wire.status()["gone"]
    sock = wire.connect()
    sock.sendall(post(test="hold"))
    sock.shutdown(socket.SHUT_WR)
    time.sleep(0.7)
    assert sock.recv(1000).startswith(b"HTTP/1.1 100 ")  # asked, and there; closing says nothing more
    sock.close()
    assert wait_for(lambda: wire.status()["gone"] == before + 1)
    with wire.connect() as sock:
        sock.sendall(post(test="hold", close=False) + post(b"x" * 500_000)[:400_000])
    assert wait_for(lambda: wire.status()["gone"] == before + 2)


def test_a_stream_goes_on_before_pipelined_requests(wire):
    answer, = wire.ask(post(test="stream", close=False) + request("/healthz"))
    body, rest = unchunk_first(answer.body)
    assert body == b"e" * 1_000_000 and split_answers(rest)[0].status == 200


def test_the_end_of_input_closes_an_idle_connection(wire):
    with wire.connect() as sock:
        sock.sendall(post(close=False))
        sock.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        assert split_answers(read_all(sock))[0].status == 200
        assert time.monotonic() - began < 1


def test_one_who_left_frees_the_connection(wire):
    """Also when the request was never whole."""
    descriptors = len(os.listdir(f"/proc/{wire.process.pid}/fd"))
    for raw in (b"", b"G", request("/healthz")[:-1], post(b"x" * 100)[:-1], post(test="hold"), post(test="flood")):
        for _ in range(10):
            with wire.connect() as sock:
                sock.sendall(raw)
    assert wait_for(lambda: len(os.listdir(f"/proc/{wire.process.pid}/fd")) <= descriptors, 6)


# ---- replies that are large or long

def test_large_reply_to_a_slow_reader(wire):
    with wire.connect() as sock:
        sock.sendall(post(test="big", close=True))
        data = b""
        for _ in range(6):
            time.sleep(0.5)
            data += sock.recv(1 << 20)
        answer, = split_answers(data + read_all(sock))
    assert answer.status == 200 and answer.body == b"x" * 8_000_000


def test_more_requests_behind_a_large_reply_to_a_slow_reader(wire):
    with wire.connect() as sock:
        sock.sendall(post(test="big", close=False) + post(b"abc", close=False))
        data = b""
        for _ in range(4):
            time.sleep(0.3)
            data += sock.recv(1 << 18)
        while not data.endswith(b'{"length":3}'):
            data += sock.recv(1 << 20)
        sock.sendall(request("/healthz"))
        answers = split_answers(data + read_all(sock))
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert answers[0].body == b"x" * 8_000_000


def unchunk_first(data):
    """The body, and what follows it."""
    body = b""
    while True:
        size, data = data.split(b"\r\n", 1)
        size = int(size, 16)
        if size == 0:
            assert data.startswith(b"\r\n")
            return body, data[2:]
        body, data = body + data[:size], data[size + 2:]


def unchunk(data):
    body, rest = unchunk_first(data)
    assert rest == b""
    return body


def test_stream(wire):
    answer, = wire.ask(post(test="stream"))
    assert answer.headers["transfer-encoding"] == "chunked" and answer.headers["content-type"] == "text/event-stream"
    assert unchunk(answer.body) == b"e" * 1_000_000


def test_a_stream_nobody_reads_holds_little_memory(wire):
    def resident():
        return int(Path(f"/proc/{wire.process.pid}/statm").read_text().split()[1]) * 4096

    before = resident()
    sockets = [wire.connect() for _ in range(10)]
    for sock in sockets:
        sock.sendall(post(test="flood", close=False))
    time.sleep(2)
    grown = resident() - before
    for sock in sockets:
        sock.close()
    assert grown < 10 * (1 << 20)


# ---- all at once

def test_many_clients_at_once(wire):
    """Good, bad, slow and leaving clients side by side; every good one gets its own answer."""
    failures = []

    def ask(request):
        """Clients that have left count towards the limit of an address until the server has noticed: it says so."""
        deadline = time.monotonic() + 20
        while True:
            try:
                answer, = wire.ask(request)
                if answer.status != 503 or time.monotonic() > deadline:
                    return answer
            except (ValueError, ConnectionError):  # the refusal may be cut off: the server did not read the request
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def work(seed):
        for number in range(20):
            kind = (seed + number) % 4
            try:
                if kind == 0:
                    body = os.urandom((seed * 977 + number * 131) % 50_000)
                    answer = ask(post(body, test="sum"))
                    if json.loads(answer.body) != {"length": len(body), "sum": checksum(body)}:
                        failures.append(answer)
                elif kind == 1:
                    wire.ask(MALFORMED["one bare line feed"].encode())
                elif kind == 2:
                    with wire.connect() as sock:
                        sock.sendall(post(test="hold"))
                else:
                    answer = ask(post(test="stream"))
                    if unchunk(answer.body) != b"e" * 1_000_000:
                        failures.append("stream")
            except Exception as problem:
                failures.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:5]
    assert wait_for(lambda: wire.status()["held"] + 0 >= 1)


# ---- the end

def test_draining_finishes_what_was_begun():
    harness = Harness(TIMEOUT, PER_ADDRESS, BODY_MAX)
    idle, busy = harness.connect(), harness.connect()
    idle.sendall(post(close=False))
    assert idle.recv(65536).startswith(b"HTTP/1.1 200")
    busy.sendall(post(test="later", close=False))
    time.sleep(0.1)
    harness.process.terminate()
    assert read_all(idle) == b""
    with pytest.raises(ConnectionRefusedError):
        harness.connect()
    assert split_answers(read_all(busy))[0].status == 200
    assert harness.process.wait(10) == 0
