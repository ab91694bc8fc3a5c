"""Files that a run writes: handed over within limits, everything else named with its reason."""
import hashlib

import pytest

MIB = 1 << 20
REASONS = {"too_large", "total_too_large", "too_many", "quota", "not_a_regular_file", "unreadable", "name"}


def test_a_file_comes_back_with_all_that_is_known_of_it(service):
    reply = service.run("""
        open("report.csv", "w").write("a,b\\n1,2\\n")
        """)
    file, = reply.files
    assert file["name"] == "report.csv" and file["size"] == 8 and file["media_type"].startswith("text/csv")
    assert file["sha256"] == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert reply.contents == {"report.csv": b"a,b\n1,2\n"}


def test_hash_and_content_agree(service):
    reply = service.run("""
        import os
        open("random.bin", "wb").write(os.urandom(100_000))
        """)
    file, = reply.files
    assert hashlib.sha256(reply.contents["random.bin"]).hexdigest() == file["sha256"]
    assert file["size"] == 100_000 and file["file_id"]


def test_only_the_working_directory_counts(service):
    reply = service.run("""
        for place in ("/tmp", "/home/nonroot", "/dev/shm"):
            open(place + "/elsewhere", "w").write("x")
        open("here", "w").write("y")
        """)
    assert reply.contents == {"here": b"y"} and reply.files_skipped == []


def test_folders(service):
    reply = service.run("""
        import os
        os.makedirs("a/b/c"); os.makedirs("empty/folder")
        open("a/b/c/deep.txt", "w").write("1"); open("a/top.txt", "w").write("2")
        """)
    assert reply.contents == {"a/b/c/deep.txt": b"1", "a/top.txt": b"2"}
    assert reply.files_skipped == []


@pytest.mark.parametrize("size, comes", [(0, True), (1, True), (4 * MIB, True), (4 * MIB + 1, False), (100 * MIB, False)])
def test_four_mebibytes_each(service, size, comes):
    reply = service.run(f"""
        with open("f.bin", "wb") as file:
            left = {size}
            while left:
                left -= file.write(b"x" * min(left, 1 << 20))
        """)
    if comes:
        assert [(file["name"], file["size"]) for file in reply.files] == [("f.bin", size)]
        assert len(reply.contents["f.bin"]) == size
    else:
        assert reply.files == []
        skipped, = reply.files_skipped
        assert (skipped["name"], skipped["size"], skipped["reason"]) == ("f.bin", size, "too_large")
        assert reply.exit_code == 0


def test_sixteen_mebibytes_a_run(service):
    reply = service.run("""
        for name in "abcdef":
            open(name, "wb").write(name.encode() * (4 << 20))
        open("g", "wb").write(b"g")
        """)
    assert [file["name"] for file in reply.files] == ["a", "b", "c", "d"]
    assert reply.skipped == dict.fromkeys("efg", "total_too_large")
    assert sum(file["size"] for file in reply.files) <= 16 * MIB


def test_a_small_file_after_the_total_is_not_lost_silently(service):
    reply = service.run("""
        for name in "abcd":
            open(name, "wb").write(b"x" * ((4 << 20) - 10))
        open("e", "wb").write(b"x" * 100); open("f", "wb").write(b"x" * 30)
        """)
    named = {file["name"] for file in reply.files} | set(reply.skipped)
    assert named == set("abcdef") and reply.skipped["e"] == "total_too_large"


def test_count(service):
    reply = service.run("""
        for number in range(400):
            open("%03d.txt" % number, "w").write(str(number))
        """)
    assert 100 <= len(reply.files) <= 400
    named = {file["name"] for file in reply.files} | set(reply.skipped)
    assert set(reply.skipped.values()) <= {"too_many"}
    assert {"%03d.txt" % number for number in range(400)} == named


def test_odd_kinds_are_named_and_never_followed(service):
    reply = service.run("""
        import os, socket
        os.mkfifo("fifo")
        kept = socket.socket(socket.AF_UNIX); kept.bind("socket")
        os.symlink("/etc/passwd", "link-to-file"); os.symlink("/", "link-to-root"); os.symlink("..", "link-up")
        os.symlink("link-loop", "link-loop"); os.symlink("/dev/zero", "link-to-device"); os.symlink("nothing", "link-to-nothing")
        open("real", "w").write("real"); os.symlink("real", "link-to-real")
        """)
    assert reply.contents == {"real": b"real"}
    assert reply.skipped == dict.fromkeys(
        ["fifo", "socket", "link-to-file", "link-to-root", "link-up", "link-loop", "link-to-device", "link-to-nothing",
         "link-to-real"], "not_a_regular_file")
    assert reply.seconds < 4


def test_hard_links_come_once(service):
    reply = service.run("""
        import os
        open("one", "w").write("same")
        os.link("one", "two"); os.mkdir("d"); os.link("one", "d/three")
        """)
    assert list(reply.contents.values()) == [b"same"]
    assert {*reply.contents, *reply.skipped} == {"one", "two", "d/three"}
    assert set(reply.skipped.values()) == {"not_a_regular_file"}


def test_hard_link_to_a_file_outside_the_working_directory(service):
    """/tmp is another file system, so this cannot be made; the image is read-only and another one as well."""
    reply = service.run("""
        import errno, os
        open("/tmp/t", "w").write("t")
        for source in ("/tmp/t", "/etc/passwd", os.__file__):
            try:
                os.link(source, "linked"); print("linked")
            except OSError as problem:
                print(errno.errorcode[problem.errno])
        """)
    assert "linked" not in reply.stdout and reply.files == []


def test_unreadable_modes(service):
    """The owner may have taken its own rights away; the content is still the run's result, or is named."""
    reply = service.run("""
        import os
        open("secret", "w").write("x"); os.chmod("secret", 0)
        os.mkdir("closed"); open("closed/in", "w").write("y"); os.chmod("closed", 0)
        os.mkdir("blind"); open("blind/in", "w").write("z"); os.chmod("blind", 0o100)
        """)
    named = {**reply.skipped, **reply.contents}
    assert "secret" in named and any(name.startswith("closed") for name in named)
    assert any(name.startswith("blind") for name in named)
    assert set(reply.skipped.values()) <= {"unreadable"}


def test_a_sparse_giant(service):
    reply = service.run("""
        import os
        with open("sparse", "wb") as file:
            try:
                os.truncate("sparse", 1 << 40)
            except OSError:
                os.truncate("sparse", 100 << 20)
        with open("small-hole", "wb") as file:
            file.seek(1 << 20); file.write(b"end")
        """)
    assert reply.skipped == {"sparse": "too_large"}
    assert reply.contents["small-hole"] == b"\0" * (1 << 20) + b"end"


def test_a_tree_of_a_thousand_folders(service):
    reply = service.run("""
        import os
        open("top", "w").write("top")
        for depth in range(1000):
            os.mkdir("d"); os.chdir("d")
            open("f", "w").write(str(depth))
        """)
    assert reply.contents["top"] == b"top" and reply.contents["d/f"] == b"0"
    assert "too_many" in reply.skipped.values()
    assert reply.seconds < 6 and reply.outcome == "ok"


@pytest.mark.parametrize("depth", [1, 8, 16])
def test_sensible_depths_come_back(service, depth):
    reply = service.run(f"""
        import os
        path = "/".join("d" for _ in range({depth}))
        os.makedirs(path); open(path + "/f", "w").write("x")
        """)
    assert list(reply.contents) == ["/".join(["d"] * depth) + "/f"]


def test_swapped_while_collecting(service):
    """A daemon replaces a file by a link as fast as it can. All processes are dead before anything is read, so that what
    comes back is what was there: the file, or nothing but its name."""
    for _ in range(3):
        reply = service.run("""
            import os
            open("f", "w").write("honest"); os.symlink("/etc/passwd", "l")
            if os.fork() == 0:
                os.setsid()
                while True:
                    os.rename("f", "t"); os.rename("l", "f"); os.rename("f", "l"); os.rename("t", "f")
            """)
        assert set(reply.contents.values()) <= {b"honest"}
        assert {*reply.contents, *reply.skipped} <= {"f", "l", "t"} and len({*reply.contents, *reply.skipped}) == 2


def test_names_that_are_odd_but_valid(service):
    names = ["new\nline", "tab\t", "quote\"", "it's", "-rf", " space ", "con", "%2e%2e", "<img onerror=x>", "\u202egnp.exe",
             "\u0301combining", "😀.txt", "..x", "...", "a" * 255, "é" * 127, "back\\slash", "semi;colon", "$HOME", "`id`"]
    reply = service.run(f"""
        for name in {names!r}:
            open(name, "w").write(name)
        """)
    assert {*reply.contents, *reply.skipped} == set(names)
    assert all(content.decode() == name for name, content in reply.contents.items())
    assert set(reply.skipped.values()) <= {"name"}
    assert {"-rf", " space ", "%2e%2e", "<img onerror=x>", "😀.txt", "..x", "a" * 255} <= set(reply.contents)


def test_names_that_are_not_utf_8(service):
    reply = service.run("""
        import os
        open(b"latin-\\xe9", "w").write("1"); open(b"\\xff\\xfe", "w").write("2"); open("fine", "w").write("3")
        os.mkdir(b"folder-\\x80"); open(b"folder-\\x80/in", "w").write("4")
        """)
    assert reply.contents["fine"] == b"3"
    total = len(reply.contents) + len(reply.files_skipped)
    assert total == 4 and set(reply.skipped.values()) <= {"name"}
    assert reply.outcome == "ok"


def test_a_file_that_is_open_and_unlinked_is_gone(service):
    reply = service.run("""
        import os
        file = open("gone", "wb"); file.write(b"x" * (60 << 20)); os.unlink("gone")
        open("kept", "w").write("k")
        """)
    assert reply.contents == {"kept": b"k"} and reply.files_skipped == []


def test_media_types(service):
    expected = {"a.png": "image/png", "a.json": "application/json", "a.txt": "text/plain", "a.csv": "text/csv",
                "a.html": "text/html", "a.svg": "image/svg+xml", "a.pdf": "application/pdf",
                "a.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                "noext": "application/octet-stream"}
    reply = service.run(f"for name in {list(expected)}: open(name, 'w').write('x')")
    shown = {file["name"]: file["media_type"].split(";")[0] for file in reply.files}
    assert shown == expected


def test_every_reason_is_a_documented_one(service):
    reply = service.run("""
        import os
        open("big", "wb").write(b"x" * (5 << 20)); os.mkfifo("p"); open(b"\\xff", "w").close()
        """)
    assert set(reply.skipped.values()) <= REASONS and len(reply.files_skipped) + len(reply.files) == 3


def test_without_inline_files_there_is_an_address(service):
    reply = service.run("open('f', 'w').write('x')", inline_files=False)
    file, = reply.files
    assert "content_base64" not in file and (file.get("url") or file["file_id"])


def test_files_of_a_run_that_failed(service):
    reply = service.run("open('kept', 'w').write('x'); 1 / 0")
    assert reply.exit_code == 1 and reply.contents == {"kept": b"x"}


def test_a_working_directory_that_was_removed_or_left(service):
    reply = service.run("""
        import os
        open("kept", "w").write("x"); os.mkdir("d"); os.chdir("d"); os.rmdir("/mnt/data/d")
        """)
    assert reply.contents == {"kept": b"x"} and reply.outcome == "ok"
