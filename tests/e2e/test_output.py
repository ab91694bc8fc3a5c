"""Output: all of it within bounds, the middle cut beyond, and a flood ends the run without hurting the service."""
import pytest

KEPT = 1 << 20
MIB = 1 << 20


def test_both_streams_apart(service):
    reply = service.run("""
        import sys
        print("out"); print("err", file=sys.stderr)
        """)
    assert (reply.stdout, reply.stderr) == ("out\n", "err\n")
    assert not reply.stdout_truncated and not reply.stderr_truncated


def test_one_mebibyte_comes_back_whole(service):
    reply = service.execute(f"import sys; sys.stdout.write('x' * {KEPT})")
    assert len(reply.stdout) == KEPT and not reply.stdout_truncated


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_beyond_that_head_and_tail_are_kept_and_the_flag_is_set(service, stream):
    reply = service.run(f"""
        import sys
        for number in range(400_000):
            sys.{stream}.write("line %07d\\n" % number)
        """)
    kept = getattr(reply, stream)
    assert kept.startswith("line 0000000\nline 0000001\n") and kept.endswith("line 0399999\n")
    assert getattr(reply, stream + "_truncated")
    other = "stderr" if stream == "stdout" else "stdout"
    assert not getattr(reply, other + "_truncated") and getattr(reply, other) == ""
    assert 0.9 * KEPT <= len(kept) <= 1.01 * KEPT
    assert reply.exit_code == 0 and reply.outcome == "ok"


def test_a_cut_never_breaks_a_character(service):
    reply = service.execute("import sys; sys.stdout.write('é€😀' * 500_000)")
    assert reply.stdout_truncated and "\ufffd" not in reply.stdout
    assert set(reply.stdout[:1000]) == set("é€😀") and set(reply.stdout[-1000:]) == set("é€😀")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_ends_the_run(service, stream):
    service.run("print(1)")
    before = service.api.resident_bytes
    reply = service.run(f"""
        import sys
        print("head", file=sys.{stream}, flush=True)
        block = "x" * 65536
        while True:
            sys.{stream}.write(block)
        """)
    assert (reply.outcome, reply.exit_code) == ("output_limit", 137)
    assert getattr(reply, stream).startswith("head\n") and getattr(reply, stream + "_truncated")
    assert len(getattr(reply, stream)) <= 1.01 * KEPT
    assert "64" in reply.hint
    assert service.api.resident_bytes - before < 24 * MIB, "the service's memory must not grow with the output"


def test_a_flood_without_a_newline_in_a_single_write(service):
    reply = service.run("""
        import os
        block = b"y" * (32 << 20)
        while True:
            os.write(1, block)
        """)
    assert reply.outcome == "output_limit" and reply.stdout_truncated


def test_sixty_mebibytes_are_no_flood(service):
    reply = service.run("""
        import sys
        for _ in range(60):
            sys.stdout.write("x" * (1 << 20))
        print("end")
        """)
    assert reply.outcome == "ok" and reply.stdout.endswith("end\n") and reply.stdout_truncated


def test_memory_of_the_service_stays_flat_over_many_floods(service):
    code = "import os\nwhile True: os.write(1, b'z' * 1_000_000)"
    service.execute(code)
    before = service.api.resident_bytes
    for reply in service.run_all([code] * 4):
        assert reply.outcome == "output_limit"
    assert service.api.resident_bytes - before < 48 * MIB
    assert service.spawner.resident_bytes < 64 * MIB


def test_output_is_there_before_a_kill(service):
    """Nothing that was printed waits in a buffer of the interpreter."""
    reply = service.run("""
        import os, signal, sys
        print("one"); sys.stdout.write("two"); print("three", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGKILL)
        """)
    assert (reply.stdout, reply.stderr, reply.exit_code) == ("one\ntwo", "three\n", 137)


def test_no_last_expression_on_standard_output(service):
    """The value of a last expression is a result, not output."""
    reply = service.execute("print('a')\n40 + 2")
    assert reply.stdout == "a\n"
    assert [result["text/plain"] for result in reply.results] == ["42"]


def test_a_last_expression_of_none_is_no_result(service):
    assert service.execute("print('a')").results == []
    assert service.execute("None").results == []


def test_an_assignment_is_no_result(service):
    assert service.execute("x = 5").results == []


def test_printing_nothing(service):
    reply = service.execute("")
    assert (reply.stdout, reply.stderr, reply.exit_code, reply.files, reply.results) == ("", "", 0, [], [])


@pytest.mark.parametrize("chunk", [1, 7, 4095, 4096, 65537])
def test_chunks_of_any_size_arrive_in_order(service, chunk):
    reply = service.run(f"""
        import os
        text = b"".join(b"%06d|" % number for number in range(20_000))
        text = text[:200_000 if {chunk} > 1 else 20_000]
        for at in range(0, len(text), {chunk}):
            os.write(1, text[at:at + {chunk}])
        """)
    expected = "".join("%06d|" % number for number in range(20_000))[:200_000 if chunk > 1 else 20_000]
    assert reply.stdout == expected
