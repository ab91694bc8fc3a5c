"""examples/chat as it stands, with a real service and a scripted model."""
import os
import signal
import subprocess
import sys

import pytest

from docs.pages import REPOSITORY
from support.host import wait_until
from support.model_server import ModelServer, run

CHAT = REPOSITORY / "examples" / "chat" / "chat.py"
SUM = ("import pandas as pd\nimport matplotlib.pyplot as plt\nsales = pd.read_csv('sales.csv')\n"
       "sales.plot.bar(x='city'); plt.show()\nsales.to_json('sales.json')\nprint('sum', sales.amount.sum())")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sales.csv").write_text("city,amount\nOslo,4\nRome,8\n")
    return tmp_path


def start(project, model, folder, *arguments, agent="notebook", **variables):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY / "python"), **model.environment,
                   "OPENAI_MODEL": "scripted", "CODE_SANDBOX_URL": project.service.url, "CODE_SANDBOX_KEY": project.key,
                   "CODE_SANDBOX_AGENT": agent, **variables}
    return subprocess.Popen([sys.executable, "-u", CHAT, *arguments], cwd=folder, env=environment, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def chat(project, model, folder, said, *arguments, **more):
    process = start(project, model, folder, *arguments, **more)
    output, errors = process.communicate(said, timeout=100)
    return process.returncode, output, errors


@pytest.mark.parametrize("agent", ["notebook", "plain"])
def test_two_questions(project, folder, agent):
    def first():
        told = yield
        assert "sales.csv" in told.text and "What is the sum?" in told.text
        told = yield run(SUM)
        assert "sum 12" in told.text and [chart[:8] for chart in told.charts] == [PNG]
        yield "The sum is 12."

    def second():
        told = yield
        assert told.text == "And the mean?"
        code = "sales.amount.mean()" if agent == "notebook" else "pd.read_csv('sales.csv').amount.mean()"
        told = yield run("import pandas as pd\n" + code)
        assert "6.0" in told.text
        yield "The mean is 6."

    with ModelServer(first(), second()) as model:
        status, output, errors = chat(project, model, folder, "What is the sum?\nAnd the mean?\n\n", "sales.csv", agent=agent)
        model.finish(output + errors)
    assert status == 0 and errors == "", errors
    assert "  | sales.to_json('sales.json')" in output and "\n  sum 12" in output
    assert "\nThe sum is 12.\n" in output and "\nThe mean is 6.\n" in output
    kept = folder / "chat-results"
    assert {path.name: path.read_bytes()[:8] for path in kept.iterdir()} == {"1-chart.png": PNG, "2-sales.json": b'{"city":'}
    assert project.sessions() == [], "its place is free again"


def test_trouble_is_shown_and_the_chat_goes_on(project, folder):
    def broken():
        yield
        yield run("raise ValueError('no such thing')")
        raise KeyError("the script has failed: the server answers 400")

    def good():
        told = yield
        assert told.text.endswith("Again?") and "no such thing" not in told.text, "what was given up is not sent again"
        told = yield run("1", timeout_s=500)
        assert "timeout_s" in told.text and "60" in told.text
        yield "Fine."

    with ModelServer(broken(), good()) as model:
        status, output, errors = chat(project, model, folder, "What?\nAgain?\n")
        assert isinstance(model.failure, KeyError)
    assert status == 0 and "ValueError: no such thing" in output and "the script has failed or ended" in output, errors
    assert "400 invalid_request: timeout_s" in output and "\nFine.\n" in output


def test_a_question_can_be_given_up(project, folder):
    def endless():
        yield
        yield run("import time\nwhile True: time.sleep(0.1)")

    with ModelServer(endless()) as model:
        process = start(project, model, folder)
        process.stdin.write("For ever?\n")
        process.stdin.flush()
        assert wait_until(project.sessions, 20)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate("\n", timeout=60)
    assert process.returncode == 0 and "given up" in output, errors
    assert project.sessions() == [] and model.failure is None


def test_what_is_missing_is_said(project, folder):
    with ModelServer() as model:
        status, _, errors = chat(project, model, folder, "", CODE_SANDBOX_KEY="")
        assert status == 1 and "CODE_SANDBOX_KEY" in errors and "Traceback" not in errors
        status, _, errors = chat(project, model, folder, "", OPENAI_API_KEY="")
        assert status == 1 and "OPENAI_API_KEY" in errors and "Traceback" not in errors
        status, _, errors = chat(project, model, folder, "", "gone.csv")
        assert status == 1 and errors == "There is no file gone.csv.\n"
