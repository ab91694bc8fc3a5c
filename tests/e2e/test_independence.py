"""No two runs share anything: files, processes, shared memory, names, random state."""
import pytest

from support.client import text_file
from support.host import wait_until
from support.service import PROCESSES_PER_ROOM

RUNS = 6

RANDOM = {
    "random": "import random; print(random.random(), random.getrandbits(64))",
    "random seeded by the system": "import random; print(random.SystemRandom().random())",
    "a new generator": "import random; print(random.Random().random())",
    "numpy.random": "import numpy as np; print(np.random.rand(2))",
    "numpy default_rng": "import numpy as np; print(np.random.default_rng().random(2))",
    "numpy shuffle": "import numpy as np; print(np.random.permutation(50))",
    "scikit-learn without random_state": (
        "from sklearn.model_selection import train_test_split; print(train_test_split(list(range(50)))[0])"),
    "scikit-learn forest": (
        "from sklearn.ensemble import RandomForestRegressor; import numpy as np\nX = np.arange(40).reshape(-1, 1) % 7 + np.arange(40).reshape(-1, 1) / 40\n"
        "print(RandomForestRegressor(3).fit(X, X.ravel() ** 2).predict(X)[:8])"),
    "scipy.stats": "from scipy import stats; print(stats.norm.rvs(size=2))",
    "pandas sample": "import pandas as pd; print(pd.Series(range(1000)).sample(5).tolist())",
    "uuid4": "import uuid; print(uuid.uuid4())",
    "uuid1": "import uuid; print(uuid.uuid1())",
    "secrets": "import secrets; print(secrets.token_hex(8))",
    "os.urandom": "import os; print(os.urandom(8).hex())",
    "ssl": "import ssl; print(ssl.RAND_bytes(8).hex())",
    "tempfile": "import tempfile; print(tempfile.mktemp())",
    "getrandom": "import os; print(os.getrandom(8).hex())",
    "in a fork": "import os, random\nif os.fork() == 0:\n    print(random.random(), flush=True); os._exit(0)\nos.wait()",
    "in a thread": "import threading, random; t = threading.Thread(target=lambda: print(random.random())); t.start(); t.join()",
    "sympy": "import sympy; print(sympy.randprime(10**9, 10**12))",
}


@pytest.mark.parametrize("source", RANDOM)
def test_random_state(service, source):
    replies = service.run_all([RANDOM[source]] * RUNS)
    printed = [reply.stdout for reply in replies]
    assert all(reply.outcome == "ok" for reply in replies), replies
    assert len(set(printed)) == RUNS, printed


def test_names_of_runs_and_sandboxes(service):
    replies = service.run_all(["print(1)"] * RUNS) + [service.run("print(1)") for _ in range(RUNS)]
    assert len({reply.run_id for reply in replies}) == 2 * RUNS
    assert len({reply.sandbox_id for reply in replies}) == 2 * RUNS


def test_a_seed_still_gives_the_same_numbers(service):
    code = "import random, numpy as np; random.seed(1); np.random.seed(1); print(random.random(), np.random.rand())"
    assert len({service.run(code).stdout for _ in range(3)}) == 1


def test_files_are_gone(service):
    first = service.run("""
        for place in ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm"):
            open(place + "/left-behind", "w").write("x")
        print("written")
        """, files=[text_file("given.txt", "x")])
    assert first.stdout == "written\n"
    for _ in range(4):  # more runs than the pool is deep
        second = service.run("""
            import os
            print([path for place in ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm") for path in os.listdir(place)
                   if "left" in path or "given" in path])
            """)
        assert second.stdout == "[]\n"


def test_variables_and_modules_are_gone(service):
    service.run("""
        import builtins, sys, os
        x = 1; builtins.planted = 2; sys.planted = 3; os.environ["PLANTED"] = "4"; sys.path.append("/planted")
        sys.modules["planted"] = sys
        """)
    for _ in range(4):
        reply = service.run("""
            import builtins, os, sys
            print("x" in globals(), hasattr(builtins, "planted"), hasattr(sys, "planted"), "PLANTED" in os.environ,
                  "/planted" in sys.path, "planted" in sys.modules)
            """)
        assert reply.stdout == "False False False False False False\n"


def test_processes_of_others_are_out_of_sight(service):
    with service.hold("import subprocess; subprocess.Popen(['sleep', '30'])"):
        reply = service.run("""
            import os
            print(sorted(name for name in os.listdir("/proc") if name.isdigit()))
            reached = []
            for pid in range(3, 40000):
                try:
                    os.kill(pid, 0)
                    reached.append(pid)
                except OSError:
                    pass
            print(reached)
            """)
    assert eval(reply.stdout.splitlines()[0]) in (["1", "2"], ["2"])
    assert reply.stdout.splitlines()[1] == "[]"


def test_shared_memory_and_abstract_sockets_are_each_sandbox_s_own(service):
    with service.hold("""
        import socket
        from multiprocessing import shared_memory
        block = shared_memory.SharedMemory("meeting", create=True, size=100); block.buf[:6] = b"secret"
        server = socket.socket(socket.AF_UNIX); server.bind(b"\\0meeting"); server.listen()
        """):
        reply = service.run("""
            import os, socket
            from multiprocessing import shared_memory
            try:
                shared_memory.SharedMemory("meeting"); print("met")
            except FileNotFoundError:
                print("alone")
            try:
                socket.socket(socket.AF_UNIX).connect(b"\\0meeting"); print("met")
            except (ConnectionRefusedError, PermissionError):
                print("alone")
            print(os.listdir("/dev/shm"))
            """)
    assert reply.stdout == "alone\nalone\n[]\n"


def test_the_sandbox_is_gone_when_the_answer_is_there(service):
    with service.hold("print(open('/proc/self/stat').read())") as run:
        room = run.room
        assert len(room) == PROCESSES_PER_ROOM
        run.release()
        assert not run.process.alive
    assert wait_until(lambda: not any(process.alive for process in room), 1), "what is left takes memory down, no more"


def test_many_runs_leave_the_machine_as_it_was(service):
    service.wait_pool()
    before = len(service.processes()), len(service.spawner.descriptors), len(service.api.descriptors)
    memory = service.spawner.resident_bytes + service.api.resident_bytes
    for _ in range(15):
        service.run_all(["import os; open('f', 'wb').write(os.urandom(100_000)); print(1)"] * 2)
    service.wait_pool()
    after = len(service.processes()), len(service.spawner.descriptors), len(service.api.descriptors)
    assert after[0] == before[0] and after[1] <= before[1] + 2 and after[2] <= before[2] + 4
    assert service.spawner.resident_bytes + service.api.resident_bytes - memory < 16 << 20
