"""Failures that users of other code runners have reported in public, as tests of this one.

Each module of this package is a table of one kind: CASES, a list of `case(...)`. A case names the public report that it
was learned from; siblings below it (report None) are of the same kind and were thought up to go with it. The tables are
run by test_reports.py.
"""
from dataclasses import dataclass, field

from support.client import dedent


@dataclass
class Case:
    title: str
    code: str
    report: str | None = None
    request: dict = field(default_factory=dict)
    want: dict = field(default_factory=dict)
    runs: int = 1
    together: int = 1


def case(title, code, report=None, request=None, runs=1, together=1, **want):
    """`want` says what must hold; the names are the functions of test_reports.py. Without `outcome` it has to be ok."""
    return Case(title, dedent(code), report, request or {}, want, runs, together)
