"""Space held by files that have no name any more: not returned, and given back with the run."""


def test_given_back(service):
    for _ in range(4):
        reply = service.run("""
            import os, mmap
            kept = []
            for number in range(4):
                file = open(f"f{number}", "w+b"); file.write(b"x" * (28 << 20)); file.flush(); os.unlink(f"f{number}"); kept.append(file)
            maps = [mmap.mmap(file.fileno(), 1 << 20) for file in kept]
            if os.fork() == 0:
                os.setsid()
                import time; time.sleep(60)
            print(os.listdir("."))
            """)
        assert reply.stdout == "[]\n" and reply.files == [] and reply.files_skipped == []
