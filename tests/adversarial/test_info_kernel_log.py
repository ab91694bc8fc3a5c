"""The kernel's log: addresses, other people's processes, hardware."""
import json

from support import features, syscalls, unconfined
from support.syscalls import NUMBERS

CODE = syscalls.PRELUDE + f"""
buffer = ctypes.create_string_buffer(4096)
outcome = {{"read all": call({NUMBERS["syslog"]}, 3, buffer, 4096), "size": call({NUMBERS["syslog"]}, 10, 0, 0), "clear": call({NUMBERS["syslog"]}, 99, 0, 0)}}
for path in ("/dev/kmsg", "/proc/kmsg", "/var/log/dmesg", "/var/log/kern.log"):
    outcome[path] = os.path.exists(path)
print(json.dumps(outcome))
"""


def test_refused(service):
    features.need_x86_64()
    outcome = service.execute(CODE).printed
    assert outcome.pop("read all") == outcome.pop("size") == outcome.pop("clear") == "EPERM"
    assert set(outcome.values()) == {False}
    assert json.loads(unconfined.run(CODE))["size"] == "ok", "the control"
