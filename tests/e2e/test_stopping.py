"""Every way to end, and what is left behind: nothing."""
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
        self.pids = [process.pid for process in service.processes()] + [p.pid for p in host.descendants_of(service.pid)]
        room = next(iter(service.rooms().values()))
        self.cgroups = sorted({str(folder) for process in room for folder in process.cgroups.values()})
        self.mounts = host.mounts_of(service.pid)
        assert self.cgroups and self.pids

    def left(self):
        found = [f"process {pid}" for pid in self.pids if Process(pid).alive]
        found += [f"process {process.pid} {process.name}" for process in self.service.processes()]
        found += [folder for folder in self.cgroups if os.path.exists(folder)]
        return found


@pytest.fixture
def running(make_service):
    service = make_service()
    yield service
    if service.process.poll() is None:
        service.process.kill()
        service.process.wait()


def host_state():
    own_mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    # The super block's counter in the first column changes with other people's mounts; what is mounted where does not.
    return sorted(line.split()[4] for line in own_mounts)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_nothing_is_left(running, how):
    before = host_state()
    running.run("open('f', 'w').write('x')")
    running.wait_pool()
    traces = Traces(running)
    began = time.monotonic()
    assert running.stop(how) == 0
    assert time.monotonic() - began < 5
    assert traces.left() == []
    assert host_state() == before
    assert not [name for name in os.listdir(running.data_dir) if "tmp" in name or "rootfs" in name]


def test_sigterm_lets_a_run_finish(running):
    replies = []
    thread = threading.Thread(target=lambda: replies.append(running.run("import time; time.sleep(1.5); print('finished')")))
    thread.start()
    time.sleep(0.5)
    traces = Traces(running)
    running.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    try:
        response = running.post(body={"code": "print(1)"}, timeout=5)
        assert response.status == 503, "no new runs while it drains"
    except OSError:
        pass  # it does not listen any more: as good
    thread.join(20)
    assert replies and replies[0].stdout == "finished\n" and replies[0].outcome == "ok"
    assert running.process.wait(20) == 0
    assert traces.left() == []


def test_readyz_says_so_while_draining(running):
    with running.hold():
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        try:
            assert running.get("/readyz", key=None, timeout=3).status == 503
        except OSError:
            pass


@pytest.mark.parametrize("victim", ["spawner", "api"])
def test_kill_of_either_process_ends_the_other_and_every_sandbox(running, victim):
    code = """
        import os, signal, subprocess, time
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                time.sleep(100)
        open("/tmp/f", "wb").write(b"x" * 1000000)
        time.sleep(100)
        """

    def one():
        try:
            running.run(code)
        except Exception:
            pass  # the connection breaks: what else

    thread = threading.Thread(target=one, daemon=True)
    thread.start()
    assert wait_until(lambda: any(len(room) >= 5 for room in running.rooms().values()), 10)
    traces = Traces(running)
    spawner, api = running.pid, running.api_pid
    os.kill(spawner if victim == "spawner" else api, signal.SIGKILL)
    # A killed process of ours is a zombie until its parent asks for it.
    assert wait_until(lambda: running.process.poll() is not None, 5), "the spawner has to end"
    assert wait_until(lambda: not Process(api).alive, 3), "the api process has to end"
    assert wait_until(lambda: not running.processes(), 5), running.describe_rooms()
    assert running.process.returncode != 0
    thread.join(5)
    if victim == "api":  # the spawner was there to clean up
        assert traces.left() == []


def test_the_next_start_cleans_up_what_it_finds(running):
    traces = Traces(running)
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    assert wait_until(lambda: not running.processes(), 5)
    leftovers = [folder for folder in traces.cgroups if os.path.exists(folder)]
    assert leftovers, "the control: a killed spawner cannot remove its cgroups"
    running.start()
    assert [folder for folder in leftovers if os.path.exists(folder)
            and not (Path(folder) / "cgroup.procs").read_text().split()] == []
    assert running.run("print(1)").stdout == "1\n"
    fresh = Traces(running)
    assert running.stop() == 0
    assert fresh.left() == [] and traces.left() == []


def test_it_starts_again_on_the_same_folder_with_the_same_key(running):
    first = running.run("print(1)").run_id
    running.stop()
    running.start()
    assert running.run("print(1)").run_id != first


def test_a_second_service_on_the_same_folder_or_port_is_refused(make_service, running):
    second = make_service({"SANDBOX_LISTEN": f"127.0.0.1:{running.port}"}, start=False)
    second.spawn()
    assert second.process.wait(30) != 0
    assert str(running.port) in second.log()
    assert running.run("print(1)").stdout == "1\n", "the first goes on"


def test_a_start_that_fails_leaves_nothing(make_service):
    service = make_service({"SANDBOX_WARM_POOL": "many"}, start=False)
    before = host_state()
    service.spawn()
    assert service.process.wait(20) != 0
    assert "SANDBOX_WARM_POOL" in service.log() and "many" in service.log()
    assert service.processes() == [] and host_state() == before


@pytest.mark.parametrize("name, value", [("SANDBOX_NO_SUCH_THING", "1"), ("SANDBOX_EXECUTE_MAX_TIMEOUT_S", "121"),
                                         ("SANDBOX_LISTEN", "nowhere"), ("SANDBOX_IMAGE", "/no/such/image")])
def test_bad_settings_stop_the_start(make_service, name, value):
    service = make_service({name: value}, start=False).spawn()
    assert service.process.wait(20) not in (0, None)
    assert name in service.log() or value in service.log()


def test_the_generated_key_is_kept_private_and_printed_once(make_service):
    service = make_service(start=False)
    del service.settings["SANDBOX_ADMIN_KEY"]
    service.spawn()
    assert wait_until(lambda: service_answers(service), 60)
    files = [path for path in service.data_dir.iterdir() if "key" in path.name]
    assert len(files) == 1 and files[0].stat().st_mode & 0o777 == 0o600 and files[0].stat().st_uid == 0
    key = files[0].read_text().strip()
    assert service.log().count(key) == 1
    assert service.get("/v1/environment", key=key).status == 200
    service.stop()
    service.spawn()
    assert wait_until(lambda: service_answers(service), 60)
    assert service.log().count(key) == 1 and service.get("/v1/environment", key=key).status == 200
    service.stop()


def service_answers(service):
    try:
        return service.get("/readyz", key=None, timeout=5).status == 200
    except OSError:
        return False
