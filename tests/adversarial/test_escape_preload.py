"""LD_PRELOAD, LD_LIBRARY_PATH, PYTHONPATH and BASH_ENV set by a snippet: for its own children only."""


def test_they_do_not_outlive_the_run(service):
    service.run("""
        import os
        os.environ.update(LD_PRELOAD="/tmp/evil.so", LD_LIBRARY_PATH="/tmp", PYTHONPATH="/tmp", PYTHONSTARTUP="/tmp/x.py", BASH_ENV="/tmp/x.sh", ENV="/tmp/x.sh")
        open("/tmp/x.sh", "w").write("echo PLANTED"); open("/tmp/sitecustomize.py", "w").write("print('PLANTED')")
        """)
    reply = service.run("""
        import os, subprocess, sys
        print([name for name in os.environ if name.startswith("LD_") or name in ("PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV")])
        print(subprocess.run("echo ok", shell=True, capture_output=True, text=True).stdout, end="")
        """)
    assert reply.stdout == "[]\nok\n"


def test_nothing_more_privileged_can_be_preloaded(service):
    """There is no program with more rights to preload anything into: every child has the snippet's own."""
    reply = service.run("""
        import subprocess
        text = subprocess.run("cat /proc/self/status", shell=True, capture_output=True, text=True, env={"LD_PRELOAD": "/tmp/x.so", "PATH": "/usr/bin:/bin"}).stdout
        print([line.split()[1] for line in text.splitlines() if line.startswith(("Uid", "CapEff", "NoNewPrivs"))])
        """)
    assert reply.stdout == "['65532', '0000000000000000', '1']\n"
