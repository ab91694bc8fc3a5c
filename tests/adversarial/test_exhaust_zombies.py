"""Children that end and are never waited for, and orphans whose parents end first."""


def test_bounded_by_the_process_limit(service):
    reply = service.run("""
        import os
        count = 0
        try:
            while count < 1000:
                os.posix_spawn("/bin/true", ["true"], {})
                count += 1
        except OSError:
            pass
        print(count)
        """)
    assert 60 <= int(reply.stdout) <= 127


def test_orphans_are_reaped(service):
    reply = service.run("""
        import subprocess
        print(subprocess.run("i=0; while [ $i -lt 400 ]; do (true &) || exit 1; i=$((i + 1)); done; echo all", shell=True,
                             capture_output=True, text=True).stdout, end="")
        """, timeout_s=15)
    assert reply.stdout == "all\n"
