"""Requests that two readers understand differently: lengths that disagree, folded lines, odd line ends, old versions."""
import socket

import pytest

AUTH = "Authorization: Bearer KEY"
BODY = '{"code": "print(1)"}'
HEAD = f"POST /v1/execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{AUTH}\r\n"
REFUSED = {
    "two lengths": HEAD + f"Content-Length: {len(BODY)}\r\nContent-Length: 5\r\n\r\n{BODY}",
    "length and chunks": HEAD + f"Content-Length: {len(BODY)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "negative length": HEAD + f"Content-Length: -1\r\n\r\n{BODY}",
    "length in hex": HEAD + f"Content-Length: 0x14\r\n\r\n{BODY}",
    "length with a sign": HEAD + f"Content-Length: +{len(BODY)}\r\n\r\n{BODY}",
    "a list of lengths": HEAD + f"Content-Length: {len(BODY)}, {len(BODY) + 1}\r\n\r\n{BODY}",
    "huge length": HEAD + f"Content-Length: 99999999999999999999\r\n\r\n{BODY}",
    "unknown encoding": HEAD + "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
    "encoding in disguise": HEAD + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two encodings": HEAD + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "folded line": HEAD + f"X-A: b\r\n c\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "space before the colon": HEAD + f"Content-Length : {len(BODY)}\r\n\r\n{BODY}",
    "NUL in a name": HEAD + f"X-\0A: b\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "no host": f"POST /v1/execute HTTP/1.1\r\nContent-Type: application/json\r\n{AUTH}\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "two hosts": HEAD + f"Host: y\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "unknown version": HEAD.replace("HTTP/1.1", "HTTP/9.9") + f"Content-Length: {len(BODY)}\r\n\r\n{BODY}",
    "no version": f"GET /healthz\r\n\r\n",
    "a header of 100 kB": HEAD + "X-A: " + "a" * 100_000 + f"\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}",
    "a thousand headers": HEAD + "".join(f"X-{number}: a\r\n" for number in range(1000)) + f"Content-Length: {len(BODY)}\r\n\r\n{BODY}",
    "bad chunk": HEAD + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "binary": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


def exchange(service, text):
    with socket.create_connection((service.address, service.port), timeout=6) as sock:
        sock.sendall(text.replace("KEY", service.key).encode("latin-1"))
        try:
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = b""
        try:
            while block := sock.recv(65536):
                answer += block
        except (ConnectionResetError, socket.timeout):
            pass
        return answer


@pytest.mark.parametrize("name", REFUSED)
def test_refused(service, name):
    answer = exchange(service, REFUSED[name])
    assert b" 200 " not in answer.split(b"\r\n")[0] and b'"stdout"' not in answer
    if answer.startswith(b"HTTP/1."):
        assert answer.split()[1][:1] in (b"4", b"5")


def test_control_the_plain_request_is_taken(service):
    with socket.create_connection((service.address, service.port), timeout=6) as sock:
        sock.sendall((HEAD + f"Connection: close\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}").replace("KEY", service.key).encode())
        answer = b""
        while block := sock.recv(65536):
            answer += block
    assert answer.startswith(b"HTTP/1.1 200 ") and b'"stdout"' in answer
