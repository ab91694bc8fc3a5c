"""A socket made by io_uring passes no socket filter (IORING_OP_SOCKET): there is no ring to ask."""
from support import features, syscalls
from support.syscalls import NUMBERS


def test_no_ring(service, outside):
    features.need_x86_64()
    outside.arrived()
    reply = service.execute(syscalls.PRELUDE + f"""
parameters = ctypes.create_string_buffer(120)
print(call({NUMBERS["io_uring_setup"]}, 8, parameters))
for fd in range(0, 64):
    outcome = call({NUMBERS["io_uring_register"]}, fd, 0, 0, 0)
    assert outcome == "ENOSYS", outcome
""")
    assert reply.stdout == "ENOSYS\n" and reply.exit_code == 0
    assert outside.arrived() == {}
