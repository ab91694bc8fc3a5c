"""Exit handlers, threads, children and finalizers that print or write files after the main program's end."""
import secrets


def test_exit_handlers_and_threads_belong_to_the_run(service):
    reply = service.run("""
        import atexit, threading, time
        atexit.register(print, "handler")
        threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
        print("main")
        """)
    assert reply.stdout == "main\nthread\nhandler\n"


def test_children_that_go_on_do_not(service):
    reply = service.run("""
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(1.0)
            print("late", flush=True)
            open("late.txt", "w").write("late")
            os._exit(0)
        print("main", flush=True)
        os._exit(3)
        """)
    assert reply.stdout == "main\n" and reply.exit_code == 3 and reply.files == [] and reply.seconds < 1.0


def test_a_child_cannot_take_the_main_process_s_place(service):
    """The run ends with PID 2, whatever its children say or return."""
    reply = service.run("""
        import os
        if os.fork() == 0:
            print("child", flush=True)
            os._exit(0)
        os.wait()
        os._exit(9)
        """)
    assert reply.exit_code == 9 and reply.stdout == "child\n"


def test_the_next_run_sees_nothing_of_it(service):
    marker = "canary-" + secrets.token_hex(16)
    half = len(marker) // 2
    service.post(body={"code": f"""
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.3)
        while True:
            try:
                os.write(1, ({marker[:half]!r} + {marker[half:]!r}).encode())
            except OSError:
                pass
os._exit(0)
"""})
    service.leaks.add(marker, "another run's late output")
    for _ in range(6):
        assert service.run("print(1)").stdout == "1\n"
