"""CVE-2024-21626 (runc): a descriptor of a host folder that was left open, used as /proc/self/fd/N/../../.."""


def test_no_descriptor_leads_anywhere(service):
    reply = service.run("""
        import json, os
        found = {}
        for fd in range(0, 4096):
            try:
                target = os.readlink(f"/proc/self/fd/{fd}")
            except OSError:
                continue
            reachable = []
            for path in (f"/proc/self/fd/{fd}/..", f"/proc/self/fd/{fd}/../../../../etc/shadow", f"/proc/self/fd/{fd}/../../.."):
                try:
                    os.stat(path)
                    reachable.append(path)
                except OSError:
                    pass
            found[fd] = [target, reachable]
        print(json.dumps(found))
        """)
    for fd, (target, reachable) in reply.printed.items():
        assert reachable == [], f"descriptor {fd}, {target}"
    assert {"0", "1", "2"} <= set(reply.printed)


def test_the_current_folder_is_inside_the_root(service):
    reply = service.run("""
        import os
        print(os.getcwd(), os.readlink("/proc/self/cwd"), os.readlink("/proc/self/root"))
        fd = os.open(".", os.O_RDONLY)
        for _ in range(50):
            fd = os.open("..", os.O_RDONLY, dir_fd=fd)
        print(os.fstat(fd).st_ino == os.stat("/").st_ino)
        """)
    assert reply.stdout == "/mnt/data /mnt/data /\nTrue\n"
