"""Writing to, closing and exchanging every descriptor that there might be."""
import pytest


@pytest.mark.parametrize("action", ["os.write(fd, b'garbage' * 100)", "os.close(fd)", "os.ftruncate(fd, 0)", "os.lseek(fd, 0, 0)", "os.dup2(0, fd)"])
def test_no_more_than_its_own_streams(service, action):
    reply = service.run(f"""
        import os
        os.write(1, b"first\\n")
        for fd in range(3, 2000):
            try:
                {action}
            except OSError:
                pass
        os.write(1, b"last\\n")
        os._exit(4)
        """)
    assert reply.stdout == "first\nlast\n" and reply.exit_code == 4 and reply.results == [] and reply.files == []


def test_its_own_streams(service):
    reply = service.run("""
        import os
        os.write(1, b"out"); os.write(2, b"err")
        os.dup2(2, 1); os.write(1, b"+more")
        os.closerange(0, 65536)
        os._exit(6)
        """)
    assert (reply.stdout, reply.stderr, reply.exit_code) == ("out", "err+more", 6)
