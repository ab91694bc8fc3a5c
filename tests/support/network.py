"""Network namespaces for the tests: the whole test run lives in one that has no way out.

`enter_private_namespace` moves the test process, and with it every service that it starts, into a fresh namespace with
nothing but a loopback. `Outside` adds a second namespace, joined by a veth pair, in which a few listeners stand for the
internet: a web server on IPv4 and IPv6, a name server, the address that clouds use for their metadata. It shows that an
unconfined process beside the service reaches all of this, and counts every packet that arrives there.
"""
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
HOST_NAMESPACE = os.readlink("/proc/self/ns/net")  # read before anybody can have left it
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

# Addresses that are set aside for documentation, and the one of cloud metadata.
NEAR_4, FAR_4 = "203.0.113.1", "203.0.113.2"
NEAR_6, FAR_6 = "2001:db8::1", "2001:db8::2"
METADATA = "169.254.169.254"
NAME = "outside.test"


def enter_private_namespace():
    """Only root can; says whether it was done. The mounts become the tests' own as well: what other people mount and
    unmount on the machine meanwhile is not to be taken for something that the service has left behind."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    with socket.socket() as sock:
        request = struct.pack("16sH14x", b"lo", 0)
        flags, = struct.unpack("16xH14x", fcntl.ioctl(sock, SIOCGIFFLAGS, request))
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | IFF_UP))
    return True


def ip(*arguments, pid=None):
    command = ["ip", *arguments]
    if pid is not None:
        command = ["nsenter", "--target", str(pid), "--net", *command]
    subprocess.run(command, check=True, timeout=20)


class Outside:
    """The second namespace. `resolv_conf` makes an ordinary resolver ask its name server."""

    def __init__(self, folder):
        self.resolv_conf = Path(folder) / "resolv.conf"
        self.resolv_conf.write_text(f"nameserver {FAR_4}\noptions timeout:1 attempts:1\n")
        self.nsswitch = Path(folder) / "nsswitch.conf"
        self.nsswitch.write_text("passwd: files\ngroup: files\nhosts: files dns\n")
        self.process = subprocess.Popen(
            ["unshare", "--net", sys.executable, str(Path(__file__).with_name("outside_listeners.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert json.loads(self.process.stdout.readline()) == "in"
        ip("link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", str(self.process.pid))
        ip("addr", "add", f"{NEAR_4}/24", "dev", "near0")
        ip("-6", "addr", "add", f"{NEAR_6}/64", "dev", "near0", "nodad")
        ip("link", "set", "near0", "up")
        ip("route", "add", METADATA + "/32", "dev", "near0")
        pid = self.process.pid
        ip("link", "set", "lo", "up", pid=pid)
        ip("addr", "add", f"{FAR_4}/24", "dev", "far0", pid=pid)
        ip("addr", "add", f"{METADATA}/32", "dev", "far0", pid=pid)
        ip("-6", "addr", "add", f"{FAR_6}/64", "dev", "far0", "nodad", pid=pid)
        ip("link", "set", "far0", "up", pid=pid)
        assert self.ask("listen") == "listening"

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def arrived(self):
        """What has come in since the last time: {kind: count}, neighbour discovery left out."""
        return self.ask("report")

    @property
    def binds(self):
        """For support.service.private_mounts: a process beside the service can look names up."""
        wanted = [(self.resolv_conf, "/etc/resolv.conf"), (self.nsswitch, "/etc/nsswitch.conf")]
        return [(source, target) for source, target in wanted if os.path.exists(target)]

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)  # the veth pair goes with its namespace


def default_routes():
    """Routes that lead anywhere: there must be none in the namespace of the tests."""
    found = subprocess.run(["ip", "route", "show", "default"], capture_output=True, text=True, timeout=20, check=True)
    found6 = subprocess.run(["ip", "-6", "route", "show", "default"], capture_output=True, text=True, timeout=20, check=True)
    return (found.stdout + found6.stdout).split("\n")[:-1]


def namespace_of(pid="self"):
    return os.readlink(f"/proc/{pid}/ns/net")
