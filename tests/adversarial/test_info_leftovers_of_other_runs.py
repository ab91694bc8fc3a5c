"""What a run left in files, shared memory, kernel objects or freed memory, looked for by the next ones."""
import secrets


def test_nothing_is_found(service):
    marker = "canary-" + secrets.token_hex(16)
    half = len(marker) // 2
    service.run(f"""
        import mmap, os
        from multiprocessing import shared_memory
        marker = {marker[:half]!r} + {marker[half:]!r}
        for place in ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm"):
            open(place + "/x", "w").write(marker * 1000)
        block = shared_memory.SharedMemory("left", create=True, size=4096); block.buf[:len(marker)] = marker.encode()
        area = mmap.mmap(-1, 32 << 20); area.write(marker.encode() * 400000)
        os._exit(0)
        """)
    service.leaks.add(marker, "another run's leftovers")
    for _ in range(4):
        reply = service.run(f"""
            import ctypes, mmap, os
            marker = ({marker[:half]!r} + {marker[half:]!r}).encode()
            seen = [path for place in ("/mnt/data", "/tmp", "/home/nonroot", "/dev/shm") for path in os.listdir(place) if path in ("x", "left", "psm_left")]
            area = mmap.mmap(-1, 64 << 20)
            libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p
            raw = ctypes.string_at(libc.malloc(ctypes.c_size_t(32 << 20)), 32 << 20)
            print(seen, marker in area.read(), marker in raw, area[:].count(0) != len(area))
            """)
        assert reply.stdout == "[] False False False\n"
