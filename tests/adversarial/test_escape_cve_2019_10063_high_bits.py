"""CVE-2019-10063 (flatpak): the kernel looks at 32 bits of an ioctl's request, a filter that compares 64 is passed by
setting one of the others. The same for the domain of a socket and the command of fcntl and prctl."""
from support import features, syscalls

HIGH = 1 << 32


def test_upper_halves_make_no_difference(service):
    features.need_x86_64()
    attempts = {
        "ioctl": (16, 0, HIGH | 0x5412, "b'x'"),
        "ioctl with all ones": (16, 0, -(1 << 32) | 0x5412, "b'x'"),
        "socket": (41, HIGH | 2, 1, 0),
        "socketpair": (53, HIGH | 2, 1, 0, "ctypes.create_string_buffer(8)"),
        "fcntl F_SETOWN": (72, 0, HIGH | 8, 1),
        "fcntl F_SETPIPE_SZ": (72, 1, HIGH | 1031, 1 << 20),
        "prctl PR_SET_SECCOMP": (157, HIGH | 22, 1, 0, 0, 0),
        "personality": (135, HIGH | 0x0040000),
    }
    outcome = service.execute(syscalls.attempt(attempts)).printed
    assert "ok" not in outcome.values(), outcome
    assert outcome["ioctl"] == outcome["ioctl with all ones"] == "EPERM"
    assert outcome["socket"] == "EAFNOSUPPORT"


def test_control_what_is_allowed_works(service):
    features.need_x86_64()
    outcome = service.execute(syscalls.attempt({
        "ioctl FIONREAD": (16, 0, 0x541B, "ctypes.create_string_buffer(8)"),
        "socket": (41, 1, 1, 0),
        "fcntl F_GETFL": (72, 0, 3, 0),
        "personality query": (135, 0xFFFFFFFF),
    })).printed
    assert outcome.pop("ioctl FIONREAD") in ("ok", "ENOTTY"), "the filter lets it through to the file"
    assert set(outcome.values()) == {"ok"}, outcome
