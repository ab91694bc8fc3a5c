"""Trees made to exhaust a collector: 1,000 folders deep, 100,000 entries, folders full of folders."""


def test_deep(service):
    reply = service.run("""
        import os
        open("top", "w").write("top")
        depth = 0
        try:
            while depth < 4000:
                os.mkdir("d" * 100); os.chdir("d" * 100); depth += 1
                open("f", "w").close()
        except OSError:
            pass
        print(depth)
        """)
    assert int(reply.stdout) >= 1000
    assert reply.contents["top"] == b"top" and reply.seconds < 6
    assert "too_many" in reply.skipped.values()


def test_many(service):
    reply = service.run("""
        import os
        open("0-first", "w").write("first")
        count = 0
        try:
            for folder in range(40):
                os.mkdir(f"d{folder:02}")
                for number in range(2500):
                    open(f"d{folder:02}/{number:04}", "w").write("x"); count += 1
        except OSError:
            pass
        print(count)
        """, timeout_s=20)
    assert int(reply.stdout) > 10_000
    assert reply.contents["0-first"] == b"first"
    assert 100 <= len(reply.files) <= 1000 and len(reply.files_skipped) <= 1000 and "too_many" in reply.skipped.values()
    assert reply.seconds < 15
