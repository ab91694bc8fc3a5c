"""A snippet does what `python main.py` does, compared with that for each of a few hundred snippets."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import snippets


def both(runner, plain, name, source):
    how = {"stdin": snippets.STDIN if name.endswith("(stdin)") else b"", "safe_path": name.endswith("(path)")}
    with ThreadPoolExecutor(2) as pool:
        ours, theirs = [pool.submit(server.run, source, **how) for server in (runner, plain)]
    return ours.result(), theirs.result()


@pytest.mark.parametrize("name", snippets.SNIPPETS)
def test_same_as_python(runner, plain, name):
    ours, theirs = both(runner, plain, name, snippets.SNIPPETS[name])
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr
    assert ours.status == theirs.status


@pytest.mark.parametrize("name", snippets.DIFFERENT)
def test_known_difference(runner, name):
    source, exit_code, stdout, stderr = snippets.DIFFERENT[name]
    outcome = runner.run(source)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (exit_code, stdout, stderr)


def test_the_comparison_can_fail(runner, plain):
    """Were the two the same by construction, this would be the same too."""
    ours, theirs = both(runner, plain, "", "import sys; print('pandas' in sys.modules)")
    assert ours.stdout != theirs.stdout


WITHOUT_EXTENSION = [
    "traceback", "chained", "syntax error", "exit with text", "exit 300", "endless recursion", "finalizer of a global", "exit functions",
    "guard", "streams", "error in a thread", "keyboard interrupt", "fork that fails", "last expression prints nothing", "excepthook that fails",
]


@pytest.mark.parametrize("name", WITHOUT_EXTENSION)
def test_without_the_extension_module(runner_without_extension, plain, name):
    """In another version of Python the runner's frames stay below the snippet's; the rest holds."""
    ours, theirs = both(runner_without_extension, plain, name, snippets.SNIPPETS[name])
    if name == "endless recursion":  # a few frames less
        assert ours.stderr.startswith(theirs.stderr[:300]) and "RecursionError" in ours.stderr
        return
    assert (ours.status, ours.stdout, ours.stderr) == (theirs.status, theirs.stdout, theirs.stderr)
