"""UID and GID 65532 inside, a distinct unprivileged host UID outside, no privilege of any kind."""
import os

import pytest

NONROOT = 65532
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


@pytest.fixture(scope="module")
def held(service):
    with service.hold() as run:
        yield run


def test_inside_it_is_nonroot(service):
    reply = service.run("""
        import grp, json, os, pwd
        print(json.dumps([os.getresuid(), os.getresgid(), os.getgroups(), pwd.getpwuid(os.getuid()).pw_name,
                          grp.getgrgid(os.getgid()).gr_name, os.path.expanduser("~"), [u.pw_uid for u in pwd.getpwall()]]))
        """)
    uids, gids, groups, user, group, home, everybody = reply.printed
    assert uids == [NONROOT] * 3 and gids == [NONROOT] * 3
    assert set(groups) <= {NONROOT}
    assert (user, group, home) == ("nonroot", "nonroot", "/home/nonroot")
    assert everybody == [NONROOT], "there is no other user to become"


def test_from_the_host_it_is_an_unprivileged_user_of_its_own(service, held):
    uid = held.process.uids[0]
    assert held.process.uids == [uid] * 4 and held.process.gids == [held.process.gids[0]] * 4
    assert service.uid_base <= uid < service.uid_base + 65536
    assert service.uid_base <= held.process.gids[0] < service.uid_base + 65536
    assert (held.process.status["Groups"].split() or [str(held.process.gids[0])]) == [str(held.process.gids[0])]


def test_no_two_sandboxes_share_a_host_uid(service, held):
    owners = {}
    for space, room in service.rooms().items():
        for process in room:
            owners.setdefault(process.uids[0], set()).add(space)
    assert len(owners) >= 2
    assert all(len(spaces) == 1 for spaces in owners.values()), owners
    assert service.template.uids[0] not in owners and service.api.uids[0] not in owners


def test_only_one_user_is_mapped(held):
    for name in ("uid_map", "gid_map"):
        lines = (held.process.proc / name).read_text().splitlines()
        assert len(lines) == 1
        inside, _, count = map(int, lines[0].split())
        assert (inside, count) == (NONROOT, 1)


def test_no_capability_in_any_set_seen_from_the_host(held):
    for process in held.room:
        sets = {name: int(process.status[name], 16) for name in CAPABILITY_SETS}
        assert sets == dict.fromkeys(CAPABILITY_SETS, 0), process.name


def test_no_capability_in_any_set_seen_from_inside(service):
    reply = service.run("""
        import json
        lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print(json.dumps({name: value.strip() for name, value in lines.items() if name.startswith(("Cap", "NoNew", "Secc"))}))
        """)
    seen = reply.printed
    assert {int(seen[name], 16) for name in CAPABILITY_SETS} == {0}
    assert seen["NoNewPrivs"] == "1" and seen["Seccomp"] == "2"


def test_no_new_privileges_and_a_filter_on_every_process_of_the_room(held):
    for process in held.room:
        assert process.status["NoNewPrivs"] == "1", process.name
        assert process.status["Seccomp"] == "2", process.name


def test_children_are_confined_alike(service):
    with service.hold("""
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"])
        """) as run:
        child = next(p for p in run.room if p.inner_pids[-1] > 2)
        assert child.uids == run.process.uids
        assert {int(child.status[name], 16) for name in CAPABILITY_SETS} == {0}
        assert child.status["NoNewPrivs"] == "1" and child.status["Seccomp"] == "2"


def test_the_host_sees_no_terminal_and_a_session_of_its_own(held):
    fields = (held.process.proc / "stat").read_text().rsplit(")", 1)[1].split()
    session, terminal = int(fields[3]), int(fields[4])
    assert terminal == 0
    assert session != os.getsid(0)


def test_a_crash_leaves_no_core_file(service, held):
    limits = (held.process.proc / "limits").read_text()
    core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
    assert core.split()[4:6] == ["0", "0"]
    reply = service.run("import os; os.abort()")
    assert reply.exit_code == 134 and reply.files == []


def test_limits_are_what_the_kernel_enforces(held):
    limits = {}
    for line in (held.process.proc / "limits").read_text().splitlines()[1:]:
        limits[line[:26].strip()] = line[26:].split()[:2]
    assert limits["Max open files"] == ["1024", "1024"]
    assert limits["Max locked memory"][1] == "0"
    assert limits["Max realtime priority"] == ["0", "0"]
    assert limits["Max file size"][1] != "unlimited"
