"""The measurements. Each returns what it found as Samples; none judges.

Latency is measured with the pool full, as it is when requests come less often than a sandbox takes to make; the
service's runs and the baseline's alternate, so that whatever else happens on the machine hits both. What happens when
requests come faster is measured on its own: back to back, and by two clients at once.
"""
import os
import struct
import time

import accounting
from figures import Samples, single
from quick_client import QuickClient
from snippets import CLOCK, PRINT

NS_PER_MS = 1e6
SETTLE_SECONDS = 0.005  # after the pool is full: the spawner removes the last cgroup
QUIET_SECONDS = 0.4  # more than a refill takes


class Bench:
    def __init__(self, service, bubblewrap, progress):
        self.service, self.bubblewrap, self.progress = service, bubblewrap, progress
        self.client = QuickClient(service.port, service.key)

    def settle(self):
        self.client.wait_full()
        time.sleep(SETTLE_SECONDS)

    def warm_up(self, snippets):
        self.progress("warming up")
        for snippet in snippets:
            request = self.client.execute_request(snippet.code)
            for _ in range(2):
                self.settle()
                self.client.run(request, snippet)
                self.bubblewrap.run(snippet)

    # ---- latency

    def compare(self, snippet, rounds):
        """One snippet in the service and in bubblewrap, alternately."""
        self.progress(f"{snippet.title}: {rounds} times in the service and in bubblewrap, alternately")
        name, title = snippet.name, snippet.title
        found = {
            f"{name}_start": Samples(f"{title}: claim to first instruction"),
            f"{name}_done": Samples(f"{title}: claim to done"),
            f"{name}_http": Samples(f"{title}: over HTTP"),
            f"{name}_cpu": Samples(f"{title}: CPU time from claim to done"),
            f"{name}_bwrap": Samples(f"{title}: fresh interpreter in bubblewrap"),
        }
        request = self.client.execute_request(snippet.code)

        def in_service():
            _, took, reply = self.client.run(request, snippet)
            found[f"{name}_http"].add(took / NS_PER_MS)
            found[f"{name}_start"].add(reply["usage"]["start_ms"])
            found[f"{name}_done"].add(reply["usage"]["wall_ms"])
            found[f"{name}_cpu"].add(reply["usage"]["cpu_ms"])

        def in_bubblewrap():
            found[f"{name}_bwrap"].add(self.bubblewrap.run(snippet) / NS_PER_MS)

        for index in range(rounds):
            order = (in_service, in_bubblewrap) if index % 2 else (in_bubblewrap, in_service)
            for run in order:
                self.settle()
                run()
        return found

    def first_instruction(self, rounds):
        """By the clocks of client and snippet, which are the same clock: a check on what the service says of itself."""
        self.progress(f"first instruction by the snippet's own clock: {rounds} times")
        found = Samples("request sent to first instruction, by the snippet's own clock")
        request = self.client.execute_request(CLOCK.code)
        for _ in range(rounds):
            self.settle()
            began, _, reply = self.client.run(request, CLOCK)
            found.add((int(reply["stdout"]) - began) / NS_PER_MS)
        return {"request_to_first_instruction": found}

    def back_to_back(self, snippet, rounds):
        """One client that sends the next request at once: the pool is being refilled meanwhile."""
        self.progress(f"{snippet.title}: {rounds} times back to back")
        found = Samples(f"{snippet.title}: over HTTP, back to back")
        request = self.client.execute_request(snippet.code)
        self.settle()
        for _ in range(rounds):
            found.add(self.client.run(request, snippet)[1] / NS_PER_MS)
        return {f"{snippet.name}_back_to_back": found}

    # ---- throughput

    def throughput(self, snippet, seconds):
        """Two clients, each sending its next request when it has its answer."""
        self.progress(f"{snippet.title}: two clients for {seconds} s, then two in bubblewrap")
        self.settle()
        in_service = two_clients(seconds, self._service_client(snippet))
        self.settle()
        in_bubblewrap = two_clients(seconds, lambda: lambda: self.bubblewrap.run(snippet))
        name, title = snippet.name, snippet.title
        latency = Samples(f"{title}: over HTTP, two clients")
        latency.values = [took / NS_PER_MS for took in in_service]
        return {
            f"{name}_two_clients": latency,
            f"{name}_per_second": single(f"{title}: two clients", "runs/s", len(in_service) / seconds),
            f"{name}_bwrap_per_second": single(f"{title}: two in bubblewrap", "runs/s", len(in_bubblewrap) / seconds),
        }

    def _service_client(self, snippet):
        def connect():
            client = QuickClient(self.service.port, self.service.key)
            request = client.execute_request(snippet.code)
            return lambda: client.run(request, snippet)[1]
        return connect

    # ---- cost

    def memory(self):
        """Of each parked sandbox, several pools long: each pool is used up so that the next is measured."""
        self.progress("memory of parked sandboxes")
        found = {
            "parked_private": Samples("private memory and page tables of a parked sandbox", "MB"),
            "parked_pss": Samples("proportional share of a parked sandbox (PSS)", "MB"),
            "parked_cgroup": Samples("memory charged to a parked sandbox's cgroup", "MB"),
        }
        request = self.client.execute_request(PRINT.code)
        for _ in range(4):
            self.settle()
            for room in self.service.rooms().values():
                found["parked_private"].add(accounting.private_bytes(room) / 1e6)
                found["parked_pss"].add(accounting.proportional_bytes(room) / 1e6)
                found["parked_cgroup"].add(accounting.cgroup_memory_bytes(room[0]) / 1e6)
            for _ in range(self.service.warm_pool):
                self.client.run(request, PRINT)
        return found

    def refill(self, rounds):
        """CPU time for one new sandbox, where it is spent, and how long it takes until it is parked."""
        self.progress(f"refill: {rounds} sandboxes")
        found = {
            "refill_wall": Samples("end of a run to full pool"),
            "refill_template_cpu": Samples("CPU time of the template for one sandbox"),
            "refill_child_cpu": Samples("CPU time of a sandbox until it is parked (its cgroup)"),
            "refill_spawner_cpu": Samples("CPU time of the spawner itself for one run and one sandbox"),
            "refill_api_cpu": Samples("CPU time of the api process for one run and one sandbox"),
        }
        request = self.client.execute_request(PRINT.code)
        for index in range(rounds):
            self.settle()
            if index % 2:
                found["refill_wall"].add(self._refill_wall(request))
            else:
                self._refill_cpu(request, found)
        return found

    def _refill_wall(self, request):
        self.client.run(request, PRINT)
        ended = time.perf_counter_ns()
        self.client.wait_full()
        return (time.perf_counter_ns() - ended) / NS_PER_MS

    def _refill_cpu(self, request, found):
        """Without asking the service for its state meanwhile, which would be in the figures."""
        template, spawner, api = self.service.template, self.service.pid, self.service.api_pid

        def counters():
            return (accounting.cgroup_cpu_ms(template), accounting.process_cpu_ms(spawner),
                    accounting.process_cpu_ms(api))

        known = set(self.service.rooms())
        before = counters()
        self.client.run(request, PRINT)
        time.sleep(QUIET_SECONDS)
        after = counters()
        for name, old, new in zip(("template", "spawner", "api"), before, after):
            found[f"refill_{name}_cpu"].add(new - old)
        self.settle()
        for space, room in self.service.rooms().items():
            if space not in known:
                found["refill_child_cpu"].add(accounting.cgroup_cpu_ms(accounting.main_process(room)))


def two_clients(seconds, connect):
    """Durations in ns of all runs that two processes finished within the time."""
    readers = []
    for _ in range(2):
        read_fd, write_fd = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_fd)
            os._exit(_client_process(seconds, connect, write_fd))
        os.close(write_fd)
        readers.append((pid, read_fd))
    durations = []
    for pid, read_fd in readers:
        with os.fdopen(read_fd, "rb") as reader:
            durations += [value for value, in struct.iter_unpack("=Q", reader.read())]
        if os.waitpid(pid, 0)[1] != 0:
            raise RuntimeError("a client of the throughput measurement failed")
    return durations


def _client_process(seconds, connect, write_fd):
    try:
        run = connect()
        took = []
        end = time.monotonic() + seconds
        while True:
            value = run()
            if time.monotonic() > end:
                break
            took.append(value)
        with os.fdopen(write_fd, "wb") as writer:
            writer.write(struct.pack(f"={len(took)}Q", *took))
        return 0
    except BaseException as problem:  # a child must not go on in its parent's code
        print(f"a client failed: {problem}", flush=True)
        return 1
