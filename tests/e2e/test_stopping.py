"""Every way to end, and what is left behind: nothing.

One service lives several times here; each test leaves it as the next one's first lines expect it, running or not.
"""
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from support import host
from support.host import Process, wait_until


class Traces:
    """Everything that a service has on the machine, noted while it runs."""

    def __init__(self, service):
        self.service = service
        self.pids = [process.pid for process in [*service.processes(), *host.descendants_of(service.pid)]]
        room = next(iter(service.rooms().values()))
        self.cgroups = sorted({str(folder) for process in room for folder in process.cgroups.values()})
        assert self.cgroups and self.pids

    def left(self):
        found = [f"process {pid}" for pid in self.pids if Process(pid).alive]
        found += [f"process {process.pid} {process.name}" for process in self.service.processes()]
        return found + self.cgroups_left()

    def cgroups_left(self):
        return [folder for folder in self.cgroups if os.path.exists(folder)]


def mounted_places():
    return sorted(line.split()[4] for line in host.mounts_of("self"))


@pytest.fixture(scope="module")
def life(make_service):
    """Started without a key of the operator's: it makes one itself."""
    service = make_service(start=False)
    del service.settings["SANDBOX_ADMIN_KEY"]
    service.places_before = mounted_places()
    return service


def key_file(service):
    found = [path for path in service.data_dir.rglob("*") if path.is_file() and "key" in path.name]
    assert len(found) == 1, found
    return found[0]


def begin(service):
    """Starts it if it does not run, with the key that it has made."""
    if service.process is None or service.process.poll() is not None:
        service.spawn()
        service.wait_ready()
        service.key = key_file(service).read_text().strip()
        service.wait_pool(60)
    return service


BUSY = """
    import os, signal, time
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            time.sleep(100)
    open("/tmp/f", "wb").write(b"x" * 1000000)
    time.sleep(100)
"""


def busy(service):
    """A run with daemons that nobody gets an answer from, because the service is about to die."""
    def one():
        try:
            service.run(BUSY)
        except Exception:  # the connection breaks: what else
            pass

    thread = threading.Thread(target=one, daemon=True)
    thread.start()
    assert wait_until(lambda: any(len(room) >= 6 for room in service.rooms().values()), 20)
    return thread


def test_the_generated_key_is_kept_private_and_printed_once(life):
    begin(life)
    path = key_file(life)
    assert path.stat().st_mode & 0o777 == 0o600 and path.stat().st_uid == 0
    assert len(life.key) >= 40 and life.log().count(life.key) == 1
    assert life.get("/v1/environment").status == 200


def test_a_second_service_on_the_same_port_is_refused(make_service, life):
    begin(life)
    second = make_service({"SANDBOX_LISTEN": f"127.0.0.1:{life.port}"}, start=False)
    second.spawn()
    assert second.process.wait(60) != 0
    assert str(life.port) in second.log()
    assert life.run("print(1)").stdout == "1\n", "the first goes on"


def test_a_second_service_on_the_same_folder_is_refused(make_service, life):
    begin(life)
    second = make_service({"SANDBOX_DATA_DIR": str(life.data_dir)}, start=False)
    second.spawn()
    assert second.process.wait(60) != 0
    assert str(life.data_dir) in second.log()
    assert life.run("print(1)").stdout == "1\n", "the first goes on"


def test_sigterm_lets_a_run_finish_and_takes_no_new_one(life):
    begin(life)
    traces, replies = Traces(life), []
    thread = threading.Thread(target=lambda: replies.append(life.run("import time; time.sleep(2); print('finished')")))
    thread.start()
    time.sleep(0.7)
    life.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    for path, ask in (("/v1/execute", lambda: life.post(body={"code": "print(1)"}, timeout=5)),
                      ("/readyz", lambda: life.get("/readyz", key=None, timeout=5))):
        try:
            assert ask().status == 503, path
        except OSError:
            pass  # it does not listen any more: as good
    thread.join(20)
    assert replies and replies[0].stdout == "finished\n" and replies[0].outcome == "ok"
    assert life.process.wait(20) == 0
    assert traces.left() == [] and mounted_places() == life.places_before


def test_it_starts_again_without_a_pool_and_with_the_same_key(life):
    old = life.key
    life.settings["SANDBOX_WARM_POOL"] = "0"
    begin(life)
    assert life.key == old and life.log().count(old) == 1, "printed once, at the first start"
    assert life.rooms() == {}
    for _ in range(2):
        assert life.run("print(6 * 7)").stdout == "42\n"
    assert wait_until(lambda: life.rooms() == {}), "the reply comes before the last of the sandbox is gone"


def test_an_interrupt_ends_it_at_once_and_nothing_is_left(life):
    begin(life)
    with life.hold():
        traces = Traces(life)
    began = time.monotonic()
    assert life.stop(signal.SIGINT) == 0
    assert time.monotonic() - began < 5
    assert traces.left() == [] and mounted_places() == life.places_before
    assert not [name for name in os.listdir(life.data_dir) if "tmp" in name or "rootfs" in name]


def test_kill_of_the_spawner_ends_the_api_process_and_every_sandbox(life):
    life.settings["SANDBOX_WARM_POOL"] = "2"
    begin(life)
    thread = busy(life)
    life.traces, api = Traces(life), life.api_pid
    os.kill(life.pid, signal.SIGKILL)
    assert life.process.wait(5) == -signal.SIGKILL
    assert wait_until(lambda: not Process(api).alive, 3), "the api process has to end"
    assert wait_until(lambda: not life.processes(), 5), life.describe_rooms()
    thread.join(5)
    assert life.traces.cgroups_left(), "the control for the next test: a killed spawner cannot remove its control groups"


def test_the_next_start_cleans_up_what_it_finds(life):
    begin(life)
    used = {str(folder) for room in life.rooms().values() for process in room for folder in process.cgroups.values()}
    assert set(life.traces.cgroups_left()) <= used
    assert life.run("print(1)").stdout == "1\n"


def test_kill_of_the_api_process_ends_the_spawner_and_nothing_is_left(life):
    begin(life)
    thread = busy(life)
    traces = Traces(life)
    os.kill(life.api_pid, signal.SIGKILL)
    assert life.process.wait(10) != 0
    assert traces.left() == [] and life.traces.cgroups_left() == [] and mounted_places() == life.places_before
    thread.join(5)


def test_a_start_that_fails_leaves_nothing(make_service):
    service = make_service({"SANDBOX_WARM_POOL": "many"}, start=False)
    before = mounted_places()
    service.spawn()
    assert service.process.wait(20) != 0
    assert "SANDBOX_WARM_POOL" in service.log() and "many" in service.log()
    assert service.processes() == [] and mounted_places() == before


@pytest.mark.parametrize("name, value", [("SANDBOX_NO_SUCH_THING", "1"), ("SANDBOX_EXECUTE_MAX_TIMEOUT_S", "121"),
                                         ("SANDBOX_LISTEN", "nowhere"), ("SANDBOX_IMAGE", "/no/such/image")])
def test_bad_settings_stop_the_start(make_service, name, value):
    service = make_service({name: value}, start=False).spawn()
    assert service.process.wait(20) != 0
    assert name in service.log() or value in service.log()


def test_an_image_that_is_none_stops_the_start(make_service):
    service = make_service(start=False)
    image = Path(service.folder) / "image.erofs"
    image.write_bytes(b"not an image" * 1000)
    service.settings["SANDBOX_IMAGE"] = str(image)
    service.spawn()
    assert service.process.wait(60) != 0
    assert str(image) in service.log() and service.processes() == []
