"""Page tables: one byte in every two megabytes of a vast sparse map. Kernel memory, not the process's own, fills up."""


def test_counted_and_bounded(service):
    reply = service.run("""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True); libc.mmap.restype = ctypes.c_void_p
        size = 1 << 41
        address = libc.mmap(None, ctypes.c_size_t(size), 1, 0x4022, -1, 0)
        print(address is not None, flush=True)
        at = 0
        while at < size:
            ctypes.c_char.from_address(address + at).value
            at += 1 << 21
        print("touched")
        """, timeout_s=8)
    assert reply.outcome in ("out_of_memory", "timeout", "ok", "error")
    assert reply.usage["max_memory_bytes"] <= 513 << 20
    if reply.outcome == "ok":
        assert reply.stdout == "True\ntouched\n"
