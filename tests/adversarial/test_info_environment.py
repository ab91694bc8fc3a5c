"""The environment is small, fixed, and the same for every process of a room."""

FIXED = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/home/nonroot", "USER": "nonroot", "LOGNAME": "nonroot", "LANG": "C.UTF-8", "TZ": "UTC"}
ALLOWED = {*FIXED, "MPLBACKEND", "MPLCONFIGDIR", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
           "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS"}


def test_of_the_snippet(service):
    environment = service.run("import json, os; print(json.dumps(dict(os.environ)))").printed
    assert {name: environment[name] for name in FIXED} == FIXED
    assert set(environment) <= ALLOWED


def test_of_a_child_and_in_proc(service):
    reply = service.run("""
        import subprocess
        print(sorted({entry.split(b"=")[0].decode() for entry in open("/proc/self/environ", "rb").read().split(b"\\0") if entry}))
        print(sorted({line.split("=")[0] for line in subprocess.run("env 2>/dev/null || cat /proc/self/environ | tr '\\\\0' '\\\\n'", shell=True, capture_output=True, text=True).stdout.splitlines()}))
        """)
    own, child = map(eval, reply.stdout.splitlines())
    assert set(own) <= ALLOWED
    assert set(child) - {"PWD", "SHLVL", "_", "OLDPWD"} <= ALLOWED and "HOME" in child


def test_as_the_host_sees_it(service):
    with service.hold() as run:
        for process in run.room:
            environment = (process.proc / "environ").read_bytes()
            assert not any(canary in environment for canary in service.leaks.canaries)
