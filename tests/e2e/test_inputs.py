"""Input files and standard input."""
import base64
import hashlib
import os

import pytest

from support.client import bytes_file, text_file

MIB = 1 << 20


def test_text_and_bytes(service):
    reply = service.run("print(open('a.txt').read(), open('b.bin', 'rb').read())",
                        files=[text_file("a.txt", "größe\n"), bytes_file("b.bin", b"\x00\xff")])
    assert reply.stdout == "größe\n b'\\x00\\xff'\n"
    assert reply.files == [] and reply.files_skipped == []


def test_folders_are_made(service):
    reply = service.run("print(open('in/put/x.csv').read())", files=[text_file("in/put/x.csv", "1")])
    assert reply.stdout == "1\n" and reply.files == []


def test_an_input_is_an_ordinary_file_of_the_user(service):
    reply = service.run("""
        import os, stat
        status = os.stat("a"); print(status.st_uid, status.st_nlink, stat.S_ISREG(status.st_mode), os.access("a", os.W_OK))
        os.rename("a", "b"); os.unlink("b")
        """, files=[text_file("a", "x")])
    assert reply.stdout == "65532 1 True True\n" and reply.files == [] and reply.files_skipped == []


@pytest.mark.parametrize("change, comes", [
    ("open('a').read()", False),
    ("import os; os.utime('a')", False),
    ("import os; os.chmod('a', 0o400)", False),
    ("open('a', 'w').write('old')", False),
    ("open('a', 'w').write('new')", True),
    ("open('a', 'a').write('more')", True),
    ("import os; s = os.stat('a'); open('a', 'w').write('new'); os.utime('a', ns=(s.st_atime_ns, s.st_mtime_ns))", True),
    ("import os; open('t', 'w').write('new'); os.replace('t', 'a')", True),
    ("import mmap, os; f = open('a', 'r+b'); m = mmap.mmap(f.fileno(), 3); m[:] = b'new'; m.close()", True),
])
def test_an_input_comes_back_only_if_its_content_changed(service, change, comes):
    reply = service.execute(change, files=[text_file("a", "old")])
    assert reply.exit_code == 0, reply.stderr
    assert list(reply.contents) == (["a"] if comes else [])
    if comes:
        assert reply.contents["a"] in (b"new", b"oldmore")


def test_a_copy_of_an_input_is_a_new_file(service):
    reply = service.run("import shutil; shutil.copy('a', 'b')", files=[text_file("a", "x")])
    assert reply.contents == {"b": b"x"}


def test_many_and_large_inputs(service):
    files = [bytes_file(f"f{number:03}", os.urandom(1000)) for number in range(100)] + [bytes_file("big", os.urandom(6 * MIB))]
    reply = service.run("""
        import hashlib, os
        print(hashlib.sha256(b"".join(open(name, "rb").read() for name in sorted(os.listdir(".")))).hexdigest())
        """, files=files)
    joined = b"".join(base64.b64decode(file["content_base64"]) for file in sorted(files, key=lambda file: file["name"]))
    assert reply.stdout.strip() == hashlib.sha256(joined).hexdigest()
    assert reply.files == [] and reply.files_skipped == []


def test_an_input_larger_than_the_limit_for_results_may_be_used(service):
    reply = service.run("import os; print(os.path.getsize('big'))", files=[bytes_file("big", b"x" * (9 * MIB))])
    assert reply.stdout == f"{9 * MIB}\n" and reply.files_skipped == []


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "a/../../up", "", ".", "..", "a/..", "./a", "a//b", "a/", "bad\0name",
                                  "x" * 256, "/".join(["d"] * 600)])
def test_names_that_are_refused(service, name):
    response = service.post(body={"code": "print(1)", "files": [text_file(name, "x")]})
    assert response.status == 400 and response.error["type"] == "invalid_request"
    assert "name" in response.error["message"] and "files" in response.error["param"]


@pytest.mark.parametrize("file, word", [
    ({"name": "a.bin", "content_base64": "not base64 !!"}, "base64"),
    ({"name": "a.bin", "content_base64": "QQ"}, "base64"),
    ({"name": "a.bin"}, "content"),
    ({"name": "a.bin", "content": "x", "content_base64": "eA=="}, "content"),
    ({"name": "a.bin", "content": 5}, "content"),
    ({"content": "x"}, "name"),
    ({"name": "a.bin", "content": "x", "mode": 511}, "mode"),
    ({"name": 5, "content": "x"}, "name"),
])
def test_files_that_are_refused(service, file, word):
    response = service.post(body={"code": "print(1)", "files": [file]})
    assert response.status == 400
    assert word in response.error["message"] and response.error["param"].startswith("files")


def test_two_inputs_with_one_name_are_refused_by_name(service):
    response = service.post(body={"code": "print(1)", "files": [text_file("twice.txt", "1"), text_file("twice.txt", "2")]})
    assert response.status == 400 and "twice.txt" in response.error["message"]


def test_a_file_where_a_folder_is_needed(service):
    response = service.post(body={"code": "import os; print(sorted(os.listdir('.')))",
                                  "files": [text_file("a", "1"), text_file("a/b", "2")]})
    if response.status == 200:  # then the one that does not fit is named
        assert [skipped["name"] for skipped in response.json["files_skipped"]] in (["a/b"], ["a"])
    else:
        assert response.status == 400 and "a" in response.error["message"]


def test_inputs_that_do_not_fit_are_named_and_nothing_runs(small):
    """More than the working directory holds: needs a larger body than the default allows."""
    block = bytes_file("x", b"x" * (30 * MIB))["content_base64"]
    files = [{"name": f"f{number}", "content_base64": block} for number in range(5)]
    response = small.post(body={"code": "print(1)", "files": files})
    assert response.status == 400
    assert response.error["param"] == "files[4]"
    assert '"f4"' in response.error["message"] and "128 MiB" in response.error["message"]


@pytest.mark.parametrize("text", ["", "one line\n", "no newline", "ü€😀\n", "a\0b", "x" * 300_000])
def test_standard_input_is_what_was_given(service, text):
    reply = service.run("""
        import hashlib, sys
        text = sys.stdin.read()
        print(len(text), hashlib.sha256(text.encode()).hexdigest())
        """, stdin=text)
    assert reply.stdout == f"{len(text)} {hashlib.sha256(text.encode()).hexdigest()}\n"


def test_reading_line_by_line(service):
    reply = service.run("""
        import sys
        print([input(), input("? ")], [line for line in sys.stdin])
        """, stdin="a\nb\nc\nd")
    assert reply.stdout == "? ['a', 'b'] ['c\\n', 'd']\n"


def test_without_standard_input_it_is_at_its_end(service):
    reply = service.run("""
        import os, sys
        print(repr(sys.stdin.read()), os.read(0, 10), sys.stdin.isatty(), sys.stdin is not None)
        input()
        """)
    assert reply.stdout == "'' b'' False True\n"
    assert reply.exit_code == 1 and reply.stderr.endswith("EOFError: EOF when reading a line\n")
    assert reply.seconds < 2


def test_a_child_reads_standard_input(service):
    reply = service.run("import subprocess; print(subprocess.run(['cat'], capture_output=True, text=True).stdout)", stdin="to cat")
    assert reply.stdout == "to cat\n"


def test_standard_input_cannot_be_changed_by_the_snippet_to_harm_the_service(service):
    reply = service.run("""
        import os
        for action in (lambda: os.write(0, b"x"), lambda: os.ftruncate(0, 0)):
            try:
                print(action())
            except OSError as problem:
                print(type(problem).__name__)
        """, stdin="sealed")
    assert reply.exit_code == 0 and len(reply.stdout.splitlines()) == 2
