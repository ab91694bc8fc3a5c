"""One run, from the claim to the exit status."""

from .guard import BUILTINS as __builtins__  # noqa: F401

import os

from . import display, ending, frames, session, snippet, stdio
from .claim import Channel, ClaimLost
from .guard import MODULES, note_start


def serve(claim_fd: int, script: str, workdir: str):
    """Waits for the code on the claim channel, runs it, and ends the process with the status of a script.

    If the first frame is a cell, it is a session instead; see session.py.
    """
    try:
        channel = Channel(claim_fd)
        kind, source, descriptors = channel.receive()
    except (ClaimLost, OSError):
        os._exit(0)  # parked in vain: the service has gone, or has no use for this sandbox
    if kind == frames.CELL:
        session.serve(channel, source, descriptors, script, workdir)
    outcome = ending.FAILED
    try:
        outcome = run_claimed(channel, source, descriptors, script)
    finally:  # whatever a thread or a signal of the snippet has done to code of ours meanwhile
        ending.leave(outcome)


def run_claimed(channel: Channel, source: bytes, descriptors: list, script: str) -> ending.Outcome:
    """Runs the source in the present ``__main__``; the process is left as the snippet has left it."""
    stdio.take_input(descriptors[0] if descriptors else -1)
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
        display.show_what_is_left(value, source)
    return outcome
