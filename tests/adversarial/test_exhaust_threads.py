"""A thread bomb, in Python and in C."""


def test_bounded(service):
    reply = service.run("""
        import threading, time
        count = 0
        try:
            while True:
                threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
                count += 1
        except RuntimeError:
            pass
        print(count)
        """, timeout_s=5)
    assert 60 <= int(reply.stdout) <= 127 and reply.outcome == "ok"


def test_threads_that_make_threads(service):
    reply = service.run("""
        import threading
        def bomb():
            while True:
                try:
                    threading.Thread(target=bomb).start()
                except RuntimeError:
                    pass
        bomb()
        """, timeout_s=1)
    assert reply.outcome == "timeout" and reply.seconds < 3
