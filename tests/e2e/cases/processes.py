"""Processes, pipes, signals, descriptors, fork."""
from e2e.cases import case

CASES = [
    case("fork: each line once", """
        import os
        print("start")
        pid = os.fork()
        if pid == 0:
            print("child")
            os._exit(0)
        os.waitpid(pid, 0)
        print("parent")
        """, "jupyter/notebook #3106", stdout="start\nchild\nparent\n"),
    case("fork: a child that ends as a script does", "import os\nprint('start')\npid = os.fork()\nif pid == 0:\n    print('child')\n    raise SystemExit(0)\nos.waitpid(pid, 0)\nprint('parent')",
         stdout="start\nchild\nparent\n"),
    case("fork: a child that goes on after its parent has no say", "import os, time\nif os.fork() == 0:\n    time.sleep(5); print('late'); os._exit(9)\nprint('parent')", stdout="parent\n", exit_code=0, seconds=3),
    case("fork: a child's exception is printed and not the run's", "import os\npid = os.fork()\nif pid == 0:\n    1 / 0\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))", stdout="1\n", stderr_has="ZeroDivisionError"),
    case("a background child holds the output open", "import subprocess\nsubprocess.Popen(['sleep', '30'])\nprint('done')", "docker/docker-agent #2462, edouard-claude/snip #120", stdout="done\n", seconds=3),
    case("a detached grandchild holds the output open", "import subprocess\nsubprocess.Popen('(sleep 30 &) ; setsid sleep 30 & disown 2>/dev/null; true', shell=True).wait()\nprint('done')", stdout="done\n", seconds=3),
    case("a child that writes for ever in the background", "import subprocess\nsubprocess.Popen('while :; do echo x; done', shell=True)\nprint('done')", stdout_has="done", seconds=4),
    case("a small pipeline", "import subprocess\nr = subprocess.run('echo a | tr a-z A-Z', shell=True, capture_output=True, text=True)\nprint(repr(r.stdout), r.returncode, repr(r.stderr))",
         "MervinPraison/PraisonAI #4068", stdout="'A\\n' 0 ''\n"),
    case("a small pipeline in eight sandboxes at once", "import subprocess\nprint(subprocess.run('echo a | tr a-z A-Z | cat | cat', shell=True, capture_output=True, text=True).stdout, end='')", None,
         together=8, stdout="A\n"),
    case("a pipe that breaks", "import subprocess\nr = subprocess.run('yes | head -n 1', shell=True, capture_output=True, text=True)\nprint(repr(r.stdout), repr(r.stderr))", "jupyter/terminado #91, apenwarr/redo #13",
         stdout="'y\\n' ''\n"),
    case("no signal is blocked or ignored but those that Python ignores", """
        lines = dict(line.split(":\\t") for line in open("/proc/self/status") if line.startswith("Sig"))
        print(int(lines["SigBlk"], 16), [n + 1 for n in range(64) if int(lines["SigIgn"], 16) >> n & 1])
        """, "apenwarr/redo #13", stdout="0 [13, 25]\n"),
    case("no signal is blocked or ignored in a child", "import subprocess\nprint(subprocess.run(['grep', '-E', 'SigBlk|SigIgn', '/proc/self/status'], capture_output=True, text=True).stdout.split())",
         stdout="['SigBlk:', '0000000000000000', 'SigIgn:', '0000000000000000']\n"),
    case("no inherited descriptors", """
        import os
        fds = []
        for fd in range(3, 1024):
            try:
                os.fstat(fd)
                fds.append(fd)
            except OSError:
                pass
        print(fds)
        """, "stanford-scs/jai #18, google/nsjail #328, navikt/cplt #329", stdout="[]\n"),
    case("sys.executable is a usable interpreter", "import subprocess, sys\nr = subprocess.run([sys.executable, '-c', 'print(6*7)'], capture_output=True, text=True)\nprint(r.stdout.strip(), r.returncode)",
         "pybind/pybind11 #5238, python/cpython #106464", stdout="42 0\n"),
    case("python3 by name, with a module, with a file", "import subprocess\nopen('s.py', 'w').write('import sys; print(sys.argv)')\n"
         "for c in (['python3', 's.py', 'x'], ['python3', '-m', 's'], ['python3', '-c', 'print(1)']):\n    print(subprocess.run(c, capture_output=True, text=True).stdout, end='')",
         stdout="['s.py', 'x']\n['/mnt/data/s.py']\n1\n", names=["s.py"]),
    case("semaphores and a pool of workers", """
        import multiprocessing as mp

        def sq(x):
            return x * x

        if __name__ == "__main__":
            s = mp.Semaphore(2)
            with mp.Pool(2) as p:
                print(p.map(sq, range(4)), s.acquire())
        """, "apptainer/singularity #315", stdout="[0, 1, 4, 9] True\n"),
    case("workers by spawn import the snippet's functions", "import multiprocessing as mp\ndef f(x):\n    return x + 1\nif __name__ == '__main__':\n    with mp.get_context('spawn').Pool(2) as p:\n        print(p.map(f, range(3)))",
         stdout="[1, 2, 3]\n", stderr=""),
    case("workers by spawn without a guard fail with the usual text", "import multiprocessing as mp\ndef f(x): return x\nwith mp.get_context('spawn').Pool(1) as p:\n    print(p.map(f, [1]))", request={"timeout_s": 4},
         exit_code_in=[1, -1, 137], outcome_in=["error", "timeout", "output_limit"], stderr_has="__main__"),
    case("a pipe and a queue between processes", "import multiprocessing as mp\nif __name__ == '__main__':\n    a, b = mp.Pipe(); q = mp.Queue()\n    p = mp.Process(target=lambda: (a.send(1), q.put(2)))\n    p.start(); print(b.recv(), q.get()); p.join(); print(p.exitcode)",
         stdout="1 2\n0\n"),
    case("a worker that is killed is noticed", "from concurrent.futures import ProcessPoolExecutor\nfrom concurrent.futures.process import BrokenProcessPool\nimport os\nif __name__ == '__main__':\n    with ProcessPoolExecutor(1) as p:\n"
         "        try:\n            p.submit(os._exit, 3).result()\n        except BrokenProcessPool:\n            print('noticed')", stdout="noticed\n"),
    case("zombies are reaped by the room's init", "import os, subprocess, time\nsubprocess.run('i=0; while [ $i -lt 300 ]; do (true &); i=$((i + 1)); done', shell=True)\ntime.sleep(0.3)\n"
         "print(len([n for n in os.listdir('/proc') if n.isdigit()]) < 10)", stdout="True\n"),
    case("process groups and sessions", "import os, signal, subprocess\np = subprocess.Popen(['sleep', '50'], start_new_session=True)\nos.killpg(p.pid, signal.SIGTERM)\nprint(p.wait())", stdout="-15\n"),
    case("time-outs of subprocess", "import subprocess\ntry:\n    subprocess.run(['sleep', '9'], timeout=0.2)\nexcept subprocess.TimeoutExpired:\n    print('expired')", stdout="expired\n", seconds=3),
    case("linear algebra after a fork", """
        import os, numpy as np
        a = np.eye(300) * 2
        np.linalg.inv(a)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if abs(np.linalg.inv(a)[0, 0] - 0.5) < 1e-9 else 1)
        print(os.waitpid(pid, 0)[1])
        print(round(float(np.linalg.inv(a)[5, 5]), 3))
        """, "OpenMathLib/OpenBLAS #294, #240, #5520", stdout="0\n0.5\n", seconds=10),
    case("linear algebra in threads and processes at once", "import numpy as np\nfrom concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor\ndef f(n): return round(float(np.linalg.inv(np.eye(200) * n)[0, 0]), 3)\n"
         "if __name__ == '__main__':\n    with ThreadPoolExecutor(4) as t, ProcessPoolExecutor(2) as p:\n        print(list(t.map(f, [1, 2, 4])), list(p.map(f, [1, 2, 4])))", stdout="[1.0, 0.5, 0.25] [1.0, 0.5, 0.25]\n"),
    case("many calls at once", "print(sum(range(1000)))", "engineer-man/piston #535, e2b-dev/E2B #339", together=8, runs=3, stdout="499500\n"),
    case("the time of a child counts", "import os, subprocess\nsubprocess.run(['sh', '-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'])\nprint(os.times().children_user > 0)", stdout="True\n"),
    case("os.system, popen and spawn", "import os\nprint(os.system('exit 3') >> 8, os.popen('echo hi').read().strip(), os.spawnlp(os.P_WAIT, 'true', 'true'))", stdout="3 hi 0\n"),
    case("no tool that is not there makes a clear error", "import subprocess\ntry:\n    subprocess.run(['pip', 'install', 'x'])\nexcept FileNotFoundError as e:\n    print(e)", stdout="[Errno 2] No such file or directory: 'pip'\n"),
]
