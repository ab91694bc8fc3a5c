"""The privilege boundary, with a hostile api process: a malformed message ends the service and does nothing else."""

import array
import errno
import os
import socket
import time

import pytest

from boundary import harness as boundary
from boundary.harness import Spawner


def start(folder):
    running = Spawner(folder, SANDBOX_WARM_POOL="0", SANDBOX_MAX_CONCURRENT="2")
    hello, _ = running.receive(boundary.HELLO)
    assert hello["version"] == boundary.VERSION and hello["max_sandboxes"] >= 2
    running.max_sandboxes = hello["max_sandboxes"]
    return running


@pytest.fixture
def spawner(tmp_path):
    """One that the test may bring to its end."""
    running = start(tmp_path)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """One for all tests that leave it alive: its template takes seconds to warm up."""
    running = start(tmp_path_factory.mktemp("lasting"))
    yield running
    assert running.process.poll() is None, running.log.read_text()
    running.stop()


def processes_of(uid_from: int = 1_900_000_000) -> list[int]:
    """Every process under the UIDs that sandboxes use, children of this test's spawner or not."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                uid = os.stat(f"/proc/{name}").st_uid
            except FileNotFoundError:
                continue
            if uid >= uid_from:
                found.append(int(name))
    return found


def children_of(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            return [int(child) for child in children.read().split()]
    except FileNotFoundError:
        return []


GOOD_CREATE = boundary.pack(type=boundary.CREATE, request=1, profile=boundary.PROFILE_SNIPPET)

MALFORMED = {
    "empty": b"",
    "one byte": b"\0",
    "one byte short": GOOD_CREATE[:-1],
    "one byte long": GOOD_CREATE + b"\0",
    "two messages in one": GOOD_CREATE * 2,
    "a megabyte's worth of nothing": bytes(65536),
    "type 0": boundary.pack(type=0),
    "unknown type": boundary.pack(type=7),
    "a type of the other direction": boundary.pack(type=boundary.EXITED),
    "largest type": boundary.pack(type=0xFFFFFFFF),
    "other version": boundary.pack(type=boundary.CREATE, profile=boundary.PROFILE_SNIPPET, version=boundary.VERSION + 1),
    "the version before": boundary.pack(type=boundary.CREATE, profile=boundary.PROFILE_SNIPPET, version=1),
    "no profile": boundary.pack(type=boundary.CREATE, profile=0),
    "unknown profile": boundary.pack(type=boundary.CREATE, profile=4),
    "a call without an image": boundary.pack(type=boundary.CREATE, profile=boundary.PROFILE_CALL),
    "a snippet with an image": boundary.pack(type=boundary.CREATE, profile=boundary.PROFILE_SNIPPET, image_low=1),
    "claim without time": boundary.pack(type=boundary.CLAIM, timeout_ms=0),
    "claim for ever": boundary.pack(type=boundary.CLAIM, timeout_ms=1_800_001),
    "claim with the largest time": boundary.pack(type=boundary.CLAIM, timeout_ms=0xFFFFFFFF),
    "claim with an unknown flag": boundary.pack(type=boundary.CLAIM, timeout_ms=1000, flags=2),
    "kill without reason": boundary.pack(type=boundary.KILL, reason=0),
    "kill as if it had ended by itself": boundary.pack(type=boundary.KILL, reason=boundary.END_EXIT),
    "kill as if its time was over": boundary.pack(type=boundary.KILL, reason=boundary.END_TIMEOUT),
    "kill as if it was out of memory": boundary.pack(type=boundary.KILL, reason=boundary.END_MEMORY),
    "kill for an unknown reason": boundary.pack(type=boundary.KILL, reason=99),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_message_ends_the_service(spawner, name):
    # Not even an empty SEQPACKET message can be told from the end of the connection: it ends the service as well.
    before = children_of(spawner.process.pid)
    spawner.socket.send(MALFORMED[name])
    assert spawner.wait_end() == 1
    assert not [pid for pid in before if os.path.exists(f"/proc/{pid}") and pid in processes_of()]


def test_descriptors_beside_a_message_end_the_service(spawner):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))]
    spawner.socket.sendmsg([GOOD_CREATE], rights)
    assert spawner.wait_end() == 1


def test_the_control_the_same_message_without_fault_is_answered(lasting):
    lasting.socket.send(GOOD_CREATE)
    message, descriptors = lasting.receive(boundary.READY)
    assert message["request"] == 1 and len(descriptors) == 4
    lasting.send(type=boundary.KILL, high=message["high"], low=message["low"], reason=boundary.END_RETIRED)
    lasting.receive(boundary.EXITED)


def test_an_unknown_id_is_not_an_offence(lasting):
    lasting.send(type=boundary.CLAIM, high=1, low=2, timeout_ms=1000)
    lasting.send(type=boundary.KILL, high=1, low=2, reason=boundary.END_CANCELLED)
    lasting.kill(lasting.park(), boundary.END_RETIRED)
    lasting.receive(boundary.EXITED)


def test_a_second_claim_of_a_running_sandbox_ends_the_service(spawner):
    sandbox = spawner.park()
    spawner.claim(sandbox, 10_000)
    spawner.claim(sandbox, 10_000)
    assert spawner.wait_end() == 1


def test_a_claim_for_longer_than_the_profile_allows_ends_the_service(spawner):
    spawner.claim(spawner.park(), 120_001)
    assert spawner.wait_end() == 1


@pytest.mark.parametrize("flags, type", [
    (None, boundary.REST),  # parked
    (0, boundary.REST), (0, boundary.RENEW),  # a run without a session
    (boundary.CLAIM_SESSION, boundary.RENEW),  # a call is on
])
def test_what_does_not_fit_the_state_ends_the_service(spawner, flags, type):
    sandbox = spawner.park()
    place = {"high": sandbox.id[0], "low": sandbox.id[1]}
    if flags is not None:
        spawner.send(type=boundary.CLAIM, timeout_ms=10_000, flags=flags, **place)
    spawner.send(type=type, timeout_ms=10_000, **place)
    assert spawner.wait_end() == 1


def test_renewal_of_a_resting_one_ends_the_service(spawner):
    sandbox = spawner.park()
    place = {"high": sandbox.id[0], "low": sandbox.id[1]}
    spawner.send(type=boundary.CLAIM, timeout_ms=10_000, flags=boundary.CLAIM_SESSION, **place)
    spawner.send(type=boundary.REST, **place)
    spawner.receive(boundary.RESTED)
    spawner.send(type=boundary.RENEW, **place)  # it rests: there is nothing to renew
    assert spawner.wait_end() == 1


def test_more_sandboxes_than_allowed_are_refused(lasting):
    made, refused = [], 0
    for request in range(60):
        lasting.send(type=boundary.CREATE, request=request, profile=boundary.PROFILE_SNIPPET)
    while len(made) + refused < 60:
        message, descriptors = lasting.receive(boundary.READY, boundary.CREATE_FAILED)
        if message["type"] == boundary.READY:
            made.append((message, descriptors))
            continue
        assert message["error"] == errno.EAGAIN
        refused += 1
    assert len(made) == lasting.max_sandboxes and refused == 60 - len(made)
    for message, descriptors in made:
        lasting.send(type=boundary.KILL, high=message["high"], low=message["low"], reason=boundary.END_RETIRED)
        lasting.receive(boundary.EXITED)
        for fd in descriptors:
            os.close(fd)


def test_a_run_from_claim_to_end(lasting):
    sandbox = lasting.park()
    lasting.claim(sandbox, 10_000)
    sandbox.send_code("print(6 * 7)\nraise SystemExit(3)")
    message, _ = lasting.receive(boundary.EXITED)
    assert (message["high"], message["low"]) == sandbox.id
    assert message["reason"] == boundary.END_EXIT
    assert os.waitstatus_to_exitcode(message["wait_status"]) == 3
    assert sandbox.output() == b"42\n"
    assert message["memory_peak"] > 0


def test_the_lasting_keeps_the_time(lasting):
    sandbox = lasting.park()
    began = time.monotonic()
    lasting.claim(sandbox, 500)
    sandbox.send_code("print('on', flush=True)\nwhile True: pass")
    message, _ = lasting.receive(boundary.EXITED)
    assert message["reason"] == boundary.END_TIMEOUT
    assert 0.5 <= time.monotonic() - began < 10  # far from the end by itself, which never comes
    assert sandbox.output() == b"on\n"


def test_a_parked_sandbox_that_is_claimed_but_given_no_code_ends_in_time(lasting):
    sandbox = lasting.park()
    lasting.claim(sandbox, 300)
    message, _ = lasting.receive(boundary.EXITED, seconds=20)
    assert message["reason"] == boundary.END_TIMEOUT


@pytest.mark.parametrize("reason", [boundary.END_OUTPUT, boundary.END_CANCELLED, boundary.END_RETIRED])
def test_kill(lasting, reason):
    sandbox = lasting.park()
    if reason != boundary.END_RETIRED:
        lasting.claim(sandbox, 30_000)
        sandbox.send_code("while True: pass")
    lasting.kill(sandbox, reason)
    message, _ = lasting.receive(boundary.EXITED, seconds=20)
    assert message["reason"] == reason


def test_ids_differ_and_a_dead_one_stays_dead(lasting):
    first, second = lasting.park(1), lasting.park(2)
    assert first.id != second.id
    lasting.kill(first, boundary.END_RETIRED)
    lasting.receive(boundary.EXITED)
    lasting.claim(first, 1000)  # too late, and harmless
    third = lasting.park(3)
    assert third.id not in (first.id, second.id)
    for sandbox in (second, third):
        lasting.kill(sandbox, boundary.END_RETIRED)
        lasting.receive(boundary.EXITED)


def test_hanging_up_ends_everything(spawner):
    sandbox = spawner.park()
    spawner.claim(sandbox, 60_000)
    sandbox.send_code("import time; time.sleep(60)")
    mine = children_of(spawner.process.pid)
    assert mine, "the control: there are children to be ended"
    spawner.socket.close()
    spawner.service.close()
    assert spawner.wait_end() == 1, "an api process that hangs up but does not end is killed: a failure"
    assert not [pid for pid in mine if os.path.exists(f"/proc/{pid}")]
