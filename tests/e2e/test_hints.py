"""Hints: for failures that really happen, the sentence with the fix. The table itself: tests/unit/test_hints.c."""
import uuid

import pytest

from support.client import text_file

CSV = text_file("sales.csv", "a\n1\n")

# What a model might write, and words of the hint.
FAILURES = {
    "a module with a relative": ("import seaborn", ["\"seaborn\" is not installed", "use matplotlib",
                                                    "nothing can be installed"]),
    "a module without one": ("import requests", ["\"requests\" is not installed", "numpy, pandas"]),
    "a module of one that there is": ("import sklearn.deep_learning", ["has no module \"sklearn.deep_learning\""]),
    "a misspelt module": ("import padnas", ["\"pandas\" is installed: import that"]),
    "a package instead of its module": ("import pillow", ["\"PIL\" is installed"]),
    "parquet": ("import pandas as pd\npd.DataFrame({'a': [1]}).to_parquet('x.parquet')", ["CSV"]),
    "old Excel files": ("import pandas as pd\n"
                        "open('x.xls', 'wb').write(bytes.fromhex('d0cf11e0a1b11ae1') + bytes(600))\n"
                        "pd.read_excel('x.xls', engine='xlrd')", ["\"xlrd\" is not installed"]),
    "a table as text": ("import pandas as pd\npd.DataFrame({'a': [1]}).to_markdown()",
                        ["\"tabulate\" is not installed"]),
    "pip": ("import subprocess\nsubprocess.run(['pip', 'install', 'x'])", ["no program \"pip\""]),
    "pip as a module": ("import subprocess, sys\n"
                        "subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'x'])", ["no pip"]),
    "a program": ("import subprocess\nsubprocess.run(['ffmpeg', '-i', 'a.mp4'])", ["no program \"ffmpeg\""]),
    "a program of the shell": ("import subprocess\nsubprocess.run('wget x', shell=True, check=True)",
                               ["no such program"]),
    "a database's file": ("import sqlite3\nsqlite3.connect('/data/a.db')", ["/mnt/data"]),
    "a download": ("import urllib.request\nurllib.request.urlopen('http://example.com')", ["no network"]),
    "a name lookup": ("import socket\nsocket.getaddrinfo('example.com', 80)", ["no network"]),
    "a socket": ("import socket\nsocket.create_connection(('10.0.0.1', 80), 2)", ["no network"]),
    "a database that is not there": ("import socket\nsocket.create_connection(('127.0.0.1', 5432), 2)", ["network"]),
    "memory": ("x = bytearray(1 << 30)", ["512 MiB"]),
    "an array": ("import numpy as np\nnp.ones((40000, 40000))", ["512 MiB"]),
    "input()": ("input('Your name? ')", ["`stdin`"]),
    "a missing file": ("open('Sales.csv')", ["which are \"sales.csv\"", "upper and lower case"]),
    "a missing file of pandas": ("import pandas as pd\npd.read_csv('/mnt/data/other.csv')",
                                 ["which are \"sales.csv\""]),
    "an earlier variable": ("df.head()", ["fresh interpreter"]),
    "a refused call": ("import os\nos.chroot('/tmp')", ["refuses this system call"]),
    "a read-only place": ("open('/usr/x', 'w')", ["/mnt/data"]),
    "a notebook's command": ("!pip install x", ["notebooks"]),
}


@pytest.mark.parametrize("code, words", FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_that_is_known(service, code, words):
    reply = service.execute(code, files=[CSV])
    assert reply.outcome in ("error", "out_of_memory"), reply
    for word in words:
        assert word in (reply.hint or ""), reply


def test_no_inputs(service):
    assert "and it has none" in service.execute("open('data.csv')").hint


def test_a_time_limit_says_what_may_be_asked_for(service):
    hint = service.execute("while True: pass", timeout_s=0.3).hint
    assert "limit of 0.3 s" in hint and "at most 60" in hint


def test_with_an_agent_its_own_limit_is_the_most(service):
    name = "hints-" + uuid.uuid4().hex
    assert service.request("PUT", f"/v1/agents/{name}", {}).status == 201
    assert service.request("PUT", f"/v1/agents/{name}/env/CODE_INTERPRETER_TIMEOUT_S", {"value": "1"}).status == 200
    assert "limit of 1 s, which is the maximum" in service.execute("while True: pass", agent=name).hint
    assert "at most 1)" in service.execute("while True: pass", agent=name, timeout_s=0.5).hint
    service.request("DELETE", f"/v1/agents/{name}")


def test_in_a_session(service):
    name = "hints-" + uuid.uuid4().hex
    assert service.request("PUT", f"/v1/agents/{name}", {}).status == 201
    assert service.request("PUT", f"/v1/agents/{name}/env/CODE_INTERPRETER_SESSION", {"value": "true"}).status == 200
    session = {"agent": name, "conversation_id": name}
    assert "No call of this conversation" in service.execute("df.head()", **session).hint
    assert "os.listdir()" in service.execute("open('data.csv')", **session).hint
    assert service.request("DELETE", f"/v1/conversations/{name}").status == 204
    service.request("DELETE", f"/v1/agents/{name}")


def test_what_is_no_known_failure_has_no_hint(service):
    for code in ("print(1)", "1 / 0", "raise ValueError('x')", "import sys; sys.exit(3)", "{}['a']"):
        assert service.execute(code).hint is None, code
