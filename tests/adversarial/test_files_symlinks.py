"""Links in the working directory: to host files, to themselves, through folders, absolute and relative."""


def test_none_is_followed(service):
    reply = service.run("""
        import os
        targets = ["/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/environ", "/proc/self/mem", "..", "../..", "/", ".", "self", "/dev/zero", "/dev/full",
                   "/proc/self/fd/1", "/proc/self/root", "/mnt/data/self", "/nonexistent", "real", "folder"]
        for number, target in enumerate(targets):
            os.symlink(target, f"link{number:02}")
        os.symlink("self", "self")
        open("real", "w").write("real"); os.mkdir("folder"); open("folder/in", "w").write("in")
        os.symlink("/etc", "folder/etc"); os.symlink("../folder", "folder/loop")
        print(len(targets))
        """)
    assert reply.contents == {"real": b"real", "folder/in": b"in"}
    assert len(reply.skipped) == int(reply.stdout) + 3
    assert set(reply.skipped.values()) == {"not_a_regular_file"}


def test_a_link_in_place_of_the_working_directory(service):
    reply = service.run("""
        import os
        open("kept", "w").write("x")
        for action in (lambda: os.rename("/mnt/data", "/mnt/other"), lambda: os.rmdir("/mnt/data"), lambda: os.symlink("/etc", "/mnt/data/../data2")):
            try:
                action(); print("done")
            except OSError:
                print("refused")
        """)
    assert reply.stdout == "refused\n" * 3 and reply.contents == {"kept": b"x"}
