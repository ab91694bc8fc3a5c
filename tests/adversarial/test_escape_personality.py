"""Changing the execution domain: switching address randomisation off, or asking for an executable heap."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

ATTEMPTS = {"no randomisation": (NUMBERS["personality"], 0x0040000), "read implies exec": (NUMBERS["personality"], 0x0400000),
            "32 bits": (NUMBERS["personality"], 8), "addresses of 3 GB": (NUMBERS["personality"], 0x8000000)}


def test_refused(service):
    features.need_x86_64()
    assert service.execute(syscalls.attempt(ATTEMPTS)).printed == dict.fromkeys(ATTEMPTS, "EPERM")
    assert "ok" in json.loads(unconfined.run(syscalls.attempt(ATTEMPTS))).values(), "the control"
