"""Trees made to exhaust a collector: 1,000 folders deep, 100,000 entries, folders full of folders."""
import time


def test_deep(service):
    reply = service.run("""
        import json, os, time
        open("top", "w").write("top")
        depth = 0
        try:
            while depth < 1200:
                os.mkdir("d" * 100); os.chdir("d" * 100); depth += 1
                open("f", "w").close()
        except OSError:
            pass
        print(json.dumps([depth, time.time()]))
        """, timeout_s=50)
    depth, ended = reply.printed
    assert depth >= 1000 and time.time() - ended < 6, "collecting is bounded in time"
    assert reply.contents["top"] == b"top"
    assert set(reply.skipped.values()) & {"too_many", "name"}, "too deep, or a path that is too long"


def test_many(service):
    reply = service.run("""
        import json, os, time
        open("0-first", "w").write("first")
        count = 0
        try:
            for folder in range(40):
                os.mkdir(f"d{folder:02}")
                for number in range(2500):
                    open(f"d{folder:02}/{number:04}", "w").write("x"); count += 1
        except OSError:
            pass
        print(json.dumps([count, time.time()]))
        """, timeout_s=50)
    count, ended = reply.printed
    assert count > 10_000 and time.time() - ended < 6, "collecting is bounded in time"
    assert reply.contents["0-first"] == b"first"
    assert 100 <= len(reply.files) <= 1000 and len(reply.files_skipped) <= 1000 and "too_many" in reply.skipped.values()
