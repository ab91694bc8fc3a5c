"""CVE-2016-5195 ("dirty COW"): racing a write through /proc/self/mem against madvise(MADV_DONTNEED) on a private mapping of
a read-only file. The kernel is fixed; the test shows that the image comes out of the race as it went in."""


def test_the_file_is_unchanged(service):
    reply = service.run("""
        import ctypes, mmap, os, threading, time
        fd = os.open(os.__file__, os.O_RDONLY)
        before = open(os.__file__, "rb").read()
        area = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        end, refused = time.monotonic() + 0.8, 0
        def forget():
            while time.monotonic() < end:
                area.madvise(mmap.MADV_DONTNEED)
        thread = threading.Thread(target=forget); thread.start()
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        while time.monotonic() < end:
            try:
                with open("/proc/self/mem", "r+b", buffering=0) as memory:
                    memory.seek(address); memory.write(b"DIRTY")
            except OSError:
                refused += 1
                area[:5] = b"DIRTY"
        thread.join()
        print(open(os.__file__, "rb").read() == before, b"DIRTY" not in before)
        """)
    assert reply.stdout == "True True\n"
    assert "DIRTY" not in service.run("print(open(__import__('os').__file__).read(5000))").stdout
