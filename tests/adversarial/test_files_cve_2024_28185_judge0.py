"""CVE-2024-28185 and -28189 (judge0): the service itself wrote, or changed owners, through a link that the sandbox had
placed where it would work as root next. Here inputs are written before any code runs, and nothing is changed afterwards."""
from pathlib import Path

from support.client import text_file


def test_inputs_are_never_written_through_a_link(service):
    victim = Path("/tmp/sandbox-test-victim")
    victim.write_text("untouched")
    victim.chmod(0o666)
    for _ in range(4):
        service.run(f"""
            import os
            for name in ("main.py", "stdin", "stdout", "input.txt", "compile", "a/b"):
                for place in ("/mnt/data/", "/home/nonroot/", "/tmp/"):
                    try:
                        os.unlink(place + name)
                    except OSError:
                        pass
                    try:
                        os.symlink("{victim}", place + name)
                    except OSError:
                        pass
            """)
        reply = service.run("print(open('input.txt').read())", files=[text_file("input.txt", "for the next run")], stdin="x")
        assert reply.stdout == "for the next run\n"
    assert victim.read_text() == "untouched" and victim.stat().st_uid == 0
    victim.unlink()
