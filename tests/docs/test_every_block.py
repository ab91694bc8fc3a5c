"""Every block of the documentation is tried by some test, or stands here with the reason why not.

A block is tried where its page is (test_commands.py: what is marked `run`, the replies below, snippets), or by a test
that is about something larger and takes the block from the page. What is left is printed at the end of the tests' output.
"""
import re

import pytest

from docs import pages
from docs.pages import REPOSITORY

CLEAN = "tests/e2e/test_package_in_a_clean_system.py"
CHECKOUT = "tests/docs/test_from_a_checkout.py"
INSTALLING = "tests/docs/test_installing.py"
PROGRAMS = "tests/frameworks/test_programs.py"
DOORS = "tests/e2e/test_doors.py"
MCP = "tests/e2e/test_mcp_clients.py"
COMPLETION = "tests/e2e/test_cli_completion.py"
OPENAPI = "tests/e2e/test_openapi.py"

# (page, how the block begins; "" for all of a language): the file and the function that try it
TRIED = {
    ("README.md", "make run"): (CHECKOUT, "test_make_run"),
    ("docs/image.md", "image/build"): (CHECKOUT, "test_the_image_is_made_and_checked"),
    ("docs/image.md", "image/verify"): (CHECKOUT, "test_the_image_is_made_and_checked"),
    ("docs/operations.md", "make install"): (CHECKOUT, "test_make_install"),
    ("docs/operations.md", "sysctl"): (CHECKOUT, "test_settings_of_the_kernel"),
    ("docs/operations.md", "make deb"): (CLEAN, "test_from_nothing_to_a_chart_and_back_to_nothing"),
    ("docs/operations.md", "sudo platformctl login"): (CLEAN, "test_from_nothing_to_a_chart_and_back_to_nothing"),
    ("docs/operations.md", "sudo platformctl backup"): (CLEAN, "test_from_nothing_to_a_chart_and_back_to_nothing"),
    ("docs/python.md", "pip install"): (INSTALLING, "test_the_python_package"),
    ("docs/python.md", "from code_sandbox import run_python"): (PROGRAMS, "test_the_loop_of_the_package_s_page"),
    ("docs/tool-calls.md", "from code_sandbox import tool"): (INSTALLING, "test_a_tool_as_it_is_introduced"),
    ("docs/typescript.md", "(cd clients"): (INSTALLING, "test_the_typescript_client"),
    ("docs/frameworks.md", "pip install"): (INSTALLING, "test_the_python_package"),
    ("docs/frameworks.md", "py"): (PROGRAMS, "test_the_program_as_it_stands"),
    ("docs/front-doors.md", "py"): (DOORS, "test_what_the_page_shows_happens"),
    ("docs/front-doors.md", "sh"): (DOORS, "test_what_the_page_shows_happens"),
    ("docs/mcp.md", "json"): (MCP, "test_what_programs_are_told_to_connect_with"),
    ("docs/mcp.md", "py"): (MCP, "test_an_agent_framework"),
    ("docs/platformctl.md", ". <(platformctl"): (COMPLETION, "test_the_documented_ways_to_have_it"),
    ("docs/run-code.md", "openapi-python-client"): (OPENAPI, "test_the_documented_command_makes_a_client"),
}
# Drawings and records: nothing in them is a command or a reply.
DRAWN = {("docs/architecture.md", "text"), ("docs/performance.md", "text")}
NOT_TRIED = {
    ("README.md", "make test"): "runs this test among all others; .ci/run is nothing but that",
    ("docs/performance.md", "make bench"): "measures for minutes, on a machine that does nothing else; it is run by hand",
    ("docs/operations.md", "docker run"): f"no container engine's daemon here; crun runs the same with its options ({CLEAN})",
}
BLOCKS = [block for page in pages.all_pages() for block in page.blocks]


def matches(table, block):
    """The entries of a table that mean this block: by its page, and its language or how it begins."""
    return [(page, beginning) for page, beginning in table
            if page == block.page and (beginning == block.language or block.text.startswith(beginning))]


def is_tried_in_place(block):
    if "run" in block.marks or block.language == "python":
        return True
    above = block.follows if block.language in ("json", "text") else None
    return above is not None and ("run" in above.marks or matches(TRIED, above) != [])


def fate(block):
    return [name for name, found in (
        ("in place", is_tried_in_place(block)), ("elsewhere", matches(TRIED, block)), ("drawn", matches(DRAWN, block)),
        ("not tried", matches(NOT_TRIED, block))) if found]


@pytest.mark.parametrize("block", BLOCKS, ids=[block.place for block in BLOCKS])
def test_it_is_tried_or_there_is_a_reason(block):
    assert fate(block) != [], f"nothing runs it: mark it `{block.language or 'sh'} run`, or name here who does"
    assert block.language, "say what it is: sh, text, json …"


@pytest.mark.parametrize("block", [block for block in BLOCKS if "run" in block.marks and "curl" in block.text],
                         ids=lambda block: block.place)
def test_what_asks_the_service_shows_the_answer(block):
    """curl is content with any answer; so would a test be that looks at nothing else."""
    assert [below.place for below in BLOCKS if below.follows is block and below.language in ("json", "text")]


def test_the_tables_name_what_there_is():
    for table in (TRIED, DRAWN, NOT_TRIED):
        for key in table:
            assert [block.place for block in BLOCKS if key in matches([key], block)], f"no block for {key}"
    for (page, _), (file, function) in TRIED.items():
        text = (REPOSITORY / file).read_text()
        assert re.search(rf"^def {function}\(", text, re.M), f"{file} has no {function}"
        assert page.rpartition("/")[2] in text, f"{file} does not take anything from {page}"


def test_the_reasons_hold():
    assert (REPOSITORY / ".ci" / "run").read_text().rstrip().endswith("exec make test")
    assert "operations.md" in (REPOSITORY / CLEAN).read_text()


def test_what_is_not_tried_is_shown(record_not_tried):
    record_not_tried([f"{page}: {beginning}: {reason}" for (page, beginning), reason in NOT_TRIED.items()])
    assert len(NOT_TRIED) <= 3, "try it, or do not show it as a command"
