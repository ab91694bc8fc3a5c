"""CVE-2016-0728 and its kind: kernel keyrings, which no namespace separates and which hold other people's secrets."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

ATTEMPTS = {
    "join a session keyring": (NUMBERS["keyctl"], 1, "b'name'"),
    "read the user's keyring": (NUMBERS["keyctl"], 11, -4, 0, 0),
    "describe": (NUMBERS["keyctl"], 6, -3, 0, 0),
    "add": (NUMBERS["add_key"], "b'user'", "b'description'", "b'payload'", 7, -2),
    "request": (NUMBERS["request_key"], "b'user'", "b'description'", 0, -2),
}


def test_refused(service):
    features.need_x86_64()
    inside = service.execute(syscalls.attempt(ATTEMPTS)).printed
    assert set(inside.values()) <= {"EPERM", "ENOSYS"}


def test_control():
    features.need_x86_64()
    outside = json.loads(unconfined.run(syscalls.attempt(ATTEMPTS)))
    features.need(outside["join a session keyring"] != "ENOSYS", "kernel keyrings")
    assert outside["join a session keyring"] == outside["add"] == "ok"
