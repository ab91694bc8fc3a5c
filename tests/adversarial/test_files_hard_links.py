"""Hard links: to files outside (impossible), among themselves (once), by the thousand (not a thousand copies)."""


def test_one_copy(service):
    reply = service.run("""
        import os
        open("a", "wb").write(b"x" * (1 << 20))
        for number in range(2000):
            os.link("a", f"link{number:04}")
        """)
    assert [content for content in reply.contents.values()] == [b"x" * (1 << 20)]
    assert set(reply.skipped.values()) <= {"not_a_regular_file", "too_many"}


def test_nothing_from_outside(service):
    reply = service.run("""
        import os
        for source in ("/etc/passwd", "/proc/self/environ", "/dev/null", "/proc/self/fd/1", "/proc/1/environ", os.__file__, "/home/nonroot/main.py"):
            for follow in (True, False):
                try:
                    os.link(source, "stolen", follow_symlinks=follow); print("linked", source)
                except (OSError, NotImplementedError):
                    pass
        print("done")
        """)
    assert reply.stdout == "done\n" and reply.files == []
