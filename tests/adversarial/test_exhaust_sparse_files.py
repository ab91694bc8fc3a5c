"""Files that claim to be huge: a terabyte of hole, many of them, holes punched into maps."""


def test_bounded_and_never_read(service):
    reply = service.run("""
        import errno, os
        for size in (1 << 40, 1 << 62, 100 << 20):
            try:
                with open(f"sparse{size}", "wb") as file:
                    os.ftruncate(file.fileno(), size)
                print("made", size)
            except OSError as problem:
                print(errno.errorcode[problem.errno])
        for number in range(50):
            with open(f"many{number}", "wb") as file:
                os.ftruncate(file.fileno(), 5 << 20)
        """)
    assert reply.seconds < 4
    assert reply.stdout.splitlines()[:2] == ["EFBIG", "EFBIG"]
    assert set(reply.skipped.values()) <= {"too_large", "total_too_large"} and len(reply.skipped) >= 50
    assert sum(file["size"] for file in reply.files) <= 16 << 20


def test_twenty_files_of_four_megabytes_of_nothing(service):
    reply = service.run("""
        import os
        for number in range(20):
            os.close(os.open(f"f{number:02}", os.O_CREAT | os.O_WRONLY)); os.truncate(f"f{number:02}", 4 << 20)
        """)
    assert len(reply.files) == 4 and len(reply.skipped) == 16
