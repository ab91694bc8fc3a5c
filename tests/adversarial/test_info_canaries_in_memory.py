"""Searching the interpreter's own memory, which began as a copy of the template's, for secrets of the service."""


def test_no_page_holds_one(service):
    """The needles are given in halves, and a hit is a first half that its second half follows: so neither this text nor
    what the search reads into its own buffers can be one. The last needle is put together on purpose: the control."""
    halves = [[needle[:20], needle[20:]] for needle in (canary.decode() for canary in service.leaks.canaries)]
    reply = service.run(f"""
        halves = [(first.encode(), second.encode()) for first, second in {halves!r}]
        halves.append((b"control-of-the-", b"search"))
        kept = halves[-1][0] + halves[-1][1]
        hits, size = [0] * len(halves), 0
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in open("/proc/self/maps"):
                fields = line.split()
                if "r" not in fields[1] or fields[-1].startswith("[v"):
                    continue
                start, end = (int(part, 16) for part in fields[0].split("-"))
                for at in range(start, end, 8 << 20):
                    try:
                        memory.seek(at)
                        block = memory.read(min(8 << 20, end - at))
                    except (OSError, OverflowError):
                        continue
                    size += len(block)
                    for number, (first, second) in enumerate(halves):
                        found = block.find(first)
                        while found >= 0:
                            hits[number] += block.startswith(second, found + len(first))
                            found = block.find(first, found + 1)
        print(size > 50 << 20, sum(hits[:-1]), hits[-1] > 0)
        """, timeout_s=40)
    assert reply.stdout == "True 0 True\n", reply
