"""Searching every file that can be read for secrets of the service and of other runs."""


def test_no_file_holds_one(service):
    """The needles go in halves, so that the search does not find its own text."""
    needles = [canary.decode() for canary in service.leaks.canaries]
    assert len(needles) >= 6
    halves = [[needle[:20], needle[20:]] for needle in needles]
    reply = service.run(f"""
        import os
        needles = [(a + b).encode() for a, b in {halves!r}]
        open("/tmp/control", "wb").write(b"x" * 5000 + needles[0])
        found, read = [], 0
        for folder, folders, files in os.walk("/"):
            if folder == "/":
                folders[:] = [name for name in folders if name not in ("dev",)]
            folders[:] = [name for name in folders if name not in ("site-packages", "map_files", "task")]
            for name in files:
                path = os.path.join(folder, name)
                try:
                    if os.path.isfile(path) and os.path.getsize(path) < 8 << 20 and name not in ("kmsg", "mem", "clear_refs", "pagemap"):
                        text = open(path, "rb").read(8 << 20)
                        read += 1
                        found += [path for needle in needles if needle in text]
                except OSError:
                    pass
        print(read > 500, sorted(set(found)))
        """, timeout_s=30)
    assert reply.stdout == "True ['/tmp/control']\n", reply
