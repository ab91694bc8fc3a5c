"""Namespaces and parentage through clone: new namespaces, a sibling in place of a child, a child that is traced."""
import json

from support import features, syscalls, unconfined
from support.syscalls import CLONE_FLAGS, NUMBERS

FLAGS = {**CLONE_FLAGS, "CLONE_PARENT": 0x8000, "CLONE_PTRACE": 0x2000, "CLONE_UNTRACED": 0x800000}
CODE = syscalls.PRELUDE + f"""
outcome = {{}}
for name, flag in {FLAGS}.items():
    ctypes.set_errno(0)
    pid = libc.syscall(ctypes.c_long({NUMBERS["clone"]}), ctypes.c_long(flag | signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    outcome[name] = "made" if pid > 0 else errno.errorcode[ctypes.get_errno()]
    try:
        while pid > 0 and os.waitpid(-1, 0): pass
    except ChildProcessError:
        pass
print(json.dumps(outcome))
"""


def test_refused(service):
    features.need_x86_64()
    assert service.execute(CODE).printed == dict.fromkeys(FLAGS, "EPERM")


def test_control_unconfined_they_are_made():
    features.need_x86_64()
    made = [name for name, outcome in json.loads(unconfined.run(CODE)).items() if outcome == "made"]
    assert set(CLONE_FLAGS) <= set(made)
