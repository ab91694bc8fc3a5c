"""One run, from the claim to the exit status."""

from .guard import BUILTINS as __builtins__  # noqa: F401

import os

from . import display, ending, last_value, snippet, stdio
from .claim import Channel, ClaimLost
from .guard import MODULES, note_start


def serve(claim_fd: int, script: str):
    """Waits for the code on the claim channel, runs it, and ends the process with the status of a script."""
    try:
        channel = Channel(claim_fd)
        source, stdin = channel.receive()
    except (ClaimLost, OSError):
        os._exit(0)  # parked in vain: the service has gone, or has no use for this sandbox
    outcome = ending.FAILED
    try:
        outcome = run_claimed(channel, source, stdin, script)
    finally:  # whatever a thread or a signal of the snippet has done to code of ours meanwhile
        ending.leave(outcome)


def run_claimed(channel: Channel, source: bytes, stdin: int, script: str) -> ending.Outcome:
    """Runs the source in the present ``__main__``; the process is left as the snippet has left it."""
    stdio.take_input(stdin)
    snippet.write_file(script, source)
    snippet.remember_lines(script, source)
    code, problem = snippet.load(source, script)
    display.begin(channel)
    note_start()
    value = None
    channel.started()
    if code is not None:
        value, problem = snippet.run(code, MODULES["__main__"])
        code = None
    outcome = ending.report(problem)
    problem = None
    if channel.is_ours():  # and not a fork that has come to the end of the file
        _show_what_is_left(value, source)
    return outcome


def _show_what_is_left(value, source: bytes) -> None:
    try:
        value = last_value.to_show(value, source)
        if value is not None:
            display.last_value(value)
        display.open_figures()
    except BaseException:
        pass
