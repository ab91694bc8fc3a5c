"""Searching the interpreter's own memory, which began as a copy of the template's, for secrets of the service."""


def test_no_page_holds_one(service):
    """The needles are given in halves, and a hit is a first half that its second half follows: so neither this text nor
    what the search reads into its own buffers can be one. The last needle is put together on purpose: the control."""
    halves = [[needle[:20], needle[20:]] for needle in (canary.decode() for canary in service.leaks.canaries)]
    reply = service.run(f"""
        import collections
        halves = [(first.encode(), second.encode()) for first, second in {halves!r}]
        halves.append((b"control-of-the-", b"search"))
        kept = halves[-1][0] + halves[-1][1]
        groups = collections.defaultdict(list)
        for first, second in halves:
            groups[first[:6]].append((first[6:], second))
        hits, size = collections.Counter(), 0
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in open("/proc/self/maps"):
                fields = line.split()
                # What is written to, by whomever: anonymous memory, heap, stack, data of libraries.
                if not fields[1].startswith("rw") or fields[-1].startswith("[v"):
                    continue
                start, end = (int(part, 16) for part in fields[0].split("-"))
                for at in range(start, end, 8 << 20):
                    try:
                        memory.seek(at)
                        block = memory.read(min(8 << 20, end - at))
                    except (OSError, OverflowError):
                        continue
                    size += len(block)
                    for prefix, rests in groups.items():
                        found = block.find(prefix)
                        while found >= 0:
                            for first, second in rests:
                                if block.startswith(first, found + 6) and block.startswith(second, found + 6 + len(first)):
                                    hits[prefix] += 1
                            found = block.find(prefix, found + 1)
        print(size > 30 << 20, {{prefix for prefix in hits}} == {{kept[:6]}})
        """, timeout_s=50)
    assert reply.stdout == "True True\n", reply
