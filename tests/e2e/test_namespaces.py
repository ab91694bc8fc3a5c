"""Every sandbox has user, PID, mount, network, IPC, UTS and cgroup namespaces of its own."""
import os

import pytest

from support import host

INSIDE = """
    import json, os
    print(json.dumps({kind: os.readlink(f"/proc/self/ns/{kind}")
                      for kind in ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")}))
"""


@pytest.fixture(scope="module")
def held(service):
    with service.hold(INSIDE) as first:
        yield first


@pytest.mark.parametrize("kind", host.NAMESPACES)
def test_from_the_host(service, held, kind):
    own = held.process.namespace(kind)
    assert own != os.readlink(f"/proc/self/ns/{kind}"), "the host's own namespace"
    assert own != service.spawner.namespace(kind), "the spawner's namespace"
    assert own != service.api.namespace(kind), "the api process's namespace"
    for room in service.rooms().values():
        for process in room:
            if process.namespace("pid") != held.process.namespace("pid"):
                assert own != process.namespace(kind), "shared with another sandbox"


def test_from_the_host_not_the_template_s(service, held):
    template = service.template
    assert template is not None, service.describe_rooms()
    shared = [kind for kind in host.NAMESPACES if held.process.namespace(kind) == template.namespace(kind)]
    assert shared == []


def test_all_processes_of_a_room_share_them(held):
    for kind in host.NAMESPACES:
        assert held.init.namespace(kind) == held.process.namespace(kind), kind


def test_from_inside(service):
    """The names that a snippet sees are the ones that the host sees, and two runs never share one."""
    with service.hold(INSIDE) as run:
        seen_by_host = {kind: run.process.namespace(kind) for kind in host.NAMESPACES}
        first = run.release().printed
    assert first == seen_by_host
    second = service.run(INSIDE).printed
    assert {kind for kind in first if first[kind] == second[kind]} == set()


def test_pid_two_under_an_init_of_one(service, held):
    """The snippet is PID 2, so that signals and orphans behave as everywhere; PID 1 is the room's own init."""
    assert held.process.inner_pids[-1] == 2
    assert held.init.inner_pids[-1] == 1
    assert "python" not in held.init.program
    assert service.run("import os; print(os.getpid(), os.getppid())").stdout in ("2 1\n", "2 0\n")


def test_host_name_says_nothing(service):
    reply = service.run("import socket, os; print(socket.gethostname()); print(os.uname().nodename)")
    names = set(reply.stdout.split())
    assert len(names) == 1 and os.uname().nodename not in names


def test_network_namespace_has_a_loopback_only(held):
    devices = (held.process.proc / "net" / "dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]
    assert (held.process.proc / "net" / "route").read_text().splitlines()[1:] == []
