"""The path of a control group would name the service's slot, a container or a unit of the host."""


def test_only_the_root_is_seen(service):
    reply = service.run("print(open('/proc/self/cgroup').read()); print(open('/proc/1/cgroup').read() if __import__('os').access('/proc/1/cgroup', 4) else '')")
    paths = {line.split(":", 2)[2] for line in reply.stdout.split("\n") if line.count(":") >= 2}
    assert paths, "the control"
    assert len(paths - {"/"}) == 0, paths
