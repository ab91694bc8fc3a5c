"""Front doors: shut ones, keys in the places of each protocol, recorded exchanges, and what the documentation shows."""
import base64
import json
import os
import re
import subprocess

import pytest

from docs import pages
from docs.test_commands import text_differs
from support import doors as clients
from support.client import DEFAULT

RECORDED = [(path.stem, shapes["header"], case) for path in sorted(clients.SHAPES.glob("*.json"))
            for shapes in [json.loads(path.read_text())] for case in shapes["cases"]]
# A request that needs nothing but a key, and the header for it.
DOORS = {
    "e2b": ("GET", "/contexts", {"X-API-Key": "{}"}),
    "dify": ("POST", "/v1/sandbox/run", {"X-Api-Key": "{}"}),
    "piston": ("GET", "/api/v2/runtimes", {"Authorization": "{}"}),
    "azure": ("GET", "/files?identifier=abcd", {"Authorization": "Bearer {}"}),
}
each_door = pytest.mark.parametrize("door", DOORS)


def routes_of(door):
    found = re.findall(r'\{"(\w+)", "([^"]+)", ROUTE_' + door.upper(), pages.read("src/api/routes.c"))
    assert found
    return [(method, re.sub(r"\{[^}]*\}", "name", path)) for method, path in found]


@each_door
def test_a_shut_door_says_what_opens_it(door, http_side):
    for method, path in routes_of(door):
        for key, used in ((DEFAULT, method), (None, method), (None, "PATCH")):
            response = http_side.request(used, path, key=key)
            assert response.status == 404 and response.error["type"] == "not_found", response
            assert f'the front door "{door}", which is switched off' in response.error["message"]
            assert "SANDBOX_FRONT_DOORS" in response.error["message"]


def differences(wanted, got, where):
    """Patterns begin with "~"."""
    if isinstance(wanted, str) and wanted.startswith("~"):
        return [] if re.search(wanted[1:], str(got)) else [f"{where} is {got!r}, not like {wanted}"]
    if isinstance(wanted, dict) and isinstance(got, dict) and wanted.keys() == got.keys():
        return [text for name in wanted for text in differences(wanted[name], got[name], f"{where}.{name}")]
    if isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        return [text for i, pair in enumerate(zip(wanted, got)) for text in differences(*pair, f"{where}[{i}]")]
    return [] if wanted == got and type(wanted) is type(got) else [f"{where} is {got!r} instead of {wanted!r}"]


@pytest.mark.parametrize("header, case", [entry[1:] for entry in RECORDED],
                         ids=[f"{name}: {case['name']}" for name, _, case in RECORDED])
def test_recorded_exchanges(header, case, at_doors):
    reply = at_doors.request("POST" if "request" in case else "GET", case["path"], case.get("request"), key=None,
                             headers={header: case.get("key", at_doors.key)})
    assert reply.status == case["status"], reply
    assert differences(case["reply"], reply.json, "reply") == []


def test_piston_with_a_client_of_its_own(at_doors):
    """It sends no key, but for the one in the address, and asks for what is there before it runs anything."""
    seen = clients.use_client(r"""
import { piston } from "piston-client";
const client = piston({ server: process.env.ADDRESS });
const one = await client.execute("python", "import sys\nprint(sys.argv[1:])");
const files = [{ name: "a.py", content: "print(input()); 1 / 0" }];
const two = await client.execute("python", { files, stdin: "given", args: [], runTimeout: 5000 });
const other = await client.execute("lua", "print(1)");
console.log(JSON.stringify({ one: one.run, two: two.run, other, runtimes: await client.runtimes() }));
""", clients.NODE, ADDRESS=f"http://any:{at_doors.key}@127.0.0.1:{at_doors.service.port}/")
    assert (seen["one"]["output"], seen["one"]["code"]) == ("['1', '2', '3']\n", 0)  # what it sends if not told
    assert (seen["two"]["stdout"], seen["two"]["code"]) == ("given\n", 1)
    assert "ZeroDivisionError" in seen["two"]["stderr"]
    assert "lua" in seen["other"]["message"] and seen["runtimes"][0]["language"] == "python"


@each_door
def test_keys(door, at_doors):
    method, path, headers = DOORS[door]
    own = {name: value.format(at_doors.key) for name, value in headers.items()}
    basic = base64.b64encode(f"any:{at_doors.key}".encode()).decode()
    body = {} if method == "POST" else None
    for given in (own, {"Authorization": f"Bearer {at_doors.key}"}, {"Authorization": f"basic {basic}"}):
        assert at_doors.request(method, path, body, key=None, headers=given).status == 200, given
    for given in ({}, {"Authorization": f"Basic {basic}", "Origin": "http://elsewhere.example"},
                  {"Authorization": "Basic !"}, {"Authorization": f"Basic {at_doors.key}"},
                  {"Authorization": "Basic " + base64.b64encode(b"no colon").decode()}, {"X-Other": at_doors.key},
                  {"Authorization": "Bearer "},
                  {name: value.format("csk_wrong") for name, value in headers.items()},
                  {name: value.format("k" * 700) for name, value in headers.items()}):
        refused = at_doors.request(method, path, body, key=None, headers=given)
        assert refused.status == 401 and "key" in refused.body.decode().lower(), given
    # These are the doors' places for it, and no others'.
    if own.get("Authorization") != f"Bearer {at_doors.key}":
        assert at_doors.get("/v1/sessions", key=None, headers=own).status == 401
    assert at_doors.get("/v1/sessions", key=None, headers={"Authorization": f"Basic {basic}"}).status == 401


def test_a_browser_that_is_signed_in_at_the_console_is_nobody_at_a_door(doors):
    signed_in = doors.post("/console/login", {"key": doors.key}, key=None, headers={"X-Console": "1"})
    assert signed_in.status == 200, signed_in
    headers = {"Cookie": signed_in.headers["Set-Cookie"].split(";")[0], "X-Console": "1"}
    assert doors.get("/v1/sessions", key=None, headers=headers).status == 200
    assert doors.get("/contexts", key=None, headers=headers).status == 401


def test_the_limits_of_requests_hold(at_doors):
    wrong = at_doors.request("PUT", "/execute", {})
    assert wrong.status == 405 and wrong.headers["Allow"] == "POST"
    assert at_doors.post("/execute", b"{").json["code"] == 400
    assert at_doors.post("/execute", b'{"code": "1", "code": "2"}').json["code"] == 400
    assert at_doors.request("GET", "/contexts", b"{}").json["code"] == 413


PAGE = pages.Page(pages.REPOSITORY / "docs" / "front-doors.md")
SHOWN = [block for block in PAGE.blocks if block.language in ("py", "sh")]


@pytest.mark.parametrize("block", SHOWN, ids=[block.place for block in SHOWN])
def test_what_the_page_shows_happens(block, at_doors, tmp_path):
    """Each block is a program of its own; what stands below it is what it prints."""
    environment = {"PATH": f"{clients.PYTHON.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "KEY": at_doors.key,
                   "SERVICE": at_doors.service.url, "E2B_API_KEY": at_doors.key, "E2B_API_URL": at_doors.service.url,
                   "E2B_SANDBOX_URL": at_doors.service.url}
    command = [clients.PYTHON, "-B", "-c"] if block.language == "py" else ["bash", "-euc"]
    done = subprocess.run([*command, block.text], env=environment, cwd=tmp_path, capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == 0, done.stderr
    below = [other for other in PAGE.blocks if other.follows is block]
    assert not below or text_differs(below[0].text, done.stdout) == []


def test_the_page_has_each_path():
    for door in DOORS:
        for method, path in re.findall(r'\{"(\w+)", "([^"]+)", ROUTE_' + door.upper(), pages.read("src/api/routes.c")):
            assert f"`{method} {path}`" in PAGE.text
