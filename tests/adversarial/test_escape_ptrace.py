"""Reading and steering other processes: ptrace, process_vm_*, kcmp, pidfd_getfd; also among the sandbox's own children."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

# A child of one's own would be fair game for an unconfined process: the control is the same text.
CODE = syscalls.PRELUDE + f"""
child = os.fork()
if child == 0:
    signal.pause()
target, buffer = child, ctypes.create_string_buffer(16)
local = struct.pack("=QQ", ctypes.addressof(buffer), 16)
outcome = {{
    "attach": call({NUMBERS["ptrace"]}, 16, target, 0, 0),
    "seize": call({NUMBERS["ptrace"]}, 0x4206, target, 0, 0),
    "read memory": call({NUMBERS["process_vm_readv"]}, target, local, 1, local, 1, 0),
    "write memory": call({NUMBERS["process_vm_writev"]}, target, local, 1, local, 1, 0),
    "compare": call({NUMBERS["kcmp"]}, target, os.getpid(), 1, 0, 0),
    "take a descriptor": call({NUMBERS["pidfd_getfd"]}, os.pidfd_open(target), 1, 0),
    "init": call({NUMBERS["ptrace"]}, 16, 1, 0, 0),
    "traced by the parent": alone({NUMBERS["ptrace"]}, 0, 0, 0, 0),
}}
os.kill(child, signal.SIGKILL)
print(json.dumps(outcome))
"""


def test_refused(service):
    features.need_x86_64()
    outcome = service.execute(CODE).printed
    assert set(outcome.values()) <= {"EPERM", "ENOSYS"}, outcome


def test_control_unconfined_they_work():
    features.need_x86_64()
    outcome = json.loads(unconfined.run(CODE))
    assert outcome["attach"] == outcome["read memory"] == outcome["take a descriptor"] == outcome["traced by the parent"] == "ok"
