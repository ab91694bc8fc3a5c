"""New namespaces for the calling process: each flag, and all of them."""
import json

import pytest

from support import features, syscalls, unconfined
from support.syscalls import CLONE_FLAGS, NUMBERS

EVERYTHING = {**CLONE_FLAGS, "CLONE_NEWTIME": 0x80, "all": sum(CLONE_FLAGS.values()), "user and mount": 0x10020000}


@pytest.fixture(scope="module")
def outcomes(service):
    features.need_x86_64()
    code = syscalls.attempt({name: (NUMBERS["unshare"], flags) for name, flags in EVERYTHING.items()})
    return service.execute(code).printed, json.loads(unconfined.run(code))


@pytest.mark.parametrize("name", EVERYTHING)
def test_refused(outcomes, name):
    inside, outside = outcomes
    assert inside[name] == "EPERM"
    assert outside[name] == "ok"


def test_the_tool_is_of_no_use_either(service):
    reply = service.run("""
        import os
        try:
            os.unshare(os.CLONE_NEWUSER)
            print("unshared")
        except PermissionError:
            print("refused")
        """)
    assert reply.stdout == "refused\n"
