"""Races against the collector: files swapped, renamed, grown and removed by processes that will not stop."""


def test_what_comes_back_is_consistent(service):
    for _ in range(3):
        reply = service.run("""
            import os
            os.symlink("/etc/passwd", "l"); open("f", "w").write("honest"); os.mkdir("d"); open("d/f", "w").write("honest")
            for worker in range(6):
                if os.fork() == 0:
                    os.setsid()
                    while True:
                        try:
                            if worker == 0: os.rename("f", "t"); os.rename("l", "f"); os.rename("f", "l"); os.rename("t", "f")
                            elif worker == 1: os.rename("d", "e"); os.symlink("/etc", "d"); os.unlink("d"); os.rename("e", "d")
                            elif worker == 2: open("grow", "a").write("g" * 1000)
                            elif worker == 3: open("gone", "w").close(); os.unlink("gone")
                            elif worker == 4: os.truncate("grow", 0)
                            else: os.chmod("f", 0); os.chmod("f", 0o600)
                        except OSError:
                            pass
            import time; time.sleep(0.2)
            print("main ends")
            """)
        assert reply.stdout == "main ends\n" and reply.outcome == "ok"
        for name, content in reply.contents.items():
            assert content in (b"honest", b"") or set(content) == set(b"g"), name
            assert b"nonroot" not in content
        for file in reply.files:
            assert file["size"] == len(reply.contents[file["name"]])
