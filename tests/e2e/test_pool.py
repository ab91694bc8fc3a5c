"""The warm pool: full when idle, refilled, healed, renewed; bursts are served, floods are turned away politely."""
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.host import Process, wait_until


def works(service):
    reply = service.run("print(6 * 7)")
    assert reply.stdout == "42\n" and reply.exit_code == 0, reply
    return True


def settled(service):
    service.wait_pool()
    return set(service.rooms())


def test_three_are_parked(service):
    service.wait_pool()
    rooms = service.rooms()
    assert len(rooms) == 3
    for room in rooms.values():
        assert sorted(process.inner_pids[-1] for process in room) == [1, 2, 3]


def test_a_used_one_is_replaced_and_never_used_again(service):
    before = settled(service)
    reply = service.run("import os; print(os.readlink('/proc/self/ns/pid'))")
    used = reply.stdout.strip()
    assert used in before
    after = settled(service)
    assert used not in after and len(after - before) == 1 and len(after) == 3


def test_a_claim_is_quick(service):
    service.wait_pool()
    reply = service.run("print(1)")
    assert reply.usage["start_ms"] < 50 and reply.usage["queue_ms"] < 50


def test_a_burst_larger_than_the_pool(service):
    replies = service.run_all([f"print({number} * 2)" for number in range(12)])
    assert [reply.stdout for reply in replies] == [f"{number * 2}\n" for number in range(12)]


@pytest.mark.parametrize("victim", ["parked interpreter", "init of a room", "keeper", "all"])
def test_healing_after_a_parked_sandbox_was_killed(service, victim):
    before = settled(service)
    room = next(iter(service.rooms().values()))
    kinds = {process.inner_pids[-1]: process.pid for process in room}
    for kind, pid in (("init of a room", kinds[1]), ("parked interpreter", kinds[2]), ("keeper", kinds[3])):
        if victim in (kind, "all"):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # killing the init took the others with it
    assert works(service)
    assert victim == "keeper" or wait_until(lambda: set(service.rooms()) != before, 10)
    assert works(service)


def test_healing_after_all_parked_sandboxes_were_killed(service):
    """Even a run that comes before the news of their death gets a living one."""
    service.wait_pool()
    parked = [process for room in service.rooms().values() for process in room]
    for init in [process for process in parked if process.inner_pids[-1] == 1]:
        os.kill(init.pid, signal.SIGKILL)
    assert wait_until(lambda: not any(process.alive for process in parked), 5, 0.001)
    assert works(service)
    service.wait_pool()


def test_killing_the_init_during_a_run_is_reported(service):
    with service.hold("print('so far')") as run:
        time.sleep(0.2)  # a sandbox that is lost right after the claim was dying before, and the run gets another
        os.kill(run.init.pid, signal.SIGKILL)
        run.thread.join(10)
    assert not run.thread.is_alive()
    assert run.reply.outcome == "killed" and run.reply.exit_code == 137
    assert run.reply.stdout == "so far\n"
    assert works(service)


def test_killing_the_snippet_from_the_host_is_reported(service):
    with service.hold("print('so far')") as run:
        os.kill(run.pid, signal.SIGKILL)
        run.thread.join(10)
    assert run.reply.exit_code == 137 and run.reply.stdout == "so far\n" and run.reply.outcome == "error"


def test_healing_after_the_template_was_killed(service):
    service.wait_pool()
    template = service.template
    with service.hold() as run:
        os.kill(template.pid, signal.SIGKILL)
        assert works(service), "what is parked serves on"
        assert run.release().outcome == "ok", "a run is not the template's child"
    assert wait_until(lambda: service.template and service.template.pid != template.pid, 120)
    service.wait_pool(120)
    assert works(service)
    assert not template.alive


def test_the_template_is_renewed_after_a_number_of_runs(small):
    """All children of one template share its address layout and the seed of hashes: a new one ends that."""
    def seeds():
        return small.run("print(hash('text'), hash(b'bytes'))").stdout

    before, template = seeds(), small.template
    for _ in range(80):
        if small.template is None or small.template.pid != template.pid:
            break
        small.run_all(["print(6 * 7)"] * 2)
    assert wait_until(lambda: small.template and small.template.pid != template.pid, 120)
    assert wait_until(lambda: not template.alive, 120), "the old one ends"
    small.wait_pool(120)
    for _ in range(3):  # more than are parked
        after = seeds()
    assert after != before


def test_past_the_concurrency_runs_wait_in_order(small):
    """Two run at a time; the next are served in the order in which they came."""
    finished, lock = [], threading.Lock()

    def one(number):
        time.sleep(number * 0.15)
        reply = small.run("import time; time.sleep(0.5)")
        with lock:
            finished.append(number)
        return reply

    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(one, range(5)))
    assert all(reply.outcome == "ok" for reply in replies)
    assert finished[:2] in ([0, 1], [1, 0]) and finished[4] == 4
    assert replies[4].usage["queue_ms"] >= 200 > replies[0].usage["queue_ms"]


def test_past_the_bound_of_the_queue_there_is_a_503_with_retry_after(small):
    with ThreadPoolExecutor(10) as pool:
        responses = list(pool.map(lambda _: small.post(body={"code": "import time; time.sleep(0.8)"}), range(10)))
    statuses = [response.status for response in responses]
    assert set(statuses) == {200, 503} and statuses.count(200) == 5
    for response in responses:
        if response.status == 503:
            assert response.error["type"] == "overloaded" and int(response.headers["Retry-After"]) >= 1
            assert response.seconds < 1
    assert works(small)


def test_one_that_waits_too_long_is_turned_away(small):
    with ThreadPoolExecutor(3) as pool:
        long = [pool.submit(small.post, "/v1/execute", {"code": "import time; time.sleep(6)"}) for _ in range(2)]
        time.sleep(0.3)
        waiting = small.post(body={"code": "print(1)"})
        assert waiting.status == 503 and 3.5 < waiting.seconds < 5.5 and waiting.headers["Retry-After"]
        assert [future.result().status for future in long] == [200, 200]


def test_no_more_than_the_allowed_run_at_once(small):
    seen = []
    with ThreadPoolExecutor(6) as pool:
        futures = [pool.submit(small.post, "/v1/execute", {"code": "import time; time.sleep(0.6)"}) for _ in range(5)]
        while not all(future.done() for future in futures):
            seen.append(len(small.rooms()))
            time.sleep(0.05)
    assert max(seen) <= 2 + 2 + 2, "running, parked, being made"


def test_parked_ones_use_no_cpu(service):
    service.wait_pool()
    time.sleep(0.3)

    def cpu():
        ticks = 0
        for process in [*service.processes(), service.spawner]:
            fields = (process.proc / "stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks

    before = cpu()
    time.sleep(1.0)
    assert cpu() - before <= 2
