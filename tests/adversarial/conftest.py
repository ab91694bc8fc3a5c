"""What has to hold after every attack, whatever it was: the common oracle.

- A run that follows gives the right answer in normal time.
- Under the host UIDs of the service there is the template and the parked pool, and nothing else.
- Control groups, mounts and descriptors are back at what they were.
- None of the canary strings came back in any reply: what was planted in the service's environment and data folder, and
  what another run had in its code, its input and its files.
"""
import secrets
import time

import pytest

from support import host
from support.client import text_file
from support.host import wait_until

NORMAL_SECONDS = 2.0
DESCRIPTORS_TO_SPARE = 6


class Baseline:
    """The shared service at rest, measured once and kept."""

    def __init__(self, service):
        self.service = service
        service.run("print(1)")
        service.wait_pool()
        room = next(iter(service.rooms().values()))
        self.cgroup_roots = sorted({str(folder.parent) for folder in room[0].cgroups.values()})
        self.cgroups = self.count_cgroups()
        self.mounts = len(host.mounts_of(service.pid))
        self.descriptors = {process.pid: len(process.descriptors) for process in (service.spawner, service.api)}
        self.host_mounts = len(host.mounts_of("self"))

    def count_cgroups(self):
        return sum(len(host.cgroup_folders(root)) for root in self.cgroup_roots)

    def outside_rooms(self):
        inmates = {process.pid for room in self.service.rooms().values() for process in room}
        return [process for process in self.service.processes() if process.pid not in inmates]

    def templates(self):
        return [process for process in self.outside_rooms() if process.alive and process.name.startswith("python")]

    def differences(self):
        service, found = self.service, []
        # A template that has served its time is there beside its successor for a while, with a group of its own.
        spare = max(len(self.templates()) - 1, 0)
        groups = self.cgroups + spare * len(self.cgroup_roots)
        if self.count_cgroups() != groups:
            found.append(f"{self.count_cgroups()} control groups, not {groups}")
        if len(host.mounts_of(service.pid)) != self.mounts or len(host.mounts_of("self")) != self.host_mounts:
            found.append("mounts were left")
        for pid, count in self.descriptors.items():
            now = len(host.Process(pid).descriptors)
            if now > count + DESCRIPTORS_TO_SPARE * (1 + spare):
                found.append(f"{now} descriptors in process {pid}, not {count}")
        if not service.pool_is_quiet():
            found.append(f"rooms: {service.describe_rooms()}")
        if len(self.outside_rooms()) > 4:
            found.append(f"processes outside the rooms: {[process.pid for process in self.outside_rooms()]}")
        return found


@pytest.fixture(scope="session")
def baseline(service):
    return Baseline(service)


@pytest.fixture(autouse=True)
def oracle(service, baseline):
    leaks_before = len(service.leaks.found)
    pids = service.pid, service.api_pid
    yield
    began = time.monotonic()
    reply = victim(service)
    seconds = time.monotonic() - began
    assert reply.stdout == "42\n" and reply.exit_code == 0, f"the next run is wrong: {reply!r}"
    assert seconds < NORMAL_SECONDS, f"the next run took {seconds:.2f} s"
    assert (service.pid, service.api_pid) == pids and service.process.poll() is None, "a process of the service was lost"
    wait_until(lambda: not baseline.differences(), 12, 0.1)
    assert baseline.differences() == []
    assert service.leaks.found[leaks_before:] == []


def victim(service):
    """Somebody else's run: it carries secrets of its own in code, input, output file and memory. They may come back in
    its own reply, which is why they count as canaries only from then on."""
    texts = {where: "canary-" + secrets.token_hex(16) for where in ("code", "standard input", "input file", "output file")}
    reply = service.run(f"""
        # {texts["code"]}
        open("result.txt", "w").write({texts["output file"]!r})
        print(6 * 7)
        """, stdin=texts["standard input"], files=[text_file("input.txt", texts["input file"])])
    # Of all the victims the latest are enough: searching for thousands would make every reply slow.
    for old in [canary for canary, where in service.leaks.canaries.items() if where.startswith("another run's")][:-16]:
        del service.leaks.canaries[old]
    for where, text in texts.items():
        service.leaks.add(text, "another run's " + where)
    return reply

