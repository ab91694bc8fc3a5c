"""No network at all, seen from inside, from the host and from the other end of the wire.

Every refusal has a control: a process that is not confined, beside the service in the same network namespace, reaches
what the sandbox does not, on IPv4, on IPv6 and by name.
"""
import json

import pytest

from support import network, unconfined
from support.network import FAR_4, FAR_6, METADATA, NAME

PROBE = """
    import json, socket, time, urllib.request
    def fetch(url):
        began = time.monotonic()
        try:
            text = urllib.request.urlopen(url, timeout=5).read().decode()
        except OSError as problem:
            text = "refused"
        return [text, time.monotonic() - began]
    print(json.dumps(fetch({url!r})))
"""
URLS = {"IPv4": f"http://{FAR_4}/", "IPv6": f"http://[{FAR_6}]/", "name": f"http://{NAME}/", "metadata": f"http://{METADATA}/latest/"}


def test_the_namespace_of_the_tests_has_no_way_out(service):
    assert network.default_routes() == []
    assert network.namespace_of(service.pid) == network.namespace_of() == network.namespace_of(service.api_pid)
    assert network.namespace_of() != network.HOST_NAMESPACE


@pytest.mark.parametrize("kind", URLS)
def test_control_an_unconfined_process_gets_there(service, outside, kind):
    outside.arrived()
    text, _ = json.loads(unconfined.run(PROBE.format(url=URLS[kind]), mount_binds=outside.binds))
    assert text == "reached"
    assert sum(outside.arrived().values()) > 0, "the counter of packets works"


@pytest.mark.parametrize("kind", URLS)
def test_a_snippet_does_not_and_says_so_at_once(service, outside, kind):
    outside.arrived()
    text, seconds = service.run(PROBE.format(url=URLS[kind])).printed
    assert text == "refused" and seconds < 1
    assert outside.arrived() == {}, "not a single packet"


@pytest.mark.parametrize("place", ["child process", "shell", "thread"])
def test_nor_do_its_children(service, outside, place):
    outside.arrived()
    body = {
        "child process": f"subprocess.run([sys.executable, '-c', 'import socket; socket.create_connection((\"{FAR_4}\", 80), 2)'])",
        "shell": f"subprocess.run(['bash', '-c', 'echo x > /dev/tcp/{FAR_4}/80']) if os.path.exists('/bin/bash') else "
                 f"subprocess.run('echo x > /dev/tcp/{FAR_4}/80', shell=True)",
        "thread": f"concurrent.futures.ThreadPoolExecutor(4).submit(socket.create_connection, ('{FAR_4}', 80), 2).exception()",
    }[place]
    reply = service.run(f"""
        import concurrent.futures, os, socket, subprocess, sys
        print(getattr({body}, "returncode", "refused"))
        """)
    assert reply.stdout.strip() not in ("0", "None")
    assert outside.arrived() == {}


def test_name_lookup_fails_fast_with_an_ordinary_error(service):
    reply = service.run("""
        import json, socket, time
        times = []
        for name in ("example.com", "outside.test", "a.b.c.d.example", "localhost.localdomain", "xn--bcher-kva.example"):
            began = time.monotonic()
            try:
                socket.getaddrinfo(name, 80)
                print("resolved", name)
            except socket.gaierror as problem:
                pass
            times.append(time.monotonic() - began)
        print(json.dumps(max(times)))
        """)
    assert float(reply.stdout) < 1.0


def test_interfaces_seen_from_inside(service):
    reply = service.run("""
        import os, socket
        try:
            print(socket.if_nameindex())
        except OSError as problem:
            print("refused")
        print(os.path.exists("/sys/class/net"))
        """)
    assert reply.stdout in ("refused\nFalse\n", "[(1, 'lo')]\nFalse\n")


def test_local_sockets_work(service):
    reply = service.run("""
        import socket
        a, b = socket.socketpair(); a.sendall(b"x"); print(b.recv(1))
        server = socket.socket(socket.AF_UNIX); server.bind("/tmp/s"); server.listen()
        client = socket.socket(socket.AF_UNIX); client.connect("/tmp/s"); print("connected")
        """)
    assert reply.stdout == "b'x'\nconnected\n"
