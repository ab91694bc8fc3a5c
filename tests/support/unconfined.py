"""Positive controls: the same Python text, run on the host as root with everything allowed.

A refusal inside the sandbox proves something only if the attempt would have worked, or failed otherwise, outside of it.
The child gets throwaway mount, UTS, IPC and PID namespaces, so that what works harms nobody; it keeps the network
namespace of the tests, which is the one that the service lives in.
"""
import subprocess
import sys

from support.client import dedent


def run(code, *, mount_binds=(), timeout=30, namespaces=("--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
                                                         "--mount-proc")):
    """Standard output of the code; fails the test if it does not exit with 0."""
    script = "".join(f"mount --bind '{source}' '{target}' && " for source, target in mount_binds) + 'exec "$@"'
    done = subprocess.run(
        ["unshare", *namespaces, "sh", "-c", script, "sh", sys.executable, "-I", "-c", dedent(code)],
        capture_output=True, text=True, timeout=timeout, cwd="/tmp", stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"the positive control failed: {done.stdout}{done.stderr}"
    return done.stdout
