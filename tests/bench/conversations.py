"""Measurements of what conversations add: a call in a live session, a kept file, lists of ten thousand conversations."""
import json
import random
import sqlite3
import time

from figures import Samples
from quick_client import QuickClient

NS_PER_MS = 1e6
MANY = 10_000
MEGABYTE = "import os; _ = open('data.bin', 'wb').write(os.urandom(1_000_000))"


def all_of(bench, share):
    figures = {}
    figures |= call_in_session(bench, 200 // share)
    figures |= kept_file(bench, 60 // share)
    figures |= many_conversations(bench, 200 // share)
    return figures


def _put(client, path, body):
    data = json.dumps(body).encode()
    return client.send(b"PUT " + path.encode() + b" HTTP/1.1\r\n" + client.head + b"Content-Type: application/json\r\n"
                       + b"Content-Length: %d\r\n\r\n" % len(data) + data, accept=(b"200", b"201"))


def _get(client, path):
    return client.send(b"GET " + path.encode() + b" HTTP/1.1\r\n" + client.head + b"\r\n")


def call_in_session(bench, rounds):
    bench.progress(f"a call in a live session: {rounds} times")
    client, found = QuickClient(bench.service.port, bench.service.key), Samples("`x` in a live session: over HTTP")
    inside = Samples("`x` in a live session: claim to done")
    _put(client, "/v1/agents/bench", {})
    _put(client, "/v1/agents/bench/env/CODE_INTERPRETER_SESSION", {"value": "true"})
    client.send(client.execute_request("x = 1", agent="bench", conversation_id="bench-session"))
    request = client.execute_request("x", agent="bench", conversation_id="bench-session")
    bench.settle()
    for _ in range(rounds):
        _, took, body = client.send(request)
        found.add(took / NS_PER_MS)
        reply = json.loads(body)
        inside.add(reply["usage"]["wall_ms"])
        if reply["results"] != [{"text/plain": "1"}]:
            raise RuntimeError(f"not the same interpreter: {body[:300]!r}")
        time.sleep(0.01)
    return {"session_call": found, "session_call_done": inside}


def kept_file(bench, rounds):
    """The same run in turn: as it is without a conversation, when its file comes with the reply; with a conversation,
    which keeps it; and without either, to see what keeping costs by itself."""
    bench.progress(f"a run that writes 1 MB, kept and not kept: {rounds} times each")
    ways = {"file_alone": Samples("1 MB file, no conversation, sent with the reply: over HTTP"),
            "file_kept": Samples("1 MB file, kept: over HTTP"),
            "file_dropped": Samples("1 MB file, no conversation, not sent: over HTTP")}
    for index in range(rounds):
        for way, fields in (("file_alone", {}), ("file_kept", {"conversation_id": f"bench-{index}"}),
                            ("file_dropped", {"inline_files": False})):
            bench.settle()
            _, took, _ = bench.client.send(bench.client.execute_request(MEGABYTE, **fields))
            ways[way].add(took / NS_PER_MS)
    return ways | {"file_added": _between(ways["file_alone"], ways["file_kept"], "a conversation and its kept 1 MB file add"),
                   "file_cost": _between(ways["file_dropped"], ways["file_kept"], "keeping adds to a run that drops its file")}


def _between(early, late, title):
    added = Samples(title)
    added.values = [b - a for a, b in zip(sorted(early.values), sorted(late.values))]
    return added


def many_conversations(bench, rounds):
    """Rows are put straight into the database: ten thousand runs would take long and measure nothing."""
    bench.progress(f"{MANY} conversations with files: listed and opened {rounds} times")
    client = QuickClient(bench.service.port, bench.service.key)
    client.send(client.execute_request("_ = open('f', 'w').write('1')", conversation_id="bench-model"))
    _fill(bench.service.data_dir / "service/sandbox.db")
    listed, opened = Samples("list of 50 conversations of 10,000"), Samples("a conversation, its runs and files")
    for _ in range(rounds):
        listed.add(_get(client, "/v1/conversations?limit=50")[1] / NS_PER_MS)
        name = f"many-{random.randrange(MANY)}"
        opened.add(sum(_get(client, f"/v1/conversations/{name}{part}")[1] for part in ("", "/runs", "/files")) / NS_PER_MS)
    return {"conversations_list": listed, "conversation_open": opened}


def _fill(path):
    """Copies of the run and the file of `bench-model`, under names of their own."""
    with sqlite3.connect(path, timeout=30) as database:
        for number in range(MANY):
            conversation = _copy(database, "conversations", "name = 'bench-model'", name=f"many-{number}", active_ms=number)
            run = _copy(database, "runs", "conversation_id = (SELECT id FROM conversations WHERE name = 'bench-model')",
                        public_id=f"run_many{number}", conversation_id=conversation)
            _copy(database, "run_details", "run_id = (SELECT id FROM runs WHERE conversation_id = (SELECT id FROM conversations"
                  " WHERE name = 'bench-model'))", run_id=run)
            _copy(database, "files", "conversation_id = (SELECT id FROM conversations WHERE name = 'bench-model')",
                  public_id=f"file_many{number}", conversation_id=conversation, run_id=run)
        database.execute("UPDATE blobs SET refs = refs + ? WHERE id = (SELECT blob_id FROM files JOIN conversations c"
                         " ON c.id = conversation_id WHERE c.name = 'bench-model')", (MANY,))


def _copy(database, table, where, **changes):
    names = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
    columns = ", ".join(f":{name}" if name in changes else name for name in names)
    cursor = database.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {columns} FROM {table} WHERE {where}", changes)
    return cursor.lastrowid
