"""Joining the namespaces of somebody else: through /proc, through a descriptor of a process, through a made-up one."""
from support import features, syscalls
from support.syscalls import NUMBERS


def test_every_way_is_refused(service):
    features.need_x86_64()
    reply = service.execute(syscalls.PRELUDE + f"""
outcome = {{}}
for kind in ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup"):
    for pid in ("1", "self"):
        try:
            fd = os.open(f"/proc/{{pid}}/ns/{{kind}}", os.O_RDONLY)
        except OSError as problem:
            outcome[f"{{pid}} {{kind}}"] = errno.errorcode[problem.errno]
            continue
        outcome[f"{{pid}} {{kind}}"] = call({NUMBERS["setns"]}, fd, 0)
pidfd = os.pidfd_open(os.getpid())
outcome["pidfd"] = call({NUMBERS["setns"]}, pidfd, 0x10000000)
print(json.dumps(outcome))
""")
    assert len(reply.printed) == 15
    assert set(reply.printed.values()) <= {"EPERM", "EACCES", "ENOENT"}
    assert reply.printed["pidfd"] == "EPERM"
