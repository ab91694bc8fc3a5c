"""The template is the parent of every interpreter, in another user and PID namespace: a child must not reach it."""


def test_neither_seen_nor_signalled_nor_changed(service):
    service.wait_pool()
    template = service.template
    for _ in range(3):
        reply = service.run("""
            import gc, os, signal, sys
            print(os.getppid())
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1, signal.SIGSTOP):
                try:
                    os.kill(os.getppid(), number) if os.getppid() > 1 else None
                except OSError:
                    pass
            # What was inherited is a copy: wrecking it wrecks only this run.
            for module in list(sys.modules.values()):
                for name in list(vars(module)) if module not in (sys, os, gc, signal) and hasattr(module, "__dict__") else []:
                    try:
                        setattr(module, name, None)
                    except Exception:
                        pass
            """)
        assert reply.outcome in ("ok", "error")
    assert template.alive, "one that has served its time ends, but not as quickly as this"
    assert service.run("import numpy, json; print(json.dumps([int(numpy.ones(3).sum())]))").stdout == "[3]\n"


def test_its_memory_and_descriptors_are_out_of_reach(service):
    reply = service.run("""
        import os
        print([fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}") and int(fd) < 1024])
        print(os.path.exists("/opt/sandbox") and os.listdir("/opt/sandbox"))
        """)
    assert reply.stdout.splitlines()[0] in ("[]", "['3']")
    assert reply.stdout.splitlines()[1] in ("[]", "False"), "the fork server's own code is not shown in a room"
