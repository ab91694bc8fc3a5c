"""The "shocker" exploit of early containers: opening host files by guessed handles with open_by_handle_at."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS


def test_handles_cannot_be_had_nor_opened(service):
    features.need_x86_64()
    reply = service.execute(syscalls.PRELUDE + f"""
handle = ctypes.create_string_buffer(struct.pack("=Ii", 8, 1) + struct.pack("=II", 2, 0) + bytes(120))
mount_id = ctypes.c_int()
root = os.open("/", os.O_RDONLY)
outcome = [alone({NUMBERS["name_to_handle_at"]}, -100, b"/etc/passwd", handle, ctypes.byref(mount_id), 0)]
for inode in list(range(1, 64)) + [128, 256]:
    guess = ctypes.create_string_buffer(struct.pack("=Ii", 8, 1) + struct.pack("=II", inode, 0))
    outcome.append(call({NUMBERS["open_by_handle_at"]}, root, guess, 0))
print(json.dumps(sorted(set(outcome))))
""")
    assert set(reply.printed) <= {"EPERM", "ENOSYS"}


def test_control_handles_exist_on_this_host():
    features.need_x86_64()
    outcome = json.loads(unconfined.run(syscalls.PRELUDE + f"""
handle = ctypes.create_string_buffer(struct.pack("=Ii", 120, 0) + bytes(128))
mount_id = ctypes.c_int()
print(json.dumps(call({NUMBERS["name_to_handle_at"]}, -100, b"/etc", handle, ctypes.byref(mount_id), 0)))
"""))
    assert outcome in ("ok", "EOPNOTSUPP")
