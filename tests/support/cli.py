"""Runs platformctl for tests: with pipes, or on a terminal."""
import os
import pty
import select
import subprocess
import time
from pathlib import Path

from support.service import PROGRAM

PLATFORMCTL = Path(PROGRAM).parent / "platformctl"


class Result:
    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def __repr__(self):
        return f"<exit {self.code}, stdout {self.stdout!r}, stderr {self.stderr!r}>"


class Cli:
    """platformctl with an environment that holds nothing but what a test gives it."""

    def __init__(self, url=None, key=None, **variables):
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/nonexistent", **variables}
        if url:
            self.environment["SANDBOX_URL"] = url
        if key:
            self.environment["SANDBOX_KEY"] = key

    def start(self, *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
              **variables):
        return subprocess.Popen([PLATFORMCTL, *words], env={**self.environment, **variables}, cwd=cwd, stdin=stdin,
                                stdout=stdout, stderr=stderr)

    def __call__(self, *words, given=None, timeout=30, cwd="/", **variables):
        """Runs to the end. `given` is what it reads from its standard input."""
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
        process = self.start(*words, stdin=stdin, cwd=cwd, **variables)
        try:
            stdout, stderr = process.communicate(given, timeout)
        finally:
            process.kill()
        return Result(process.returncode, stdout, stderr.decode())

    def on_terminal(self, *words, timeout=30, stdout=None, **variables):
        """Both streams lead to one terminal, as for a person, or standard output to a file; returns what appears."""
        ours, theirs = pty.openpty()
        process = self.start(*words, stdin=theirs, stdout=stdout or theirs, stderr=theirs,
                             **{"TERM": "xterm", **variables})
        os.close(theirs)
        seen, deadline = b"", time.monotonic() + timeout
        try:
            while time.monotonic() < deadline:
                if not select.select([ours], [], [], 0.2)[0]:
                    continue
                try:
                    piece = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                if not piece:
                    break
                seen += piece
            code = process.wait(5)
        finally:
            process.kill()
            process.wait()
            os.close(ours)
        return Result(code, seen.replace(b"\r\n", b"\n"), "")
