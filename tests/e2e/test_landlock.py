"""Landlock, the second wall behind mounts and file modes, where the kernel has it."""
import pytest

from support import features


@pytest.fixture(autouse=True)
def kernel_has_it():
    features.need(features.landlock_version() >= 1, "Landlock")


def test_effect_seen_from_inside(service):
    """A process may write these files of its own /proc by mode and by ownership; the rule set grants only reading."""
    reply = service.run("""
        import errno, os
        for path in ("/proc/self/mem", "/proc/self/clear_refs", "/proc/self/coredump_filter", "/proc/self/oom_score_adj"):
            try:
                os.close(os.open(path, os.O_WRONLY))
                print(path, "opened")
            except OSError as problem:
                print(path, errno.errorcode[problem.errno])
        """)
    assert "opened" not in reply.stdout
    assert len(reply.stdout.splitlines()) == 4


def test_abstract_sockets_and_signals_are_scoped(service):
    """A child of the same sandbox is in the same domain: scoping must not break what is inside."""
    features.need(features.landlock_version() >= 6, "Landlock scopes (ABI 6)")
    reply = service.run("""
        import os, signal, socket, time
        server = socket.socket(socket.AF_UNIX); server.bind(b"\\0name"); server.listen()
        pid = os.fork()
        if pid == 0:
            client = socket.socket(socket.AF_UNIX); client.connect(b"\\0name"); client.sendall(b"hello")
            time.sleep(20)
        print(server.accept()[0].recv(10))
        os.kill(pid, signal.SIGTERM)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """)
    assert reply.stdout == "b'hello'\n-15\n"


def test_running_a_program_from_the_working_directory_works(service):
    reply = service.run("""
        import os, subprocess
        open("tool.sh", "w").write("#!/bin/sh\\necho ran $0\\n")
        os.chmod("tool.sh", 0o755)
        print(subprocess.run(["./tool.sh"], capture_output=True, text=True).stdout, end="")
        """)
    assert reply.stdout == "ran ./tool.sh\n"
