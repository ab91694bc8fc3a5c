"""The description of the interface, docs/openapi.json: it says what the handlers' tables say, it holds against a live
service, and a client that a public generator makes of it works."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from docs import pages

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENT = REPOSITORY / "docs" / "openapi.json"
CLIENTS = REPOSITORY / "build" / "test-clients" / "bin"
SETTINGS = REPOSITORY / "tests" / "clients"
SOURCES = REPOSITORY / "src" / "api"
SCOPES = {"ROUTE_OPEN": "open", "ROUTE_PROJECT": "project", "ROUTE_ADMIN": "admin"}
DOORS = ("ROUTE_E2B", "ROUTE_DIFY", "ROUTE_PISTON", "ROUTE_AZURE")
# Where bodies are decoded, and the schema of each. The Console's own endpoints are no interface.
TABLES = {
    ("execute_request.c", "make_table"): "ExecuteRequest",
    ("execute_request.c", "take_file"): "InputFile",
    ("call_request.c", "take_body"): "CallRequest",
    ("agents.c", "agents_handle_put"): "AgentPut",
    ("agent_tools.c", "take_tool"): "Tool",
    ("agent_env.c", "agents_handle_env_put"): "SettingPut",
    ("admin.c", "admin_handle_projects_create"): "ProjectCreate",
    ("admin.c", "admin_handle_keys_create"): "KeyCreate",
    ("console_login.c", "console_handle_login"): None,
}
TYPES = {"STRING": "string", "NUMBER": "number", "INTEGER": "integer", "BOOL": "boolean", "ARRAY": "array",
         "OBJECT": "object"}
ENDLESS = ("/v1/events", "/v1/conversations/{id}/events")


@pytest.fixture(scope="module")
def document():
    return json.loads(DOCUMENT.read_text())


@pytest.fixture(scope="module")
def tools():
    """Schemathesis and the generator, in an environment of their own."""
    assert (CLIENTS / "schemathesis").exists(), "scripts/install-test-clients has not been run"
    return {**os.environ, "PATH": f"{CLIENTS}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}


def operations(document):
    return {(method.upper(), path): operation for path, item in document["paths"].items()
            for method, operation in item.items()}


# ---- the same as the tables


def routes():
    """{(method, path): scope} of the table in src/api/routes.c, without the pages for people and the front doors, whose
    protocols are described by others."""
    rows = re.findall(r'\{"(\w+)", "([^"]+)", (ROUTE_\w+),', (SOURCES / "routes.c").read_text())
    assert len(rows) > 30
    return {(method, path): SCOPES[scope] for method, path, scope in rows
            if not path.startswith(("/console", "/docs")) and scope not in DOORS}


def scope_of(operation):
    if operation.get("security") == []:
        return "open"
    return "admin" if "Needs an admin key." in operation.get("description", "") else "project"


def test_every_route_is_described_and_nothing_else(document):
    described = {key: scope_of(operation) for key, operation in operations(document).items()}
    assert described == routes()
    for key, operation in operations(document).items():
        assert ("403" in operation["responses"]) == (scope_of(operation) == "admin"), key
        assert ("401" in operation["responses"]) == (scope_of(operation) != "open"), key
    names = [operation["operationId"] for operation in operations(document).values()]
    assert len(names) == len(set(names))


def constants():
    """Numbers that are given names in the headers and sources of the service."""
    found = {}
    for path in (REPOSITORY / "src").glob("*/*.[ch]"):
        for name, value in re.findall(r"^#define (\w+_MAX) (.+?)(?: /\*.*)?$", path.read_text(), re.M):
            value = re.sub(r"U?INT\d+_C\((\d+)\)|\(size_t\)", r"\1", value)
            if re.fullmatch(r"[\d<>()* ]+", value):
                found[name] = eval(value)  # digits, shifts and products
    return found


def tables():
    """{(file, function): {field: {"type", "required", "null", "max"}}} of all tables of fields."""
    numbers, found = constants(), {}
    for path in SOURCES.glob("*.c"):
        function = None
        text = path.read_text()
        for match in re.finditer(r"^(?:static )?[a-z][\w *]*?(\w+)\([^;]*?\) \{$|\{\s*\.name = \"(\w+)\",\s*\.want = "
                                 r"JSON_WANT_(\w+)([^{}]*)\}", text, re.M):
            if match[1]:
                function = match[1]
                continue
            rest = match[4]
            limit = re.search(r"\.max = (\w+)", rest)
            found.setdefault((path.name, function), {})[match[2]] = {
                "type": TYPES[match[3]], "required": ".required = true" in rest, "null": ".null_allowed = true" in rest,
                "max": numbers.get(limit[1]) if limit else None}
    return found


def described_field(document, schema, name):
    field = document["components"]["schemas"][schema]["properties"][name]
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return {"type": kinds[0], "required": name in document["components"]["schemas"][schema].get("required", ()),
            "null": "null" in kinds, "max": field.get("maxLength" if kinds[0] == "string" else "maxItems")}


def test_every_body_is_described_as_it_is_decoded(document):
    decoded = tables()
    assert set(decoded) == set(TABLES)
    for place, schema in TABLES.items():
        if schema is None:
            continue
        assert document["components"]["schemas"][schema]["additionalProperties"] is False
        assert set(document["components"]["schemas"][schema]["properties"]) == set(decoded[place]), place
        for name, field in decoded[place].items():
            shown = described_field(document, schema, name)
            if field["max"] is None:  # checked elsewhere, or a bound of another kind
                shown["max"] = None
            assert shown == field, f"{schema}.{name}"


def test_every_kind_of_error_is_described(document):
    kinds = set(re.findall(r'= \{\d{3}, "(\w+)"', (SOURCES / "http_error.c").read_text()))
    assert set(document["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["type"]["enum"]) == kinds


def test_the_service_serves_it(http_side):
    response = http_side.get("/openapi.json", key=None)
    assert response.status == 200 and response.body == DOCUMENT.read_bytes()


# ---- against a live service


def test_the_service_does_what_it_says(make_service, tools, tmp_path):
    """Requests made from the document, right ones and wrong ones, alone and one made of another's answer; what is
    answered must be as described. On a service of its own: what other tests leave behind would be found and used."""
    service = make_service()
    excluded = [word for path in ENDLESS for word in ("--exclude-path", path)]
    result = subprocess.run(
        [CLIENTS / "schemathesis", "--config-file", SETTINGS / "schemathesis.toml", "run",
         f"{service.url}/openapi.json", "-H", f"Authorization: Bearer {service.key}", "--phases",
         "examples,coverage,fuzzing,stateful", "--max-examples", "8", "--request-timeout", "30", "--seed", "1", "--no-color",
         "--suppress-health-check", "all", "--warnings", "off", *excluded],
        env={**tools, "PYTHONPATH": str(SETTINGS)}, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert result.returncode == 0, result.stdout[-12000:] + result.stderr[-2000:]
    phases = result.stdout.partition("\nTest Phases:\n")[2].partition("\n\n")[0]
    assert "Fuzzing" in phases and "Stateful" in phases and "disabled" not in phases, phases
    generated = int(re.search(r"(\d+) generated", result.stdout)[1])
    assert generated > 500, result.stdout
    assert service.stop() == 0


def test_a_generated_client_works(service, tools, tmp_path):
    made = subprocess.run(
        [CLIENTS / "openapi-python-client", "generate", "--path", DOCUMENT, "--meta", "none", "--output-path",
         tmp_path / "generated", "--config", SETTINGS / "generator.json", "--fail-on-warning"],
        env=tools, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert made.returncode == 0, made.stdout + made.stderr
    used = subprocess.run([CLIENTS / "python", SETTINGS / "check_generated.py", tmp_path, service.url, service.key],
                          env=tools, capture_output=True, text=True, timeout=60)
    assert used.returncode == 0, used.stdout + used.stderr


def test_the_documented_command_makes_a_client(service, tools, tmp_path):
    """docs/run-code.md: from the document that a service serves."""
    shown = pages.shown("docs/run-code.md", "openapi-python-client").text
    command = ["bash", "-euc", shown.replace("http://127.0.0.1:8080", service.url)]
    made = subprocess.run(command, env=tools, cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert made.returncode == 0, made.stdout + made.stderr
    assert list(tmp_path.glob("*/*/api/runs/execute.py")), list(tmp_path.rglob("*.py"))[:5]
