"""platformctl and the network: addresses, keys, and services that are away, busy, broken or somebody else."""
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from support.cli import PLATFORMCTL, Cli
from support.fake_api import KEY, FakeApi, reply


@pytest.fixture
def fake():
    server = FakeApi()
    server.pages["/v1/status"] = (200, {"ready": True})
    yield server
    server.close()


class Raw:
    """A server that answers the first request with fixed bytes and closes."""

    def __init__(self, answer, wait=0):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.asked = b""
        threading.Thread(target=self.serve, args=(answer, wait), daemon=True).start()

    def serve(self, answer, wait):
        connection, _ = self.listener.accept()
        with connection:
            self.asked = connection.recv(65536)
            try:
                connection.sendall(answer)
                time.sleep(wait)
            except OSError:
                pass

    def close(self):
        self.listener.close()


@pytest.fixture
def raw():
    made = []

    def make(answer, wait=0):
        made.append(Raw(answer, wait))
        return made[-1]

    yield make
    for server in made:
        server.close()


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


# ---- services that are not as they should be


def test_nobody_listens():
    url = f"http://127.0.0.1:{free_port()}"
    for words in (["run", "-c", "x"], ["status"], ["environment"]):
        result = Cli(url, KEY)(*words)
        assert (result.code, result.stdout) == (69, b"")
        assert f"cannot reach the service at {url}" in result.stderr and "Is it running?" in result.stderr


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"])
def test_a_service_that_goes_away_before_its_answer(raw, answer):
    for words in (["run", "-c", "x"], ["status"]):
        result = Cli(raw(answer).url, KEY)(*words)
        assert (result.code, result.stdout) == (69, b""), result
        assert "ended in the middle" in result.stderr


def test_a_service_that_goes_away_during_the_run(fake):
    fake.will_stream(("stdout", {"text": "begun\n"}), "cut")
    result = Cli(fake.url, KEY)("run", "-c", "x")
    assert (result.code, result.stdout) == (69, b"begun\n")
    assert "ended in the middle" in result.stderr


def test_a_stream_that_ends_without_its_last_event(fake):
    fake.will_stream(("stdout", {"text": "begun\n"}))
    result = Cli(fake.url, KEY)("run", "-c", "x")
    assert (result.code, result.stdout) == (69, b"begun\n")
    assert "ended before the run did" in result.stderr


@pytest.mark.parametrize("answer, words", [
    (b"SSH-2.0-OpenSSH_9.2\r\n", "no sense in what"),
    (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>x", "Is this the address"),
    (b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>x", "HTTP 404 in a form"),
    (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]", "Is this the address"),
    (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{,}", "Is this the address"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n", "HTTP 302"),
    (b"HTTP/1.1 500 x\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"error\":1}", "HTTP 500 in a"),
    (b"HTTP/1.1 200 OK\r\nContent-", "Is this the address"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "Is this the address"),
])
def test_something_else_answers(raw, answer, words):
    for command in (["run", "-c", "x"], ["status"]):
        result = Cli(raw(answer).url, KEY)(*command)
        assert (result.code, result.stdout) == (76, b""), result
        assert words in result.stderr and "Is this the address of a Code Sandbox?" in result.stderr


def test_a_stream_without_end_is_bounded(raw):
    """An event that never ends must not fill the memory of the machine."""
    def flood(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
        try:
            while True:
                connection.sendall(b"x" * 1048576)
        except OSError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=lambda: flood(listener.accept()[0]), daemon=True).start()
        result = Cli(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY)("run", "-c", "x", timeout=120)
    assert result.code == 76 and "too large" in result.stderr


# ---- keys


def test_a_wrong_key(fake):
    result = Cli(fake.url, "sbx_wrong")("run", "-c", "x")
    assert result.code == 77 and "this key is not known" in result.stderr


def test_where_the_key_comes_from(fake, tmp_path):
    (tmp_path / "admin-key").write_text(KEY + "\n")
    assert Cli(fake.url)("status", SANDBOX_DATA_DIR=str(tmp_path)).code == 0  # the file of a local service
    assert Cli(fake.url, "sbx_wrong")("status", SANDBOX_DATA_DIR=str(tmp_path)).code == 77  # the variable first
    assert Cli(fake.url, "sbx_wrong")("status", "--key", KEY).code == 0  # the option goes before both
    assert Cli(fake.url, "sbx_wrong")("--key", KEY, "status").code == 0  # also in front of the command
    assert Cli(fake.url)("status", SANDBOX_ADMIN_KEY=KEY).code == 0  # what the service itself is given
    assert Cli(fake.url)("status", SANDBOX_DATA_DIR="/nowhere").code == 77
    assert "Authorization" not in fake.headers


def test_the_key_of_this_machine_is_not_sent_elsewhere(fake, tmp_path):
    """localtest.localhost leads here as well, but is not a name that is known to."""
    (tmp_path / "admin-key").write_text(KEY + "\n")
    elsewhere = f"http://localtest.localhost:{fake.port}"
    result = Cli(elsewhere)("status", SANDBOX_DATA_DIR=str(tmp_path))
    assert result.code == 77 and "Authorization" not in fake.headers
    assert Cli(elsewhere)("status", SANDBOX_ADMIN_KEY=KEY).code == 77
    assert Cli(elsewhere)("status", SANDBOX_KEY=KEY).code == 0  # told so, it does


def test_the_key_does_not_stay_in_the_list_of_processes(fake):
    fake.will_hang(("stdout", {"text": "begun\n"}))
    process = Cli(fake.url).start("run", "-c", "x", "--key", KEY)
    try:
        assert process.stdout.readline() == b"begun\n"
        command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert KEY.encode() not in command and b"--key" in command
    finally:
        process.kill()
        process.wait()


def test_a_key_is_never_shown(fake):
    result = Cli(fake.url)("status", "--key", "sbx_geheim and more")
    assert result.code == 64 and "geheim" not in result.stderr


# ---- addresses


def test_where_the_address_comes_from(fake):
    other = f"http://127.0.0.1:{free_port()}"
    assert Cli(fake.url + "/", KEY)("status").code == 0
    assert Cli(other, KEY)("status", "--url", fake.url).code == 0
    assert Cli(None, KEY)("status", SANDBOX_LISTEN=f"127.0.0.1:{fake.port}").code == 0
    assert Cli(None, KEY)("status", SANDBOX_LISTEN=f"0.0.0.0:{fake.port}").code == 0
    assert Cli("", KEY)("status", SANDBOX_LISTEN=f"localhost:{fake.port}").code == 0


def test_wrong_settings_of_the_service_do_not_stop_its_client(fake):
    assert Cli(fake.url)("status", SANDBOX_NONSENSE="1", SANDBOX_KEY=KEY).code == 0
    assert Cli(fake.url)("status", SANDBOX_NONSENSE="1").code == 77


def test_a_prefix_of_the_address(fake):
    fake.pages["/sandbox/v1/status"] = (200, {"ready": True})
    assert Cli(fake.url + "/sandbox/", KEY)("status").code == 0


def test_no_proxy_for_addresses_of_this_machine(fake):
    proxy = f"http://127.0.0.1:{free_port()}"
    assert Cli(fake.url, KEY)("status", http_proxy=proxy, HTTP_PROXY=proxy, ALL_PROXY=proxy, all_proxy=proxy).code == 0


def test_large_inputs_are_not_held_up(fake, tmp_path):
    """curl waits a second for "100 Continue" before a large body unless it is told not to."""
    fake.will_reply("ok\n")
    (tmp_path / "large").write_bytes(os.urandom(3_000_000))
    began = time.monotonic()
    assert Cli(fake.url, KEY)("run", "-c", "x", "-f", tmp_path / "large").code == 0
    assert "Expect" not in fake.headers
    assert time.monotonic() - began < 10


def test_one_connection_is_all_it_opens(fake):
    """Nothing else is contacted: no look-up, no second server."""
    fake.will_stream(("done", reply()))
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    environment = {**Cli(fake.url, KEY).environment, "ASAN_OPTIONS": "detect_leaks=0"}  # it cannot trace a traced one
    trace = subprocess.run(["strace", "-f", "-e", "trace=connect", str(PLATFORMCTL), "run", "-c", "x"],
                           capture_output=True, env=environment, timeout=60)
    assert trace.stderr.count(b"connect(") == 1, trace.stderr
