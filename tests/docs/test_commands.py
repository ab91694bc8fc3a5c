"""What the documentation shows happens: its commands run against the service and answer what stands below them."""
import json
import os
import re
import struct
import subprocess

import pytest

from docs import pages
from docs.pages import Page
from support import agent_images, typescript_client
from support.host import wait_until
from support.service import PROGRAM

PAGES = [page for page in pages.all_pages() if any("run" in block.marks for block in page.blocks)]
SNIPPETS = [block for page in pages.all_pages() for block in page.blocks
            if block.language == "python" and "run" not in block.marks]
ADDRESSES = ("http://127.0.0.1:8080", "https://sandbox.example.org")
PROGRAMS = {"python": "python3 -B -", "js": f"'{typescript_client.NODE}' --input-type=module -"}

# What a reader has already: the name of each file that a page uses and does not make, and what is in it.
ANALYSIS = """import matplotlib.pyplot as plt, pandas as pd
data = pd.read_csv("data.csv")
data.plot.bar(x="city", y="amount")
plt.savefig("amounts.png")
"""
TOOLS = """from code_sandbox import tool

@tool
def find_order(number: str) -> str:
    \"""Looks an order up by its number.\"""
    return f"order {number}: on its way"

@tool
def total(prices: list[float]) -> float:
    \"""Adds prices up.\"""
    return sum(prices)
"""
TEXTS = {"analysis.py": lambda service: ANALYSIS, "data.csv": lambda service: "city,amount\nOslo,4\nRome,8\n",
         "key.txt": lambda service: service.key + "\n"}
ARCHIVES = ("shop.tar", "my-agent.tar")  # as `docker save` writes them

# What differs from run to run: of the same kind is enough.
VARYING = {"run_id", "sandbox_id", "file_id", "id", "key", "created_at", "updated_at", "active_at", "expires_at"}
MEASURED = {"start_ms", "wall_ms", "cpu_ms", "queue_ms", "max_memory_bytes", "uptime_s", "bytes"}


# ---- comparing


def shape(text):
    """Letters and digits do not count, but a name in front of "_" does: run_01M8…, 2026-11-30T…"""
    prefix, mark, rest = text.rpartition("_")
    return prefix + mark + re.sub(r"[0-9A-Za-z]", "x", rest)


def differences(expected, actual, where="answer", name=None):
    if type(expected) is not type(actual) and not (name in MEASURED and isinstance(actual, (int, float))):
        return [f"{where} is {actual!r} instead of {expected!r}"]
    if isinstance(expected, dict):
        found = [f"{where} has no {key!r}" for key in expected.keys() - actual.keys()]
        found += [f"{where} has a {key!r} that is not shown" for key in actual.keys() - expected.keys()]
        for key in expected.keys() & actual.keys():
            found += differences(expected[key], actual[key], f"{where}.{key}", key)
        return found
    if isinstance(expected, list):
        if len(expected) != len(actual):
            return [f"{where} has {len(actual)} entries instead of {len(expected)}"]
        return [text for i, pair in enumerate(zip(expected, actual)) for text in differences(*pair, f"{where}[{i}]")]
    if name in MEASURED:
        return [] if actual >= 0 else [f"{where} is negative"]
    if isinstance(expected, str) and (name in VARYING or expected.startswith("csk_")):
        return [] if shape(expected) == shape(actual) else [f"{where} is {actual!r}, unlike {expected!r}"]
    return [] if expected == actual else [f"{where} is {actual!r} instead of {expected!r}"]


def text_differs(expected, actual):
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return [] if re.fullmatch(pattern, actual.strip(), re.S) else [f"printed {actual!r} instead of {expected!r}"]


# ---- running


def checkout_like(folder, service):
    """A folder that looks like a checkout in which `make run` was called, with this service running."""
    for entry in pages.REPOSITORY.iterdir():
        if entry.name not in ("build", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build" / "data").mkdir(parents=True)
    for entry in PROGRAM.parent.iterdir():
        if entry.name != "data":
            (folder / "build" / entry.name).symlink_to(entry)
    (folder / "build" / "data" / "admin-key").write_text(service.key + "\n")
    installed = folder / "node_modules" / "@code-sandbox"
    installed.mkdir(parents=True)
    (installed / "client").symlink_to(typescript_client.FOLDER)
    return folder


def give(page, folder, service):
    """Puts there what a reader has already, and programs into the returned folder that are in a reader's PATH."""
    programs = folder.parent / "bin"
    programs.mkdir()
    (programs / "platformctl").symlink_to(PROGRAM.parent / "platformctl")
    (programs / "sudo").write_text('#!/bin/sh\nexec "$@"\n')  # who runs the tests is root
    (programs / "sudo").chmod(0o755)
    for name, text in TEXTS.items():
        if name in page.text:
            (folder / name).write_text(text(service))
    for name in ARCHIVES:
        if name in page.text:
            agent_images.agent({"/app/shop.py": TOOLS}).write_docker_archive(folder / name)
    return programs


def script_of(page, outputs):
    """All runnable blocks in one shell, as a reader would type them; what each prints goes to a file of its own."""
    lines = ["set -euo pipefail"]
    for block in page.blocks:
        if "run" in block.marks:
            lines.append(f"exec >'{outputs}/{block.line}'")
            lines.append("set +e" if "any-status" in block.marks else "set -e")
            text = block.text.rstrip("\n")
            program = PROGRAMS.get(block.language)
            lines.append(f"{program} <<'END OF PROGRAM'\n{text}\nEND OF PROGRAM" if program else text)
            lines.append(f": >'{outputs}/{block.line}.done'")
    return "\n".join(lines) + "\n"


def try_page(page, service, folder):
    """Complaints about a page."""
    outputs = folder / "outputs"
    outputs.mkdir()
    work = folder / "checkout"
    work.mkdir()
    script = script_of(page, outputs)
    for address in ADDRESSES:
        script = script.replace(address, service.url)
    programs = give(page, checkout_like(work, service), service)
    environment = {**service.environment, "HOME": str(folder), "SANDBOX_URL": service.url, "SANDBOX_KEY": service.key,
                   "SANDBOX_DATA_DIR": str(work / "build" / "data"), "PYTHONPATH": "python",
                   "PATH": f"{programs}:{service.environment['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=work, env=environment, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    complaints = []
    for block in page.blocks:
        if "run" in block.marks and not (outputs / f"{block.line}.done").exists():
            return complaints + [f"{block.place}: failed: {done.stderr[-2000:]}"]
        shown_for = block.follows
        if shown_for is None or "run" not in shown_for.marks or block.language not in ("json", "text"):
            continue
        output = (outputs / str(shown_for.line)).read_text()
        try:
            found = differences(json.loads(block.text), json.loads(output)) if block.language == "json" else \
                text_differs(block.text, output)
        except ValueError as problem:
            found = [f"no JSON ({problem}): {output[:500]!r}"]
        complaints += [f"{block.place}: {text}" for text in found]
    return complaints


@pytest.fixture
def tidy(service):
    """What a page leaves behind would be in the way of other tests, which count sessions and mounts."""
    def names(path, of, name):
        return {entry[name] for entry in service.get(f"{path}?limit=200").json[of]}

    def there():
        return {"/v1/agents/{}": names("/v1/agents", "agents", "name"),
                "/v1/conversations/{}": names("/v1/conversations", "conversations", "conversation_id")}

    before = there()
    yield
    for path, found in there().items():
        for name in found - before[path]:
            assert service.request("DELETE", path.format(name)).status == 204
    mounts = pages.Path(f"/proc/{service.pid}/mountinfo")
    assert wait_until(lambda: "/images/" not in mounts.read_text(), 15), mounts.read_text()


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_commands_do_what_is_shown(page, service, tmp_path, tidy):
    assert try_page(page, service, tmp_path) == []


@pytest.mark.parametrize("block", SNIPPETS, ids=[block.place for block in SNIPPETS])
def test_snippets_run(block, service):
    reply = service.execute(block.text)
    assert reply.outcome == "ok", reply


def picture_size(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[12:16] == b"IHDR"
    return struct.unpack(">II", png[16:24])


def test_the_picture_of_the_readme_is_what_its_snippet_draws(service):
    """Other versions of the libraries may draw a line a little differently; the size stays."""
    folder = pages.REPOSITORY / "docs" / "images"
    reply = service.execute((folder / "chart.py").read_text())
    assert reply.outcome == "ok" and list(reply.contents) == ["chart.png"], reply
    drawn, kept = reply.contents["chart.png"], (folder / "chart.png").read_bytes()
    assert picture_size(drawn) == picture_size(kept) and 0.5 < len(drawn) / len(kept) < 2


def test_the_readme_shows_a_run():
    readme = next(page for page in PAGES if page.name == "README.md")
    answers = [block for block in readme.blocks if block.language == "json" and block.follows]
    assert any("/v1/execute" in block.follows.text and "run" in block.follows.marks for block in answers)


# ---- the control

WRONG = """
```sh run
KEY=$(cat build/data/admin-key)
curl -s -H "Authorization: Bearer $KEY" --json '{"code": "print(1)", "timeout_s": 90}' http://127.0.0.1:8080/v1/execute
```
```json
{"error": {"type": "invalid_request", "message": "Anything else.", "param": "timeout_s", "more": 1}}
```
```sh run any-status
false
```
```sh run
echo one; echo two
```
```text
one
...
three
```
```sh run
false
```
"""


def test_the_control_wrong_answers_are_noticed(service, tmp_path):
    path = tmp_path / "wrong.md"
    path.write_text(WRONG)
    folder = tmp_path / "folder"
    folder.mkdir()
    complaints = try_page(Page(path, tmp_path), service, folder)
    assert len(complaints) == 4, complaints
    assert "answer.error has no 'more'" in complaints[0] and "answer.error.message is" in complaints[1]
    assert "printed 'one\\ntwo\\n'" in complaints[2] and complaints[3].startswith("wrong.md:20: failed")


def test_the_control_of_the_comparison():
    real = {"run_id": "run_01M8NTP2DC970CBMG4VSRH47YS", "usage": {"wall_ms": 3, "cpu_ms": 1.5}, "files": [1, 2], "hint": None}
    assert differences({**real, "run_id": "run_01M8NTP2DC970CBMG4VSRH47YT", "usage": {"wall_ms": 9.1, "cpu_ms": 0}}, real) == []
    assert differences({**real, "run_id": "sbx_01M8NTP2DC970CBMG4VSRH47YS"}, real)
    assert differences({**real, "files": [1]}, real) and differences({**real, "files": [1, 3]}, real)
    assert differences({**real, "hint": ""}, real) and differences({**real, "usage": {"wall_ms": 3}}, real)


# ---- limits and troubles, as the service has them

MIB = 1 << 20
LIMITS = {  # of GET /v1/environment: (row of the README's table, what has to stand there)
    "timeout_s": ("time", lambda value: f"{value} s by default"),
    "timeout_max_s": ("time", lambda value: f"{value} s at most"),
    "memory_bytes": ("memory", lambda value: f"{value // MIB} MiB"),
    "cpu_percent": ("CPU", lambda value: {100: "one"}[value]),
    "processes": ("processes and threads", str),
    "working_directory_bytes": ("working directory `/mnt/data`", lambda value: f"{value // MIB} MiB"),
    "tmp_bytes": ("`/tmp`, HOME, `/dev/shm`", lambda value: f"{value // MIB} MiB each"),
    "shared_memory_bytes": ("`/tmp`, HOME, `/dev/shm`", lambda value: f"{value // MIB} MiB each"),
    "output_keep_bytes": ("output kept", lambda value: f"{value // MIB} MiB each"),
    "output_max_bytes": ("output kept", lambda value: f"ended at {value // MIB} MiB"),
    "file_bytes": ("files handed back", lambda value: f"{value // MIB} MiB each"),
    "files_bytes": ("files handed back", lambda value: f", {value // MIB} MiB and"),
    "files": ("files handed back", lambda value: f"and {value} files"),
    "input_files": ("input files", lambda value: f"{value}, "),
}
ELSEWHERE = {"open_files", "body_bytes"}


def rows_of(page, heading):
    """The table below a heading, as {first column: the others}."""
    text = (pages.REPOSITORY / page).read_text().split(f"{heading}\n\n", 1)[1].split("\n\n", 1)[0]
    return {cells[0]: cells[1:] for cells in (re.split(r" *\| *", line.strip("| ")) for line in text.splitlines()[2:])}


ROOM = "What a snippet's sandbox has room for:"


@pytest.mark.parametrize("page, heading", [("README.md", "## What a sandbox has"), ("docs/security.md", ROOM)])
def test_the_documented_limits_are_those_in_force(service, page, heading):
    rows = {name: cells[0] for name, cells in rows_of(page, heading).items()}
    limits = service.get("/v1/environment").json["limits"]
    assert limits.keys() == LIMITS.keys() | ELSEWHERE
    wrong = [name for name, (row, text) in LIMITS.items() if text(limits[name]) not in rows.get(row, "")]
    assert wrong == [], rows


def test_the_limits_of_both_kinds_of_sandbox_are_those_in_force(service):
    rows = rows_of("docs/security.md", "What a sandbox is for decides what it may:")
    assert rows == rows_of("docs/tool-calls.md", "## Limits")
    there = service.get("/v1/environment").json
    for column, limits in enumerate((there["call_limits"], there["limits"])):
        shown = {name: cells[column] for name, cells in rows.items()}
        memory = limits["memory_bytes"]
        assert shown["time"] == f"{limits['timeout_s']} s by default, {limits['timeout_max_s']} s at most"
        assert shown["memory"] == ("1 GiB" if memory == 1024 * MIB else f"{memory // MIB} MiB")
        assert shown["CPU"] == {100: "one", 200: "two"}[limits["cpu_percent"]]
        assert shown["request"] == f"{limits['body_bytes'] // MIB} MiB"
    assert rows["result"][0] == f"{there['call_limits']['reply_bytes'] // MIB} MiB"
    assert rows["Python"][1] == there["python"].rpartition(".")[0]


TROUBLES = [  # (what somebody runs, more of the request, what the page must show of the exception, or None)
    ("import requests", {}, "ModuleNotFoundError: No module named 'requests'"),
    ("import urllib.request; urllib.request.urlopen('http://example.com')", {},
     "URLError: <urlopen error [Errno -2] Name or service not known>"),
    ("import socket; socket.socket()", {}, "OSError: [Errno 97] Address family not supported by protocol"),
    ("open('/mnt/data/f', 'wb').write(bytes(5 << 20))", {}, None),
    ("f = open('/tmp/f', 'wb', 0)\nfor _ in range(65): f.write(bytes(1 << 20))", {}, "OSError: [Errno 28] No space left on device"),
    ("open('/usr/x', 'w')", {}, "OSError: [Errno 30] Read-only file system"),
    ("input()", {}, "EOFError: EOF when reading a line"),
    ("import threading, time\nfor _ in range(200): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()", {},
     "RuntimeError: can't start new thread"),
    ("frame.head()", {}, "NameError"),
    ("!pip install requests", {}, "SyntaxError"),
    ("import os; os.unshare(os.CLONE_NEWNS)", {}, "PermissionError: [Errno 1] Operation not permitted"),
    ("bytearray(600 << 20)", {}, "MemoryError"),
]


@pytest.mark.parametrize("code, fields, shown", TROUBLES, ids=[code.split("\n")[0][:40] for code, _, _ in TROUBLES])
def test_troubles_are_explained_as_documented(code, fields, shown, service):
    page = Page(pages.REPOSITORY / "docs" / "troubleshooting.md")
    reply = service.execute(code, **fields)
    assert reply.hint in {text for _, text in page.quotations()}, reply
    if shown and reply.outcome != "out_of_memory":
        assert shown.partition(": ")[2] in reply.stderr and shown.partition(": ")[0] in reply.stderr
        assert shown in " ".join(page.text.split())


REFUSED = [
    {"code": "1", "timeout": 5},
    {"code": "a\0b"},
    {"code": "1", "files": [{"name": "data.csv", "content": "1"}, {"name": "data.csv", "content": "2"}]},
    {"code": "1", "files": [{"name": "../data.csv", "content": "1"}]},
    {"code": "1", "timeout_s": 90},
]


@pytest.mark.parametrize("body", REFUSED, ids=[json.dumps(body)[:60] for body in REFUSED])
def test_refusals_are_worded_as_documented(body, service):
    response = service.post(body=body)
    assert response.status == 400
    message = response.error["message"]
    page = "".join((pages.REPOSITORY / "docs" / name).read_text() for name in ("run-code.md", "troubleshooting.md"))
    assert f"> {message}\n" in page or json.dumps(message) in page
