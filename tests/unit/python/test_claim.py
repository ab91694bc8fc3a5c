"""The claim channel: what the service sends, in whatever pieces, and what it must never be answered with."""

import os
import socket
import struct

import pytest

import runner_support as support
from runner_support import CELL, CODE, RESULT, STARTED, frame


def test_started_comes_first_and_once(runner):
    outcome = runner.run("print(1)")
    assert [kind for kind, _, _ in outcome.frames] == [STARTED]
    assert outcome.frames[0][1] == b""


def test_a_program_that_is_none_is_started_too(runner):
    outcome = runner.run("x = = 1")
    assert [kind for kind, _, _ in outcome.frames] == [STARTED] and outcome.exit_code == 1


@pytest.mark.parametrize("length", [0, 1, 8, 16 << 10, (16 << 10) - 8, (16 << 10) - 7, (16 << 10) + 1, 300_000, 5 << 20])
def test_programs_of_any_length(runner, length):
    start = f"print({length})\n#" if length > 20 else "#" if length else ""
    source = start + "x" * (length - len(start))
    assert len(source) == length
    outcome = runner.run(source)
    assert outcome.exit_code == 0 and outcome.stderr == ""
    assert outcome.stdout == (f"{length}\n" if length > 20 else "")


def test_a_program_of_the_greatest_length(runner):
    source = "print(len(open(__file__).read()))\nx = '''" + "y" * ((32 << 20) - 60)
    source += "'''" + " " * ((32 << 20) - len(source) - 3)
    outcome = runner.run(source)
    assert outcome.stdout == f"{32 << 20}\n" and outcome.exit_code == 0


@pytest.mark.parametrize("claim", [
    b"", b"\1", frame(CODE, b"print(1)")[:-1], frame(STARTED, b"print(1)"), frame(RESULT, b"print(1)"), frame(77, b""), frame(CODE, b"x")[:7],
    struct.pack("<II", CODE, (32 << 20) + 1), struct.pack("<II", CODE, 0xFFFFFFFF), b"\xff" * 100, b"GET / HTTP/1.1\r\n\r\n",
], ids=lambda claim: repr(claim[:12]))
def test_anything_but_code_ends_quietly(runner, claim):
    outcome = runner.run(claim=claim)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr, outcome.frames) == (0, "", "", [])


def test_bytes_after_the_code_are_ignored(runner):
    outcome = runner.run(claim=frame(CODE, b"print(1)") + frame(CODE, b"print(2)"))
    assert outcome.stdout == "1\n"


def open_descriptors() -> set:
    return {fd for fd in range(256) if os.path.exists(f"/proc/self/fd/{fd}")}


class TestChannel:
    """The class alone, in this process."""

    def pair(self):
        from sandbox_runner import claim

        ours, theirs = socket.socketpair()
        theirs.settimeout(10)
        return claim.Channel(ours.detach()), theirs

    @pytest.mark.parametrize("piece", [1, 3, 7, 8, 9, 1000])
    def test_in_pieces(self, piece):
        import threading

        channel, service = self.pair()
        data = frame(CODE, b"x = 1\n" * 50)
        read, write = os.pipe()

        def send():
            socket.send_fds(service, [data[:1]], [read])
            for at in range(1, len(data), piece):
                service.sendall(data[at : at + piece])

        thread = threading.Thread(target=send)
        thread.start()
        kind, source, (stdin,) = channel.receive()
        thread.join()
        assert (kind, source) == (CODE, b"x = 1\n" * 50)
        os.write(write, b"in")
        assert os.read(stdin, 10) == b"in" and not os.get_inheritable(stdin)
        for fd in (read, write, stdin):
            os.close(fd)

    def test_no_descriptor(self):
        channel, service = self.pair()
        service.sendall(frame(CODE, b"x"))
        assert channel.receive() == (CODE, b"x", [])

    def test_too_many_descriptors_are_closed(self):
        channel, service = self.pair()
        before = open_descriptors()
        fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(10)]
        socket.send_fds(service, [frame(CODE, b"x")], fds)
        for fd in fds:
            os.close(fd)
        _, _, (stdin,) = channel.receive()
        assert open_descriptors() - before == {stdin}
        os.close(stdin)

    def test_a_cell_has_three_descriptors(self):
        from sandbox_runner.claim import ClaimLost

        for count in (0, 1, 2, 3, 5):
            channel, service = self.pair()
            before = open_descriptors()
            fds = [os.open("/dev/null", os.O_RDWR) for _ in range(count)]
            socket.send_fds(service, [frame(CELL, b"x")], fds)
            for fd in fds:
                os.close(fd)
            if count < 3:
                with pytest.raises(ClaimLost):
                    channel.receive()
                continue
            kind, source, received = channel.receive()
            assert (kind, source, len(received)) == (CELL, b"x", 3)
            assert open_descriptors() - before == set(received)
            for fd in received:
                os.close(fd)

    def test_only_what_is_waited_for(self):
        from sandbox_runner.claim import ClaimLost

        channel, service = self.pair()
        service.sendall(frame(CODE, b"x"))
        with pytest.raises(ClaimLost):
            channel.receive((CELL,))

    def test_not_sent_if_it_comes_too_late(self):
        channel, service = self.pair()
        assert channel.send(RESULT, b"{}", unless=lambda: True) is False
        assert channel.send(RESULT, b"{}", unless=lambda: False) is True
        assert service.recv(100) == frame(RESULT, b"{}")

    def test_closed(self):
        from sandbox_runner.claim import ClaimLost

        for data in (b"", b"\1\0", frame(CODE, b"12345")[:-2]):
            channel, service = self.pair()
            service.sendall(data)
            service.close()
            with pytest.raises(ClaimLost):
                channel.receive()

    def test_sending_to_nobody(self):
        channel, service = self.pair()
        service.close()
        assert channel.send(RESULT, b"{}") is False

    def test_a_torn_frame_is_the_last(self):
        """An exception of a signal handler in the middle of a frame must not be followed by what looks like a new one."""
        import signal

        channel, service = self.pair()

        def ring(*_):
            raise TimeoutError

        old = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            with pytest.raises(TimeoutError):
                channel.send(RESULT, b"x" * (4 << 20))  # more than fits: blocks
        finally:
            signal.signal(signal.SIGALRM, old)
        assert channel.send(RESULT, b"{}") is False

    def test_frames_of_many_threads_stay_whole(self):
        import threading

        channel, service = self.pair()
        threads = [threading.Thread(target=channel.send, args=(RESULT, bytes([65 + n]) * 100_000)) for n in range(8)]
        for thread in threads:
            thread.start()
        data = b""
        while len(data) < 8 * 100_008:
            data += service.recv(1 << 20)
        for thread in threads:
            thread.join()
        payloads = [payload for _, payload, _ in support.parse_frames(data, [(len(data), 0)])]
        assert sorted(set(payload[:1] for payload in payloads)) == [bytes([65 + n]) for n in range(8)]
        assert all(len(set(payload)) == 1 for payload in payloads)

    def test_not_from_a_fork(self):
        channel, service = self.pair()
        pid = os.fork()
        if pid == 0:
            os._exit(channel.send(RESULT, b"{}"))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        service.setblocking(False)
        with pytest.raises(BlockingIOError):
            service.recv(1)
