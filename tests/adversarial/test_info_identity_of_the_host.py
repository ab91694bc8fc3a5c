"""Names and numbers by which a host can be recognised or attacked."""
import os
from pathlib import Path


def test_files_that_name_it_are_not_there(service):
    reply = service.run("""
        import os
        paths = ["/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/cmdline", "/proc/version", "/proc/cpuinfo", "/proc/sys/kernel/random/boot_id",
                 "/sys/class/dmi/id/product_uuid", "/etc/ssh", "/root/.ssh", "/etc/shadow", "/etc/sudoers", "/var/log", "/boot", "/.dockerenv", "/run/secrets",
                 "/var/run/secrets/kubernetes.io", "/var/run/docker.sock", "/proc/self/loginuid", "/proc/self/sessionid"]
        print([path for path in paths if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)) and (os.path.isdir(path) or open(path).read().strip())])
        """)
    assert set(eval(reply.stdout)) <= {"/proc/self/loginuid", "/proc/self/sessionid"}


def test_names_of_the_host_appear_nowhere(service):
    words = {os.uname().nodename, Path("/proc/sys/kernel/random/boot_id").read_text().strip(), str(service.data_dir), str(service.folder)}
    if Path("/etc/machine-id").exists():
        words.add(Path("/etc/machine-id").read_text().strip())
    reply = service.run("""
        import os, socket, subprocess
        print(os.uname(), socket.gethostname())
        for path in ("/etc/hostname", "/etc/hosts"):
            print(open(path).read() if os.path.exists(path) else "")
        for name in ("mountinfo", "mounts", "mountstats", "cgroup", "cmdline", "environ", "maps", "status", "stat", "limits", "io", "auxv", "net/unix", "net/tcp", "net/arp"):
            try:
                print(name, open("/proc/self/" + name, errors="replace").read())
            except OSError:
                pass
        """)
    for word in words:
        if len(word) > 3:
            assert word not in reply.stdout, word
    assert "status" in reply.stdout and "mountinfo" in reply.stdout
