"""Modes, times and attributes that make a file awkward: no rights at all, the year 9999, before 1970, extended attributes."""


def test_awkward_files(service):
    reply = service.run("""
        import os
        for number, mode in enumerate((0, 0o111, 0o200, 0o777, 0o7777, 0o4000)):
            open(f"m{number}", "w").write("x"); os.chmod(f"m{number}", mode)
        open("future", "w").write("x"); os.utime("future", (253402300799, 253402300799))
        open("past", "w").write("x"); os.utime("past", (-10**9, -10**9))
        open("attribute", "w").write("x")
        for name in ("user.x", "security.capability", "trusted.x", "system.posix_acl_access"):
            try:
                os.setxattr("attribute", name, b"v"); print("set", name)
            except OSError:
                pass
        os.mkdir("closed"); open("closed/in", "w").write("x"); os.chmod("closed", 0)
        """)
    named = {*reply.contents, *reply.skipped}
    assert {"m0", "m1", "m2", "m3", "m4", "m5", "future", "past", "attribute"} <= named
    assert any(name.startswith("closed") for name in named)
    assert "security.capability" not in reply.stdout and "trusted" not in reply.stdout
    assert set(reply.skipped.values()) <= {"unreadable"}
    assert all(content == b"x" for content in reply.contents.values())
