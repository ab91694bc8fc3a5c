"""Runs the tables of this folder."""
import importlib
import pkgutil
from concurrent.futures import ThreadPoolExecutor

import pytest

import e2e.cases

TABLES = [module.name for module in pkgutil.iter_modules(e2e.cases.__path__) if not module.name.startswith("test_")]
CASES = [(table, case) for table in TABLES for case in importlib.import_module(f"e2e.cases.{table}").CASES]


def has(text, wanted):
    return all(part in text for part in ([wanted] if isinstance(wanted, str) else wanted))


def lacks(text, unwanted):
    return not any(part in text for part in ([unwanted] if isinstance(unwanted, str) else unwanted))


CHECKS = {
    "stdout": lambda reply, want: reply.stdout == want,
    "stderr": lambda reply, want: reply.stderr == want,
    "stdout_in": lambda reply, want: reply.stdout in want,
    "stdout_has": lambda reply, want: has(reply.stdout, want),
    "stderr_has": lambda reply, want: has(reply.stderr, want),
    "stdout_lacks": lambda reply, want: lacks(reply.stdout, want),
    "stderr_lacks": lambda reply, want: lacks(reply.stderr, want),
    "stderr_end": lambda reply, want: reply.stderr.endswith(want),
    "stdout_length": lambda reply, want: len(reply.stdout) == want,
    "stdout_at_most": lambda reply, want: len(reply.stdout.encode()) <= want,
    "exit_code": lambda reply, want: reply.exit_code == want,
    "exit_code_in": lambda reply, want: reply.exit_code in want,
    "outcome": lambda reply, want: reply.outcome == want,
    "outcome_in": lambda reply, want: reply.outcome in want,
    "truncated": lambda reply, want: (reply.stdout_truncated or reply.stderr_truncated) == want,
    "seconds": lambda reply, want: reply.seconds <= want,
    "files": lambda reply, want: reply.contents == {name: as_bytes(content) for name, content in want.items()},
    "names": lambda reply, want: sorted(reply.contents) == sorted(want),
    "magic": lambda reply, want: all(reply.contents[name].startswith(magic) for name, magic in want.items()),
    "skipped": lambda reply, want: reply.skipped == want,
    "results": lambda reply, want: [result["text/plain"] for result in reply.results] == want,
}


def as_bytes(content):
    return content if isinstance(content, bytes) else content.encode()


def check(reply, case):
    want = dict(case.want)
    if not {"outcome", "outcome_in"} & set(want):
        want["outcome"] = "ok" if want.get("exit_code", 0) == 0 and "exit_code_in" not in want else "error"
    failed = {name: value for name, value in want.items() if not CHECKS[name](reply, value)}
    assert not failed, f"expected {failed}; got {reply!r}"


@pytest.mark.parametrize("table, case", CASES, ids=[f"{table}: {case.title}" for table, case in CASES])
def test_report(service, table, case):
    if {"status", "message_has"} & set(case.want):
        response = service.post(body={"code": case.code, **case.request})
        assert response.status == case.want["status"], response
        assert has(response.error["message"], case.want.get("message_has", ""))
        return
    assert case.want, "a case without an expectation cannot fail"
    for _ in range(case.runs):
        with ThreadPoolExecutor(case.together) as pool:
            for reply in pool.map(lambda _: service.execute(case.code, **case.request), range(case.together)):
                check(reply, case)


def test_titles_are_unique():
    titles = [(table, case.title) for table, case in CASES]
    assert len(titles) == len(set(titles)) and len(titles) > 150
