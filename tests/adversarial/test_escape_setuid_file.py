"""A set-user-ID file: found in the image, or made by the snippet."""


def test_the_image_has_none(service):
    reply = service.run("""
        import os, stat
        found = []
        for folder, folders, files in os.walk("/"):
            if folder == "/":
                folders.remove("proc")
            for name in files:
                status = os.lstat(os.path.join(folder, name))
                if stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_ISUID | stat.S_ISGID):
                    found.append(os.path.join(folder, name))
                if stat.S_ISREG(status.st_mode):
                    try:
                        if os.getxattr(os.path.join(folder, name), "security.capability"):
                            found.append(name)
                    except OSError:
                        pass
        print(found)
        """)
    assert reply.stdout == "[]\n"


def test_one_of_one_s_own_gains_nothing(service):
    reply = service.run("""
        import os, shutil, subprocess
        for place in ("/mnt/data", "/tmp", "/home/nonroot"):
            path = place + "/copy-of-sh"
            shutil.copy("/bin/sh", path)
            os.chmod(path, 0o6755)
            print(subprocess.run([path, "-c", "id -u 2>/dev/null || cat /proc/self/status | grep ^Uid"], capture_output=True, text=True).stdout.split())
            os.unlink(path)
        """)
    for line in reply.stdout.splitlines():
        assert line in ("['65532']", "['Uid:', '65532', '65532', '65532', '65532']")
    assert len(reply.stdout.splitlines()) == 3
