"""Files written through a shared map, or by a child right at the end: what is there when all are dead is what comes back."""


def test_mapped(service):
    reply = service.run("""
        import mmap
        with open("m", "w+b") as file:
            file.truncate(10000)
            area = mmap.mmap(file.fileno(), 10000)
        area[:] = b"m" * 10000
        import os; os.kill(os.getpid(), 9)
        """)
    assert reply.exit_code == 137 and reply.contents == {"m": b"m" * 10000}
