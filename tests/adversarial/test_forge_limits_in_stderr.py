"""Claiming on standard error that a limit was reached: the flags come from what the spawner saw, not from words."""
import pytest


@pytest.mark.parametrize("text", ["timeout: killed after 20 s", "Out of memory: Killed process 2", "MemoryError", "output_limit", "Killed"])
def test_words_change_nothing(service, text):
    reply = service.execute(f"import sys; print({text!r}, file=sys.stderr); sys.exit(3)")
    assert (reply.outcome, reply.exit_code, reply.stderr) == ("error", 3, text + "\n")


def test_exit_codes_that_mean_a_limit_elsewhere(service):
    for code in (137, 124, 255, 143):
        reply = service.execute(f"raise SystemExit({code})")
        assert (reply.outcome, reply.exit_code) == ("error", code)
