"""Searching everything that a tool call can read for secrets of the service, of the agent and of whoever calls it:
environment, /proc, descriptors, files and memory. The call has a network and another image than a snippet, so it is
searched by itself. Secrets have a common beginning here, so that the search need not be told them."""
import re
import secrets
import uuid

import pytest

from support import agent_example
from support.projects import Project

SEARCH = '''
import os, re
from code_sandbox import tool

# Of a canary, an admin key, a project's key; written so that this text is none itself.
NEEDLES = [re.compile(rb"canary[-][0-9a-f]{32}"), re.compile(rb"sbx[_][0-9a-f]{64}"), re.compile(rb"csk[_][0-9A-Za-z_-]{30,}")]
UNREADABLE = {"kmsg", "mem", "clear_refs", "pagemap", "kcore"}


class Found:
    def __init__(self):
        self.hits, self.read = set(), 0

    def look(self, where, text):
        self.read += 1
        for needle in NEEDLES:
            self.hits.update((where, hit.decode()) for hit in needle.findall(text))


def files(found):
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if name not in ("task", "map_files") and folder + name != "/dev"]
        for name in names:
            path = os.path.join(folder, name)
            try:
                if name not in UNREADABLE and os.path.isfile(path) and os.path.getsize(path) < 16 << 20:
                    with open(path, "rb") as file:
                        found.look(path, file.read(16 << 20))
            except OSError:
                pass


def descriptors(found):
    for name in os.listdir("/proc/self/fd"):
        try:
            found.look("descriptor " + name, os.readlink("/proc/self/fd/" + name).encode())
            found.look("descriptor " + name, os.pread(int(name), 1 << 20, 0))
        except OSError:
            pass


def memory(found):
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps:
            fields = line.split()
            if fields[1].startswith("r") and not fields[-1].startswith("[v"):
                start, end = (int(part, 16) for part in fields[0].split("-"))
                for at in range(start, end, 8 << 20):
                    try:
                        memory.seek(at)
                        found.look("memory", memory.read(min(8 << 20, end - at)))
                    except (OSError, OverflowError):
                        pass


@tool(timeout_s=100)
def search() -> dict:
    found = Found()
    memory(found)  # first: later it has read everything
    found.look("environment", repr(dict(os.environ)).encode())
    descriptors(found)
    files(found)
    return {"read": found.read, "hits": sorted(found.hits)}
'''


def canary():
    return "canary-" + secrets.token_hex(16)


@pytest.fixture(scope="module")
def planted(service, tmp_path_factory):
    """The agent with its settings, and what is in its image on purpose, for the control."""
    project = Project(service)
    project.url = service.url
    project.control = {"file": canary(), "environment": canary()}
    layout = agent_example.build(tmp_path_factory.mktemp("image") / "layout", ("app/search.py", SEARCH),
                                 ("app/planted.txt", project.control["file"]), f"PLANTED={project.control['environment']}",
                                 f"SHOP_API_KEY={canary()}", f"CODE_SANDBOX_KEY={canary()}")
    assert "search" in agent_example.deploy(project, "shop", layout)
    for name in ("SHOP_PASSWORD", "CODE_INTERPRETER_NOTE", "HARMLESS"):
        project.set("shop", name, canary())
    yield project
    agent_example.remove(project, "shop")


def test_a_tool_call_finds_none(service, planted):
    answer = planted.post("/v1/call", {"agent": "shop", "tool": "search", "arguments": {}, "timeout_s": 100,
                                       "conversation_id": "talk-" + uuid.uuid4().hex})
    reply = answer.json
    assert answer.status == 200 and reply["outcome"] == "ok", reply
    result = reply["result"]
    assert result["read"] > 500
    known = set(planted.control.values())
    assert {hit for _, hit in result["hits"]} == known, "a secret, or the control was not found"
    where = {place for place, hit in result["hits"] if hit == planted.control["environment"]}
    assert "environment" in where and "memory" in where
    assert ("/app/planted.txt", planted.control["file"]) in [tuple(hit) for hit in result["hits"]]
    assert not service.leaks.found


def test_the_control_of_the_needles(service):
    """The search looks for what the service's secrets look like."""
    needles = [re.compile(pattern.encode().replace(b"[-]", b"-").replace(b"[_]", b"_")) for pattern in
               re.findall(r'rb"([^"]+)"', SEARCH.splitlines()[5])]
    assert len(needles) == 3
    own = [secret for secret in service.leaks.canaries if secret.startswith((b"canary-", b"sbx_"))]
    assert len(own) >= 6
    for secret in [*own, Project(service).key.encode()]:
        assert any(needle.fullmatch(secret) for needle in needles), secret
