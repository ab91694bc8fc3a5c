"""Hostile names: they are data in JSON, and never a path, a header, mark-up or a command."""
import json

NAMES = ["a\nb", "a\rb", "a\x1b[31mb", "\x7f", "\x01", "..x", "-rf", "--help", "x" * 255, "\u202egpj.exe", "trailing ", " leading", "con", "nul.txt", "<img src=x onerror=alert(1)>",
         "%2e%2e%2f", "..\\..\\x", "\\\\server\\share", "C:", "a:b", "a;rm -rf", "$(id)", "`id`", "${HOME}", "*", "?", "[a]", "{a,b}", "~root", "|id", ">x", "&", "'", '"', "a\"; filename=\"b",
         "a\u0000b".replace("\0", ""), "\ufeffbom", "e\u0301", "\U0001f4a9", "\u2028", "__proto__", "constructor", "null", "true", "0", "-0", "1e999", "=cmd|' calc'!A0", "@SUM(1)"]


def test_they_come_back_as_they_are(service):
    names = [name for name in dict.fromkeys(NAMES) if name]
    reply = service.run(f"for name in json.loads({json.dumps(json.dumps(names))}): open(name, 'w').write(name)".replace("for", "import json\nfor", 1))
    assert {*reply.contents, *reply.skipped} == set(names)
    assert all(content.decode() == name for name, content in reply.contents.items())
    assert set(reply.skipped.values()) <= {"name"} and len(reply.skipped) <= 8


def test_names_that_are_no_text(service):
    reply = service.run(r"""
        import os
        made = 0
        for raw in (b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"ok\x80", b"\xe2\x28\xa1", b"caf\xe9"):
            os.close(os.open(raw, os.O_CREAT)); made += 1
        os.mkdir(b"d\xff"); os.close(os.open(b"d\xff/x", os.O_CREAT))
        print(made)
        """)
    assert len(reply.files) + len(reply.files_skipped) >= 8
    assert set(reply.skipped.values()) <= {"name"}
    assert all(name.encode() for name in [*reply.contents, *reply.skipped]), "what is returned is valid text"


def test_names_in_the_log_do_not_make_lines(service):
    before = service.log().count("\n")
    service.run("open('x\\n{\"level\":\"error\",\"message\":\"forged-line\"}', 'w').write('1')")
    assert not [line for line in service.log().splitlines() if line.startswith('{"level":"error","message":"forged-line"}')]
    assert service.log().count("\n") - before < 50
