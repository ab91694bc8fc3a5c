"""Filling every writable place with bytes, with files, with folders and with long names: an ordinary error, and no one else's."""
import pytest

PLACES = ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm")


@pytest.mark.parametrize("what", ["empty files", "folders", "links", "fifos", "long names"])
def test_inodes_end(service, what):
    make = {"empty files": "os.close(os.open(path, os.O_CREAT))", "folders": "os.mkdir(path)", "links": "os.symlink('x' * 1000, path)",
            "fifos": "os.mkfifo(path)", "long names": "os.close(os.open(path + 'n' * 200, os.O_CREAT))"}[what]
    reply = service.run(f"""
        import errno, os
        for place in {PLACES}:
            number = 0
            try:
                while True:
                    path = f"{{place}}/{{number}}"
                    {make}
                    number += 1
            except OSError as problem:
                print(errno.errorcode[problem.errno], 1000 < number < 20000)
        """, timeout_s=20)
    assert reply.stdout == "ENOSPC True\n" * 4, reply


def test_bytes_end_and_the_neighbour_has_its_own(service):
    with service.hold("""
        for place in ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm"):
            try:
                with open(place + "/full", "wb") as file:
                    while True: file.write(b"x" * (1 << 20)); file.flush()
            except OSError:
                pass
        """):
        reply = service.run("""
            for place in ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm"):
                open(place + "/mine", "wb").write(b"y" * (4 << 20))
            print("room enough")
            """)
    assert reply.stdout == "room enough\n"


def test_ten_million_files_are_not_waited_for(service):
    reply = service.run("""
        import os
        number = 0
        while True:
            try:
                os.close(os.open(str(number), os.O_CREAT)); number += 1
            except OSError:
                number += 1
        """, timeout_s=2)
    assert reply.outcome == "timeout" and reply.seconds < 6
    assert len(reply.files) + len(reply.files_skipped) <= 1000
