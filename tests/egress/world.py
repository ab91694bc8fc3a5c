"""Two network namespaces joined by a veth pair: a host that has a public address, and the internet that it reaches.

Neither has a way out of this machine. Programs are started on the host with ``World.host_command``.
"""

import json
import pathlib
import subprocess
import sys

from support.network import ip

from egress import internet

HERE = pathlib.Path(__file__).resolve().parent
HOST_ADDRESSES = ("198.41.0.10/24", "10.7.7.1/24")
HOST_ADDRESSES_6 = ("2a00:1450:7::10/64", "fd00:7::1/64")
VIRTUAL = "198.41.99.9"  # a route makes it local, no interface has it
ROUTERS = ("198.41.0.1/24", "2a00:1450:7::1/64")
NEIGHBOURS = ("10.7.7.9/24", "fd00:7::9/64")  # so that the internet's side knows its way back


class World:
    def __init__(self, folder):
        self.certificate = folder / "certificate.pem"
        self.make_certificate()
        self.host = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo in; read _"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.host.stdout.readline() == "in\n"
        self.internet = subprocess.Popen(
            ["unshare", "--net", sys.executable, "-B", str(HERE / "internet.py"), str(self.certificate)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert json.loads(self.internet.stdout.readline()) == "in"
        self.join()
        assert self.ask("listen") == "listening"

    def make_certificate(self):
        names = "subjectAltName=DNS:public.test,DNS:alias.test,DNS:v4only.test,IP:93.184.216.34"
        key = self.certificate.with_suffix(".key")
        subprocess.run(
            [
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=public.test",
                "-addext",
                names,
                "-keyout",
                key,
                "-out",
                self.certificate,
            ],
            check=True,
            capture_output=True,
            timeout=30,
        )
        self.trust = self.certificate.read_text()  # rooms may not read the folder
        self.certificate.write_text(self.trust + key.read_text())

    def join(self):
        here, there = self.host.pid, self.internet.pid
        ip("link", "add", "out0", "type", "veth", "peer", "name", "in0", "netns", str(there), pid=here)
        for pid, device in ((here, "out0"), (there, "in0")):
            ip("link", "set", "lo", "up", pid=pid)
            ip("link", "set", device, "up", pid=pid)
        for address in HOST_ADDRESSES:
            ip("addr", "add", address, "dev", "out0", pid=here)
        for address in HOST_ADDRESSES_6:
            ip("addr", "add", address, "dev", "out0", "nodad", pid=here)
        own = [
            ROUTERS[0],
            NEIGHBOURS[0],
            *(
                f"{each}/32"
                for each in (
                    *internet.WEB,
                    internet.ECHO,
                    internet.SILENT,
                    internet.RESET,
                    internet.STREAM,
                    internet.NAME_SERVER,
                    internet.SECOND_NAME_SERVER,
                )
                if ":" not in each
            ),
        ]
        own6 = [ROUTERS[1], NEIGHBOURS[1], *(f"{each}/128" for each in internet.WEB if ":" in each)]
        for address in own:
            ip("addr", "add", address, "dev", "in0", pid=there)
        for address in own6:
            ip("addr", "add", address, "dev", "in0", "nodad", pid=there)
        ip("route", "add", "default", "via", ROUTERS[0].partition("/")[0], pid=here)
        for network in ("2606:2800::/32", "64:ff9b::/96"):
            ip("-6", "route", "add", network, "via", ROUTERS[1].partition("/")[0], pid=here)
        ip("route", "add", "169.254.169.254", "dev", "out0", pid=here)
        ip("route", "add", "local", VIRTUAL, "dev", "lo", pid=here)

    def host_command(self, *command):
        return ["nsenter", "--target", str(self.host.pid), "--net", *map(str, command)]

    def on_host(self, code, *arguments):
        """Python that is not confined in any way, on the host: what it reaches can be reached."""
        done = subprocess.run(
            self.host_command("/usr/bin/python3", "-B", "-c", code, *arguments),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, what):
        self.internet.stdin.write(what + "\n")
        self.internet.stdin.flush()
        return json.loads(self.internet.stdout.readline())

    def queries(self):
        return self.ask("queries")

    def visits(self):
        return self.ask("visits")

    def close(self):
        for process in (self.internet, self.host):
            process.stdin.close()
            process.wait(10)
