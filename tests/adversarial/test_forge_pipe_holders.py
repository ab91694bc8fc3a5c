"""Children that keep the output open in every way, so that a reader who waits for the end waits for ever."""
import pytest

HOLD = {
    "sleeping child": "subprocess.Popen(['sleep', '60'])",
    "stopped child": "p = subprocess.Popen(['sleep', '60']); p.send_signal(signal.SIGSTOP)",
    "descriptor in flight": "a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [1, 2])",
    "many duplicates": "[os.dup(1) for _ in range(500)]",
    "grandchild in a new session": "subprocess.Popen('setsid sleep 60 & exit', shell=True).wait()",
    "child that fills the pipe": "subprocess.Popen(['yes'])",
    "reading end in a child": "subprocess.Popen(['sleep', '60'], stdin=subprocess.PIPE, stdout=1, stderr=2)",
}


@pytest.mark.parametrize("way", HOLD)
def test_the_end_is_the_end(service, way):
    reply = service.run(f"""
        import os, signal, socket, subprocess
        print("first", flush=True)
        {HOLD[way]}
        os._exit(5)
        """)
    assert reply.exit_code == 5 and reply.stdout.startswith("first\n") and reply.seconds < 3
