"""What a parked child is: alone, empty-handed, different from its siblings, and quick."""

import os
import re

import pytest

import runner_support as support

RANDOM = {
    "random": "import random; print(random.random(), random.getrandbits(64))",
    "numpy": "import numpy as np; print(np.random.rand(2), np.random.permutation(50))",
    "numpy, another way": "import numpy as np; print(np.random.mtrand._rand.randint(1 << 60))",
    "scikit-learn": "from sklearn.model_selection import train_test_split; print(train_test_split(list(range(50)))[0])",
    "scipy": "from scipy import stats; print(stats.norm.rvs(size=2), stats.uniform.rvs())",
    "pandas": "import pandas as pd; print(pd.Series(range(1000)).sample(5).tolist())",
    "sympy": "import sympy; print(sympy.randprime(10**9, 10**12), sympy.core.random.random())",
    "uuid1": "import uuid; print(uuid.uuid1())",
    "uuid4": "import uuid; print(uuid.uuid4())",
    "secrets": "import secrets; print(secrets.token_hex(8))",
    "ssl": "import ssl; print(ssl.RAND_bytes(8).hex())",
    "tempfile": "import tempfile; print(tempfile.mktemp())",
    "multiprocessing key": "import multiprocessing as m; print(bytes(m.current_process().authkey).hex())",
    "every generator in the heap": (
        "import gc, random, numpy as np\nfor o in gc.get_objects() + [r for r in gc.get_referrers(random.Random) if isinstance(r, random.Random)]:\n"
        "    if type(o) is random.Random: print(o.random())\nprint(random._inst.random())"
    ),
}


@pytest.mark.parametrize("source", RANDOM)
def test_siblings_draw_different_numbers(runner, source):
    printed = [runner.run(RANDOM[source]) for _ in range(4)]
    assert all(outcome.exit_code == 0 and outcome.stdout.strip() for outcome in printed), printed
    assert len({outcome.stdout for outcome in printed}) == 4, printed


def test_generators_of_the_template_are_all_found(runner):
    """Those of random's module, numpy's global one, sympy's, and whatever else was made at import."""
    outcome = runner.run(call="""
        print(sum('Random.seed' in str(g) for g in sandbox_runner.reseed._generators), sum('RandomState' in str(g) for g in sandbox_runner.reseed._generators))
        import random, sympy.core.random, numpy as np
        names = [getattr(g, '__self__', None) for g in sandbox_runner.reseed._generators]
        print(random._inst in names, sympy.core.random.rng in names, any(n is np.random.mtrand._rand for n in names))
        """.replace("\n        ", "\n"))
    assert outcome.stderr == "" and outcome.stdout.splitlines()[1] == "True True True"


def test_a_seed_still_gives_the_same_numbers(runner):
    source = "import random, numpy as np; random.seed(1); np.random.seed(1); print(random.random(), np.random.rand())"
    assert len({runner.run(source).stdout for _ in range(3)}) == 1


def test_exit_functions_of_the_template_are_those_that_were_looked_into(runner):
    """Others would always run, which costs each run a fifth of a millisecond."""
    outcome = runner.run(call="""
        from sandbox_runner import exit_functions
        print(exit_functions.are_idle(), exit_functions._count() - len(exit_functions.REGISTERED))
        """.replace("\n        ", "\n"))
    assert outcome.stderr == "" and outcome.stdout == "True 0\n"


def test_exit_functions_are_found_by_their_names(runner):
    """What registers what, seen by a fresh interpreter that imports some of what the template imports."""
    outcome = runner.run("""
        import subprocess, sys
        print(subprocess.run([sys.executable, "-W", "ignore", "-c", '''if True:
            import atexit
            register, names = atexit.register, []
            atexit.register = lambda f, *a, **k: (names.append((f.__module__, f.__qualname__)), register(f, *a, **k))[1]
            import multiprocessing.util, logging, PIL.Image, openpyxl, matplotlib.pyplot
            print(sorted(names))'''], capture_output=True, text=True).stdout)
        """.replace("\n        ", "\n"))
    from sandbox_runner import exit_functions

    assert outcome.stdout.strip() == str(sorted((module, name) for module, name, _ in exit_functions.REGISTERED))


def test_warming_up_works_whole(runner):
    outcome = runner.run(call="print(sandbox_runner.warm.failed)")
    assert outcome.stdout == "[]\n", outcome


def test_the_template_keeps_no_surprises(runner):
    """Settings that warming up could have left behind."""
    outcome = runner.run(
        "import matplotlib.pyplot as plt, pandas as pd, numpy as np, sympy, decimal, os, sys, logging, threading, tempfile, linecache\n"
        "print(plt.get_fignums(), plt.rcParams['figure.figsize'], np.get_printoptions()['precision'], pd.get_option('display.max_rows'))\n"
        "print(decimal.getcontext().flags[decimal.Inexact], threading._counter(), tempfile.tempdir, list(linecache.cache))\n"
        "print([n for n in os.environ if n.startswith('KMP') or n == 'PYTHONHASHSEED'])")
    assert outcome.stdout == "[] [6.4, 4.8] 8 60\nFalse 1 None ['/home/nonroot/main.py']\n[]\n"


def test_parking_writes_little_and_runs_in_few_milliseconds(runner):
    outcome = runner.run(call="""
        import resource, time, os
        before, began = resource.getrusage(0), time.process_time()
        sandbox_runner.park()
        after = resource.getrusage(0)
        print(after.ru_minflt - before.ru_minflt, (time.process_time() - began) * 1000)
        """.replace("\n        ", "\n"))
    faults, milliseconds = map(float, outcome.stdout.split())
    assert faults < 700, "about 350 without populated pages"
    assert milliseconds < 25, "about 3 on an idle machine"


def page_faults(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[7])


def test_a_run_touches_few_pages(runner):
    """Without the fork server's populating; with it nearly none are left."""
    parked = []
    outcome = runner.run("print(1)", hold=True, before_claim=lambda pid: parked.append(page_faults(pid)))
    assert outcome.faults - parked[0] < 300, "about 150"


def test_populated_pages_are_enough_for_a_run(runner):
    """The workloads for the profile, run before parking in the same child, leave a plain run next to nothing to fault in."""
    outcome = runner.run(call="""
        import os, resource, socket
        from sandbox_runner import warmup, run, claim, frames, ending
        sandbox_runner.park()
        for workload in sandbox_runner.profile_workloads()[:-1]: workload()
        def once():
            before = resource.getrusage(0).ru_minflt
            ours, theirs = socket.socketpair()
            theirs.sendall(frames.header(frames.CODE, 6) + b"x = 1\\n")
            channel = claim.Channel(ours.detach())
            run.run_claimed(channel, *channel.receive()[1:], os.devnull)
            return resource.getrusage(0).ru_minflt - before
        print(once(), once(), once())
        """.replace("\n        ", "\n"))
    assert outcome.stderr == "", outcome.stderr
    assert int(outcome.stdout.split()[-1]) < 15, outcome.stdout


def test_streams_are_ready_before_the_claim(runner):
    """Nothing that the service may send can reach a child that is not set up: the descriptors of a parked one."""
    seen = []

    def look(pid):
        seen.append({int(fd): os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")})
        seen.append(re.search(r"SigBlk:\t(\w+)", open(f"/proc/{pid}/status").read())[1])

    runner.run("print(1)", hold=True, before_claim=look)
    assert sorted(seen[0]) == [0, 1, 2, 3, 1030] and seen[0][0] == "/dev/null"
    assert seen[0][3].endswith("/main.py"), "the file of the run to come, which is closed before the first instruction"
    assert int(seen[1], 16) == 0


def test_font_list_for_other_interpreters(runner, place):
    outcome = runner.run("import os, matplotlib; d = os.environ['MPLCONFIGDIR']; print(matplotlib.get_configdir() == d, os.listdir(d))")
    assert outcome.stdout.startswith("True ")
    if place.image:
        assert re.fullmatch(r"True \['fontlist-v[\d.]+\.json'\]\n", outcome.stdout)
        child = runner.run(
            "import subprocess, sys\nprint(subprocess.run([sys.executable, '-X', 'importtime', '-c', 'import matplotlib.font_manager as f; print(len(f.fontManager.ttflist) > 10)'],"
            " capture_output=True, text=True).stdout)")
        assert child.stdout == "True\n\n"


def test_joblib_has_its_processes(runner):
    outcome = runner.run("import joblib.parallel, joblib._multiprocessing_helpers as h; print(h.mp is not None, joblib.parallel.mp is not None)")
    assert outcome.stdout == "True True\n"


def test_source_is_shown_after_the_file_is_gone(runner):
    outcome = runner.run(
        "import os, inspect, traceback\nos.remove(__file__)\ndef f():\n    return 1\nprint(inspect.getsource(f))\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    print(traceback.format_exc())")
    assert "def f():\n    return 1\n" in outcome.stdout and "    1 / 0\n" in outcome.stdout


@pytest.mark.parametrize("lines", [10, 60_000])
def test_source_of_long_programs(runner, lines):
    outcome = runner.run("x = 1\n" * lines + "import inspect, sys, linecache\ndef f():\n    return 1\nprint(inspect.getsource(f), end='')\nprint(linecache.getline(__file__, 1), end='')")
    assert outcome.stdout == "def f():\n    return 1\nx = 1\n"


def test_output_of_a_killed_run_is_there(runner):
    outcome = runner.run("import os, sys\nprint('one'); sys.stdout.write('two'); print('three', file=sys.stderr)\nos.kill(os.getpid(), 9)")
    assert (outcome.stdout, outcome.stderr, outcome.exit_code) == ("one\ntwo", "three\n", -9)


def test_open_files_are_flushed_at_the_end(runner, place):
    if place.image:
        source = "import os\nif os.fork() == 0:\n    f = open('a.txt', 'w'); f.write('half'); g = [f]; g.append(g)\n    raise SystemExit\nos.wait(); print(open('a.txt').read())"
        assert runner.run(source).stdout == "half\n"
        return
    outcome = runner.run("f = open('a.txt', 'w'); f.write('half'); g = [f]; g.append(g)\nimport json; json.kept = open('b.txt', 'w'); json.kept.write('b')\n1 / 0")
    assert (outcome.folder / "a.txt").read_text() == "half" and (outcome.folder / "b.txt").read_text() == "b"


def test_no_files_but_the_snippet_s(runner):
    outcome = runner.run("import os\nopen('m.py', 'w').write('V = 1')\nimport m\nprint(sorted(os.listdir('.')))")
    assert outcome.stdout == "['m.py']\n"


def test_a_child_left_running_delays_nothing(runner):
    outcome = runner.run("import subprocess\nsubprocess.Popen(['sleep', '3'])\nprint('done')")
    assert outcome.stdout == "done\n" and outcome.exit_code == 0 and outcome.seconds < 2.5


def test_neutral_paths_are_only_neutral_paths(runner):
    """The harness itself: it hides nothing that a test looks for."""
    assert runner.run("print('sandbox_runner /opt/x 0x12')").stdout == "sandbox_runner /opt/x 0x12\n"
    assert support.frame(1, b"x") == b"\1\0\0\0\1\0\0\0x"
