"""Children that end and are never waited for, and orphans whose parents end first."""


def test_bounded_by_the_process_limit(service):
    reply = service.run("""
        import os
        count = 0
        try:
            while count < 1000:
                if os.fork() == 0:
                    os._exit(0)
                count += 1
        except OSError:
            pass
        print(count)
        """)
    assert 60 <= int(reply.stdout) <= 127


def test_orphans_are_reaped(service):
    reply = service.run("""
        import os
        for _ in range(500):
            child = os.fork()
            if child == 0:
                if os.fork() == 0:
                    os._exit(0)
                os._exit(0)
            os.waitpid(child, 0)
        print("all")
        """, timeout_s=15)
    assert reply.stdout == "all\n"
