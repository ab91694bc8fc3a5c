"""A tool call, beside the same function of the same image by crun.

The image is that of examples/agent. crun gets it unpacked on the disk, with a configuration that has the same
namespaces, user, limits and read-only root as a call, and a Python that imports the tools and prints the result as JSON.
It has no network at all, no seccomp filter and no result channel: it does less than a call does.
"""
import json
import os
import shutil
import subprocess
import time

from figures import Samples
from quick_client import QuickClient

NS_PER_MS = 1e6
PROGRAM = shutil.which("crun")
UNIFIED = "/sys/fs/cgroup/unified"
ARGUMENTS = {"loan": {"amount": "1000", "yearly_rate": "0.06", "months": 12}}
EXPECTED = "86.07"
SOURCE = ("import json, sys; sys.path.insert(0, '/app'); import tools; from decimal import Decimal as D; "
          "paid = tools.monthly_payment(tools.Loan(D('1000'), D('0.06'), 12)); "
          "print(json.dumps({'each_month': str(paid.each_month), 'interest': str(paid.interest)}))")


def version():
    return subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()[2]


def all_of(bench, repository, build, folder, rounds):
    layout = folder / "agent-image"
    bench.progress("building and deploying the example agent's image")
    subprocess.run([repository / "examples/agent/build", layout], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "SANDBOX_BUILD_DIR": str(build)})
    subprocess.run([build / "platformctl", "agents", "deploy", "bench-agent", "--image", f"oci:{layout}:agent"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "SANDBOX_URL": bench.service.url, "SANDBOX_KEY": bench.service.key})
    return compare(bench, Crun(layout, folder / "bundle"), rounds)


def compare(bench, crun, rounds):
    bench.progress(f"a tool call: {rounds} times in the service and by crun, alternately")
    client = QuickClient(bench.service.port, bench.service.key)
    found = {
        "call_http": Samples("tool call: over HTTP"),
        "call_room": Samples("tool call: its room made, HTTP (all but claim to done)"),
        "call_start": Samples("tool call: claim to the agent's code (the interpreter's start)"),
        "call_wall": Samples("tool call: claim to done"),
        "call_crun": Samples("the same function by crun"),
    }
    request = call_request(client)

    def in_service():
        _, took, body = client.send(request)
        reply = json.loads(body)
        if reply["outcome"] != "ok" or reply["result"]["each_month"] != EXPECTED:
            raise RuntimeError(f"the tool call went wrong: {body[:600]!r}")
        found["call_http"].add(took / NS_PER_MS)
        found["call_room"].add(took / NS_PER_MS - reply["usage"]["wall_ms"])
        found["call_start"].add(reply["usage"]["start_ms"])
        found["call_wall"].add(reply["usage"]["wall_ms"])

    def by_crun():
        found["call_crun"].add(crun.run() / NS_PER_MS)

    in_service(), by_crun()  # the page cache
    found = {name: Samples(samples.title) for name, samples in found.items()}
    for index in range(rounds):
        for run in (in_service, by_crun) if index % 2 else (by_crun, in_service):
            bench.settle()
            run()
    return found


def call_request(client):
    body = json.dumps({"agent": "bench-agent", "tool": "monthly_payment", "arguments": ARGUMENTS}).encode()
    return (b"POST /v1/call HTTP/1.1\r\n" + client.head + b"Content-Type: application/json\r\n"
            + b"Content-Length: %d\r\n\r\n" % len(body) + body)


class Crun:
    def __init__(self, layout, bundle):
        # crun takes control groups of version 1 or 2, and not both; this process has mounts of its own (own_mounts).
        if os.path.ismount(UNIFIED) and os.path.ismount(f"{UNIFIED}/../memory"):
            subprocess.run(["umount", "--lazy", UNIFIED], check=True)
        subprocess.run(["umoci", "unpack", "--image", f"{layout}:agent", bundle], check=True, stdout=subprocess.DEVNULL)
        self.bundle, self.count = bundle, 0
        configuration = json.loads((bundle / "config.json").read_text())
        configuration["process"] |= {"terminal": False, "args": ["python3", "-I", "-c", SOURCE], "cwd": "/app",
                                     "user": {"uid": 65532, "gid": 65532}, "capabilities": {}, "noNewPrivileges": True}
        configuration["root"]["readonly"] = True
        configuration["linux"]["resources"] = {"memory": {"limit": 1 << 30}, "pids": {"limit": 128},
                                               "cpu": {"quota": 200_000, "period": 100_000}}
        (bundle / "config.json").write_text(json.dumps(configuration))

    def run(self):
        """How long it took in ns, from before the spawn until all output is read and the process is reaped."""
        self.count += 1
        arguments = [PROGRAM, "run", "--bundle", str(self.bundle), f"bench-{os.getpid()}-{self.count}"]
        began = time.perf_counter_ns()
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        took = time.perf_counter_ns() - began
        if done.returncode != 0 or EXPECTED not in done.stdout.decode():
            raise RuntimeError(f"crun went wrong ({done.returncode}): {done.stdout[-600:].decode(errors='replace')}")
        return took
