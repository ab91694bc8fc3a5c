"""What the service says to a service manager such as systemd, and the socket that it takes from one."""
import os
import socket
import time

import pytest
from support.service import Service



class Manager:
    """The manager's end: what has been said, line by line."""

    def __init__(self, folder, address=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.address = address or str(folder / "notify")
        self.socket.bind("\0" + self.address[1:] if self.address.startswith("@") else self.address)

    def hear(self, seconds):
        self.socket.settimeout(seconds)
        return self.socket.recv(4096).decode()

    def close(self):
        self.socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    made = Manager(tmp_path, f"@code-sandbox-test-{os.getpid()}" if request.param == "abstract" else None)
    yield made
    made.close()


@pytest.fixture
def start(tmp_path):
    started = []

    def go(launcher=(), pass_fds=(), **environment):
        service = Service(tmp_path / "service", {"SANDBOX_WARM_POOL": 1}, launcher)
        service.pass_fds = pass_fds
        service.environment.update(environment)
        started.append(service)
        return service.spawn()

    yield go
    for service in started:
        if service.process and service.process.poll() is None:
            service.stop()


def test_it_says_that_it_serves_lives_and_stops(start, manager):
    service = start(NOTIFY_SOCKET=manager.address, WATCHDOG_USEC="600000")
    assert manager.hear(120) == "READY=1"
    assert service.get("/readyz", key=None).status == 200, "it was ready before it said so"
    began = time.monotonic()
    assert [manager.hear(5) for _ in range(4)] == ["WATCHDOG=1"] * 4
    assert time.monotonic() - began > 0.6, "it speaks twice in each period, not at once"
    assert service.stop() == 0
    while (said := manager.hear(5)) == "WATCHDOG=1":
        pass
    assert said == "STOPPING=1"


def test_without_a_watchdog_it_is_silent_between(start, tmp_path):
    manager = Manager(tmp_path)
    service = start(NOTIFY_SOCKET=manager.address)
    assert manager.hear(120) == "READY=1"
    with pytest.raises(TimeoutError):
        manager.hear(1.5)
    assert service.stop() == 0
    assert manager.hear(5) == "STOPPING=1"


def test_an_address_that_is_none_stops_the_start(start):
    service = start(NOTIFY_SOCKET="nowhere")
    assert service.process.wait(60) != 0
    assert "NOTIFY_SOCKET" in service.log() and "is not the address of a socket" in service.log()


def test_a_socket_that_was_opened_before_is_used(start, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        handed = server.fileno()
        service = start(["/bin/bash", "-c", f'exec 3<&{handed}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0"'], (handed,))
        own, service.port = service.port, server.getsockname()[1]
        service.wait_ready()
        assert service.execute("print(6 * 7)").stdout == "42\n"
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", own), timeout=2).close()
        assert service.stop() == 0
        # It was the manager's: it is open still, so that who comes during a restart waits instead of being refused.
        socket.create_connection(server.getsockname(), timeout=2).close()


@pytest.mark.parametrize("shell, said", [
    ('exec 3</dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0"', "is not one that listens for TCP"),
    ('exec 3<&-; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0"', "the service manager's descriptor 3 is no socket"),
    ('LISTEN_PID=$$ LISTEN_FDS=2 exec "$0"', "2 sockets were handed over; it takes one"),
])
def test_anything_else_in_its_place_stops_the_start(start, shell, said):
    service = start(["/bin/bash", "-c", shell])
    assert service.process.wait(60) != 0
    assert said in service.log()


def test_what_is_meant_for_another_process_is_passed_over(start):
    service = start(["/bin/bash", "-c", 'LISTEN_PID=1 LISTEN_FDS=1 exec "$0"'])
    service.wait_ready()
    assert service.stop() == 0
