"""Finding processes of the host or of others by their numbers, and what they say about themselves."""


def test_only_the_room(service):
    with service.hold("import subprocess; subprocess.Popen(['sleep', '30'])"):
        reply = service.run("""
            import os, subprocess
            print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()))
            print([pid for pid in range(3, 5000) if os.path.exists(f"/proc/{pid}")])
            print(subprocess.run("cat /proc/[0-9]*/cmdline | tr '\\\\0' ' '", shell=True, capture_output=True, text=True).stdout)
            """)
    lines = reply.stdout.splitlines()
    assert set(eval(lines[0])) <= {1, 2} and lines[1] == "[]"
    assert "sleep 30" not in reply.stdout and "sandboxd" not in reply.stdout and str(service.pid) not in lines[0]


def test_arguments_of_its_own_process_tell_nothing(service):
    reply = service.run("print(open('/proc/self/cmdline').read().split('\\0')); print(open('/proc/self/comm').read())")
    for word in (str(service.folder), "SANDBOX", service.key, "build", "uid"):
        assert word not in reply.stdout
