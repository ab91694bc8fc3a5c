"""Blocks of the documentation that no test runs are named at the end of the tests' output."""
import pytest

LINES = []


@pytest.fixture
def record_not_tried():
    return LINES.extend


def pytest_terminal_summary(terminalreporter):
    if LINES:
        terminalreporter.section("commands of the documentation that no test runs")
        for line in LINES:
            terminalreporter.line(line)
