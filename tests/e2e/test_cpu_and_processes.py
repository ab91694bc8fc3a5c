"""One CPU and 128 processes and threads a sandbox."""


def read_quota(folder):
    """CPUs allowed by a cgroup, from the files of either version."""
    if (folder / "cpu.max").exists():
        quota, period = (folder / "cpu.max").read_text().split()
    else:
        quota, period = (folder / "cpu.cfs_quota_us").read_text(), (folder / "cpu.cfs_period_us").read_text()
    return int(quota) / int(period)


def test_cpu_quota_seen_from_the_host(service):
    with service.hold() as run:
        assert read_quota(run.process.cgroups["cpu"]) == 1.0


def test_cpu_quota_seen_from_inside(service):
    """Four busy processes get about one second of CPU in a second of time."""
    reply = service.run("""
        import os, time
        end = time.monotonic() + 1.0
        children = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                while time.monotonic() < end:
                    pass
                os._exit(0)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
        used = os.times()
        print(used.children_user + used.children_system)
        """)
    assert float(reply.stdout) < 1.35
    assert reply.usage["cpu_ms"] < 1500


def test_cpu_time_is_reported(service):
    reply = service.run("""
        import time
        end = time.process_time() + 0.4
        while time.process_time() < end:
            pass
        """)
    assert 350 <= reply.usage["cpu_ms"] <= 900
    assert service.run("import time; time.sleep(0.4)").usage["cpu_ms"] < 200


def test_libraries_are_told_of_one_cpu(service):
    reply = service.run("""
        import os
        print(os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"], len(os.sched_getaffinity(0)) >= 1)
        """)
    assert reply.stdout == "1 1 True\n"


def test_process_limit_seen_from_the_host(service):
    with service.hold() as run:
        assert (run.process.cgroups["pids"] / "pids.max").read_text().strip() == "128"


def test_process_limit_seen_from_inside(service):
    reply = service.run("""
        import errno, subprocess
        children, problem = [], None
        try:
            while len(children) < 300:
                children.append(subprocess.Popen(["sleep", "30"]))
        except OSError as failure:
            problem = errno.errorcode[failure.errno]
        for child in children:
            child.kill()
        print(len(children), problem)
        """)
    count, problem = reply.stdout.split()
    assert problem == "EAGAIN" and 64 <= int(count) <= 126


def test_thread_limit_and_a_thread_pool_of_64(service):
    reply = service.run("""
        import threading
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(64) as pool:
            gate = threading.Barrier(64)
            print(sorted(pool.map(lambda n: gate.wait() >= 0 and n, range(64))) == list(range(64)))
        stop, threads = threading.Event(), []
        try:
            while len(threads) < 300:
                thread = threading.Thread(target=stop.wait)
                thread.start()
                threads.append(thread)
        except RuntimeError as problem:
            print(problem)
        stop.set()
        """)
    assert reply.stdout == "True\ncan't start new thread\n"


def test_the_limit_is_each_sandbox_s_own(service):
    """A full house next door does not take processes away (a limit by user number would)."""
    with service.hold("""
        import subprocess
        try:
            while True:
                subprocess.Popen(["sleep", "30"])
        except OSError:
            pass
        """) as full:
        assert len(full.room) >= 100
        reply = service.run("""
            import subprocess
            print(subprocess.run("echo a | tr a-z A-Z", shell=True, capture_output=True, text=True).stdout, end="")
            """)
    assert reply.stdout == "A\n"
