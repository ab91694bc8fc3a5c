"""The list of mounts is readable; it must not name paths, devices or folders of the host."""


def test_sources_and_options_say_nothing(service):
    reply = service.run("""
        for name in ("mountinfo", "mounts", "mountstats"):
            print(open("/proc/self/" + name).read())
        """)
    assert " / " in reply.stdout
    for word in (str(service.data_dir), str(service.folder), "/build", "rootfs", "/image", "upperdir", "lowerdir", "/var", "/sys/fs", "/tmp/pytest", "sandboxd"):
        assert word not in reply.stdout, word


def test_each_mount_shows_the_root_of_its_file_system(service):
    """A bind of a folder of the host would show that folder's path in the fourth column."""
    reply = service.run("print(open('/proc/self/mountinfo').read())")
    for line in reply.stdout.strip().splitlines():
        root, place = line.split()[3:5]
        assert root in ("/", "/" + place.rsplit("/", 1)[-1]), line
