"""Becoming somebody else: every set-id call with every number that could mean something, groups, capabilities."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

WANTED = (0, 1, 1000, 65531, 65533, 65534)


def attempts():
    made = {}
    for uid in WANTED:
        for name in ("setuid", "setgid"):
            made[f"{name} {uid}"] = (NUMBERS[name], uid)
        for name in ("setreuid", "setregid"):
            made[f"{name} {uid}"] = (NUMBERS[name], uid, uid)
        for name in ("setresuid", "setresgid"):
            made[f"{name} {uid}"] = (NUMBERS[name], uid, uid, uid)
    made["setgroups"] = (NUMBERS["setgroups"], 0, 0)
    made["capset"] = (NUMBERS["capset"], "struct.pack('=II', 0x20080522, 0)", "struct.pack('=6I', 0xffffffff, 0xffffffff, 0, 0xff, 0xff, 0)")
    made["keep capabilities"] = (157, 8, 1, 0, 0, 0)
    made["ambient capability"] = (157, 47, 2, 21, 0, 0)
    made["secure bits"] = (157, 28, 0, 0, 0, 0)
    return made


def test_refused(service):
    features.need_x86_64()
    outcome = service.execute(syscalls.attempt(attempts())).printed
    assert "ok" not in outcome.values(), {name: value for name, value in outcome.items() if value == "ok"}
    assert len(outcome) == len(attempts())


def test_control_root_may():
    features.need_x86_64()
    outcome = json.loads(unconfined.run(syscalls.attempt(attempts())))
    assert outcome["setuid 1000"] == outcome["setgroups"] == outcome["setresgid 65534"] == "ok"


def test_files_cannot_be_given_away(service):
    reply = service.run("""
        import errno, os
        open("f", "w").close()
        for uid in (0, 1000, 65533):
            try:
                os.chown("f", uid, uid); print("given")
            except OSError as problem:
                print(errno.errorcode[problem.errno])
        """)
    assert "given" not in reply.stdout and len(reply.stdout.split()) == 3
