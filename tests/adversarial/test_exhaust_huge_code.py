"""Code that is a bomb to parse or compile: it is compiled in the sandbox, under its limits, and not before."""
import pytest

BOMBS = {
    "ten megabytes of brackets": "(" * 10_000_000,
    "nested lists": "x = " + "[" * 90 + "]" * 90 + "\n",
    "a huge expression": "x = " + "+".join(["1"] * 300_000),
    "a huge literal": "x = {" + ",".join(f"{n}: {n}" for n in range(200_000)) + "}\nprint(len(x))",
    "ten megabytes of one name": "a" * 10_000_000,
    "a constant to be folded": "x = ((((((2 ** 60) ** 60) ** 60) ** 60) ** 60) ** 60)",
    "a string times a number": "x = 'a' * 10 ** 6 * 10 ** 6",
    "decorators without end": "@a\n" * 100_000 + "def f(): pass",
    "else if without end": "if 0: pass\n" + "elif 0: pass\n" * 100_000,
    "f-strings": "f'" + "{1}" * 200_000 + "'",
    "a million lines": "x = 1\n" * 1_000_000,
    "unclosed text": "'''" + "x" * 5_000_000,
}


@pytest.mark.parametrize("kind", BOMBS)
def test_the_service_stays_quick(service, kind):
    before = service.api.resident_bytes
    reply = service.execute(BOMBS[kind], timeout_s=4)
    assert reply.outcome in ("ok", "error", "out_of_memory", "timeout")
    assert service.api.resident_bytes - before < 80 << 20
    if reply.outcome == "error" and reply.exit_code == 1:
        assert "Error" in reply.stderr and len(reply.stderr) <= 1 << 21
