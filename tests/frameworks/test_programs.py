"""The programs of docs/frameworks.md as they stand, and the loop of docs/python.md: the real packages, a real service, and
a model that says what is written here. It asks for run_python, gets numbers and charts, and is told of everything that
goes wrong on the way.

Runs in the environment that `scripts/install-test-clients package` makes, like tests/package.
"""
import contextlib
import os
import re
import subprocess
import sys

import pytest

from docs.pages import REPOSITORY, Page, shown
from support.model_server import ModelServer, run

PAGE = Page(REPOSITORY / "docs" / "frameworks.md")
PROGRAMS = [block for block in PAGE.blocks if block.language == "py"]
MADE_FOR_LLAMA_INDEX = REPOSITORY / "build" / "test-llama-index"
QUESTION = "What is the mean of 1, 2 and 6? Draw them."
CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 6])\nplt.show()\nx = (1 + 2 + 6) / 3\nprint('mean', x)"


def name_of(block):
    """The adapter, and how it is used."""
    (adapter,) = re.findall(r"code_sandbox\.adapters\.(\w+) import", block.text)
    means = re.search(r"\b(response_answers|StateGraph|create_agent)\b", block.text)
    return f"{adapter} with {means[1]}" if means else adapter


def conversation_of(block):
    return re.search(r'conversation\("([\w-]+)"\)', block.text)[1]


def sees_charts(block):
    return "StateGraph" not in block.text  # chat completions: the chart is the artifact of the message


@contextlib.contextmanager
def no_session_left(project):
    """All that the project may have are in use by other conversations."""
    others = ["other-1", "other-2"]
    for conversation in others:
        project.call("1", conversation)
    yield
    for conversation in others:
        assert project.end_session(conversation).json["ended"]


def check_chart(told, block):
    assert "stdout:\nmean 3.0" in told.text and "1 chart was drawn." in told.text
    assert [chart[:8] for chart in told.charts] == [b"\x89PNG\r\n\x1a\n"] * sees_charts(block)


def stateless(block):
    told = yield
    assert QUESTION in told.text and "run_python" in told.tools
    assert "share one interpreter" not in told.tools["run_python"]
    told = yield run(CHART)
    check_chart(told, block)
    told = yield [run("print(x)"), run("print(6 * 7)")]
    assert "NameError: name 'x' is not defined" in told.text and "stdout:\n42" in told.text
    yield "The mean is 3."


def stateful(block, project):
    told = yield
    project.delete(conversation_of(block))  # it belongs to the other agent
    assert "share one interpreter" in told.tools["run_python"]
    with no_session_left(project):
        told = yield run("print(1)")
        assert "run_python has not been run: 429 session_limit: " in told.text and "2" in told.text
    told = yield run(CHART)
    check_chart(told, block)
    told = yield [run("print(x + 39)"), run("print(x + 40)")]  # at once: they take turns
    assert "stdout:\n42.0" in told.text and "stdout:\n43.0" in told.text
    project.set("notebook", "CODE_INTERPRETER_TIMEOUT_S", "1")
    told = yield run("while True: pass")
    project.set("notebook", "CODE_INTERPRETER_TIMEOUT_S", "20")
    assert "It was stopped at its time limit." in told.text
    told = yield run("print(x)")
    assert "variables" in told.text and "lost" in told.text and "NameError: name 'x' is not defined" in told.text, told
    yield "The mean is 3."


def environment_of(project, model, folders, tmp_path):
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": ":".join(map(str, folders)),
            "CODE_SANDBOX_URL": project.service.url, "CODE_SANDBOX_KEY": project.key,
            "OPENAI_AGENTS_DISABLE_TRACING": "1", **model.environment}


@pytest.mark.parametrize("block", PROGRAMS, ids=[name_of(block) for block in PROGRAMS])
def test_the_program_as_it_stands(block, project, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(block.text)
    folders = [REPOSITORY / "python"] + [MADE_FOR_LLAMA_INDEX] * ("llama_index" in block.text)
    command = [sys.executable, REPOSITORY / "tests" / "frameworks" / "twice.py", program, "plain", "notebook"]
    with ModelServer(stateless(block), stateful(block, project)) as model:
        done = subprocess.run(command, env=environment_of(project, model, folders, tmp_path), capture_output=True,
                              text=True, timeout=120)
        model.finish(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith(("The mean is 3.", "-- end"))] == [
        "The mean is 3.", "-- end of plain", "The mean is 3.", "-- end of notebook"], done.stdout
    project.delete(conversation_of(block))  # with its session


AROUND_THE_LOOP = """
from openai import OpenAI
from code_sandbox import tool

@tool
def find_order(number: int) -> str:
    \"""Looks an order up.\"""
    return "unknown"

client, model, messages = OpenAI(), "gpt-5", [{"role": "user", "content": "How much is 6 times 7?"}]
%s
print(messages[-1].content)
"""


def test_the_loop_of_the_package_s_page(project, tmp_path):
    """docs/python.md, with what a program has before it."""
    def script():
        told = yield
        assert set(told.tools) == {"run_python", "find_order"}
        told = yield run("print(6 * 7)")
        assert "stdout:\n42" in told.text
        yield "It is 42."

    program = AROUND_THE_LOOP % shown("docs/python.md", "from code_sandbox import run_python").text
    with ModelServer(script()) as model:
        environment = environment_of(project, model, [REPOSITORY / "python"], tmp_path)
        done = subprocess.run([sys.executable, "-c", program], env={**environment, "CODE_SANDBOX_AGENT": "plain"},
                              capture_output=True, text=True, timeout=120)
        model.finish(done.stdout + done.stderr)
    assert done.stdout == "It is 42.\n", done.stderr


def test_the_extras_are_those_of_the_package():
    metadata = (REPOSITORY / "python" / "pyproject.toml").read_text()
    extras = set(re.findall(r"^([\w-]+) = \[", metadata.split("[project.optional-dependencies]")[1].split("\n[")[0], re.M))
    assert extras == set(re.findall(r"^\| [^|]+ \| `([\w-]+)` \|", PAGE.text, re.M))


def test_every_adapter_has_a_program_of_ten_lines():
    adapters = {path.stem for path in (REPOSITORY / "python" / "code_sandbox" / "adapters").glob("[a-z]*.py")}
    assert adapters == {name_of(block).split()[0] for block in PROGRAMS}
    assert max(len(re.findall(r"^.*\S.*$", block.text, re.M)) for block in PROGRAMS) <= 10
    named = re.findall(r"^## (.+)$", PAGE.text, re.M)
    assert len(named) == 8
