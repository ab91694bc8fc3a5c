"""512 MiB without swap; running out of memory is told apart from every other end."""
import pytest

MIB = 1 << 20
LIMIT = 512 * MIB


def test_limit_seen_from_the_host(service):
    with service.hold() as run:
        folder = run.process.cgroups["memory"]
        if (folder / "memory.max").exists():
            assert int((folder / "memory.max").read_text()) == LIMIT
            assert (folder / "memory.swap.max").read_text().strip() == "0"
            assert (folder / "memory.oom.group").read_text().strip() == "1"
        else:
            assert int((folder / "memory.limit_in_bytes").read_text()) == LIMIT
            with_swap = folder / "memory.memsw.limit_in_bytes"
            if with_swap.exists():
                assert int(with_swap.read_text()) == LIMIT
            else:
                assert (folder / "memory.swappiness").read_text().strip() == "0"
        assert run.init.cgroups["memory"] == folder
        others = [p for room in service.rooms().values() for p in room if p.uids[0] != run.process.uids[0]]
        assert others and all(p.cgroups["memory"] != folder for p in others)


def test_within_the_limit(service):
    reply = service.run("""
        block = bytearray(380 << 20)
        block[::4096] = b"x" * len(block[::4096])
        print(len(block))
        """)
    assert reply.stdout == f"{380 * MIB}\n" and reply.outcome == "ok"
    assert reply.usage["max_memory_bytes"] >= 380 * MIB


def test_a_file_of_a_run_that_has_nearly_used_its_memory_up(service):
    """What the snippet held is still there while its files are collected."""
    reply = service.run("""
        import os
        open("big.bin", "wb").write(os.urandom(4_000_000))
        kept = [bytearray(b"x" * (1 << 20)) for _ in range(480)]
        """)
    assert reply.outcome == "ok" and reply.exit_code == 0
    assert [(file["name"], file["size"]) for file in reply.files] == [("big.bin", 4_000_000)]
    assert reply.usage["max_memory_bytes"] > 0.9 * LIMIT


def test_over_the_limit(service):
    reply = service.run("""
        print("before", flush=True)
        kept = []
        while True:
            kept.append(bytearray(b"x" * (16 << 20)))
        """)
    assert reply.outcome == "out_of_memory" and reply.exit_code == 137
    assert reply.stdout == "before\n"
    assert reply.usage["max_memory_bytes"] > 0.9 * LIMIT
    assert "memory" in reply.hint.lower()


def test_a_child_over_the_limit_whose_parent_exits_with_zero(service):
    """The kernel kills one process only; the run must not count as a success because its parent went on."""
    reply = service.run("""
        import os, sys
        child = os.fork()
        if child == 0:
            kept = []
            while True:
                kept.append(bytearray(b"x" * (16 << 20)))
        os.waitpid(child, 0)
        print("parent goes on")
        sys.exit(0)
        """)
    assert reply.outcome == "out_of_memory" and reply.exit_code == 137


def test_a_worker_process_over_the_limit(service):
    reply = service.run("""
        from concurrent.futures import ProcessPoolExecutor

        def greedy(_):
            return len(bytearray(b"x" * (700 << 20)))

        if __name__ == "__main__":
            with ProcessPoolExecutor(2) as pool:
                print(list(pool.map(greedy, range(2))))
        """, timeout_s=15)
    assert reply.outcome == "out_of_memory" and reply.exit_code == 137


def test_files_count_as_memory(service):
    """tmpfs pages are charged to the sandbox that wrote them: what its files take, its heap lacks."""
    reply = service.run("""
        for place, size in (("/mnt/data", 120), ("/tmp", 60), ("/home/nonroot", 60), ("/dev/shm", 60)):
            with open(place + "/fill", "wb") as file:
                for _ in range(size):
                    file.write(b"x" * (1 << 20))
        print("filled", flush=True)
        block = bytearray(b"x" * (330 << 20))
        print("both")
        """)
    assert reply.stdout == "filled\n" and reply.outcome == "out_of_memory"


@pytest.mark.parametrize("code", ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit(137)"])
def test_other_ends_with_137_are_not_out_of_memory(service, code):
    reply = service.run(code)
    assert reply.exit_code == 137 and reply.outcome == "error"


def test_a_caught_memory_error_is_not_the_end(service):
    """An allocation that can never be had fails by itself; the snippet may go on."""
    reply = service.run("""
        try:
            block = bytearray(1 << 50)
        except MemoryError:
            print("refused")
        print("went on")
        """)
    assert reply.stdout == "refused\nwent on\n" and reply.outcome == "ok"


def test_neighbours_do_not_notice(service):
    greedy = "kept = []\nwhile True:\n    kept.append(bytearray(b'x' * (16 << 20)))"
    modest = "block = bytearray(b'x' * (100 << 20)); print(len(block))"
    replies = service.run_all([greedy, modest, greedy, modest])
    assert [reply.outcome for reply in replies] == ["out_of_memory", "ok", "out_of_memory", "ok"]


def test_memory_in_use_begins_at_little(service):
    """What a parked sandbox shares with the template is not charged to it."""
    reply = service.run("print(1)")
    assert reply.usage["max_memory_bytes"] < 64 * MIB
