"""What a tool call reaches and what it does not, over the egress process, in a world of namespaces.

Everything that is refused here is reached by an unconfined process on the same host: a test of its own says so.
"""

import json

import subprocess

import pytest

from egress import internet
from egress.world import VIRTUAL

# Prints what came of each URL, as JSON; the trust in the world's certificate is the first argument.
FETCH = """
import json, ssl, sys, urllib.request
context = ssl.create_default_context(cadata=sys.argv[1])
found = []
for url in sys.argv[2:]:
    try:
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
        found.append(opener.open(url, timeout=20).read().decode()[:40])
    except OSError as error:
        found.append(type(getattr(error, "reason", error)).__name__)
print(json.dumps(found))
"""
HELLO = "hello from outside"
# Spellings of what must not be reached, and the address that they come to; None: the C library takes none of it.
FORBIDDEN = {
    "http://10.7.7.7/hello": "10.7.7.7",
    "http://169.254.169.254/latest/meta-data/": "169.254.169.254",
    "http://168232711/hello": "10.7.7.7",
    "http://0xa070707/hello": "10.7.7.7",
    "http://012.07.07.07/hello": "10.7.7.7",
    "http://10.7.1799/hello": "10.7.7.7",
    "http://[::ffff:10.7.7.7]/hello": "10.7.7.7",
    "http://[::ffff:a07:707]/hello": "10.7.7.7",
    "http://[64:ff9b::a07:707]/hello": "64:ff9b::a07:707",
    "http://[fd00:7::7]/hello": "fd00:7::7",
    "http://127.0.0.1/": "127.0.0.1",
    "http://[::1]/": "::1",
    "http://0.0.0.0/": "127.0.0.1",
    "http://198.41.0.10/": "198.41.0.10",
    "http://[2a00:1450:7::10]/": "2a00:1450:7::10",
    f"http://{VIRTUAL}/": VIRTUAL,
}
# A server on every address of the host itself; prints once it listens.
HOST_SERVER = """
import http.server, socket
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "18")
        self.end_headers()
        self.wfile.write(b"hello from outside")
    def log_message(self, *_): pass
server = Server(("::", 80), Handler)
print("listening", flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module", autouse=True)
def host_server(world):
    process = subprocess.Popen(world.host_command("/usr/bin/python3", "-B", "-c", HOST_SERVER), stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"listening\n"
    yield
    process.kill()
    process.wait()


def fetch(world, room, *urls, environment=""):
    return json.loads(room.run(environment + FETCH, world.trust, *urls))


def test_control_an_unconfined_process_reaches_all_of_it(world):
    urls = list(FORBIDDEN)
    assert json.loads(world.on_host(FETCH, world.trust, *urls)) == [HELLO] * len(urls)


def test_a_public_host_over_http_and_https(world, shared_egress):
    room = shared_egress.room()
    reply = room.run(
        """
        import socket, ssl, sys
        for address in sys.argv[2:4]:
            for port in (80, 443):
                plain = socket.create_connection((address, port), timeout=20)
                secure = ssl.create_default_context(cadata=sys.argv[1])
                secure.check_hostname = False
                connection = secure.wrap_socket(plain, server_hostname="public.test") if port == 443 else plain
                connection.sendall(b"GET /hello HTTP/1.0\\r\\nHost: public.test\\r\\n\\r\\n")
                data = b""
                while part := connection.recv(65536):
                    data += part
                print(data.rpartition(b"\\r\\n\\r\\n")[2].decode())
        """,
        world.trust,
        internet.PUBLIC,
        internet.PUBLIC_6,
    )
    assert reply.splitlines() == [HELLO] * 4
    records = room.detach()
    assert [record.brief for record in records] == [
        ("allowed", "public", address, port) for address in (internet.PUBLIC, internet.PUBLIC_6) for port in (80, 443)
    ]
    assert [record.host for record in records] == ["public.test"] * 4
    assert all(record.sent > 30 and record.received > 50 for record in records)


def test_by_name(world, room):
    urls = [
        "http://public.test/hello",
        "https://public.test/hello",
        "https://alias.test/hello",
        "http://mixed.test/hello",
    ]
    assert fetch(world, room, *urls) == [HELLO] * 4
    records = room.detach()
    assert [(record.decision, record.host, record.port) for record in records] == [
        ("allowed", "public.test", 80),
        ("allowed", "public.test", 443),
        ("allowed", "alias.test", 443),
        ("allowed", "mixed.test", 80),
    ]
    assert {record.address for record in records} <= {internet.PUBLIC, internet.PUBLIC_6}


@pytest.mark.parametrize("url", FORBIDDEN)
def test_refused_at_once(world, room, url):
    world.visits()
    assert fetch(world, room, url) == ["ConnectionResetError"]
    (record,) = room.detach()
    assert (record.decision, record.rule, record.address) == ("refused", "reserved", FORBIDDEN[url])
    assert record.sent == record.received == 0
    assert world.visits() == []


def test_a_refusal_takes_no_time(room):
    took = float(room.run("""
        import socket, time
        began = time.monotonic()
        for address in ("10.7.7.7", "169.254.169.254", "fd00:7::7", "198.41.0.10"):
            try:
                socket.create_connection((address, 443), timeout=20).recv(1)
                raise SystemExit("not refused")
            except ConnectionError:
                pass
        print(time.monotonic() - began)
        """))
    assert took < 2


def test_a_redirect_into_the_forbidden(world, room):
    targets = [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:10.7.7.7]/hello",
        "http://private.test/hello",
    ]
    assert fetch(world, room, *(f"http://public.test/redirect?to={to}" for to in targets)) == [
        "ConnectionResetError",
        "ConnectionResetError",
        "gaierror",
    ]
    refused = [record for record in room.detach() if record.decision != "allowed"]
    assert [(record.rule, record.address, record.host) for record in refused] == [
        ("reserved", "169.254.169.254", ""),
        ("reserved", "10.7.7.7", ""),
        ("name", refused[2].address, "private.test"),
    ]
    assert [visit for visit in world.visits() if "/redirect" not in visit] == []


def test_a_redirect_to_where_it_may_go(world, room):
    assert fetch(world, room, "http://public.test/redirect?to=https://v4only.test/hello") == [HELLO]


def test_a_name_that_changes(world, room):
    """Rebinding: the name is asked for twice, and the second time it leads to the metadata of a cloud."""
    reply = room.run("""
        import socket
        first = socket.getaddrinfo("rebind.test", 80, socket.AF_INET, socket.SOCK_STREAM)[0][4]
        print(first[0])
        try:
            print(socket.getaddrinfo("rebind.test", 80, socket.AF_INET, socket.SOCK_STREAM))
        except socket.gaierror:
            print("no address")
        """)
    assert reply.split("\n")[:2] == [internet.PUBLIC, "no address"]


def test_proxies_of_the_environment(world, room):
    """A proxy is a host like any other: one at a private address is refused, and so is what it would have fetched."""
    proxied = "import os; os.environ['http_proxy'] = 'http://10.7.7.7:80'\n"
    assert fetch(world, room, "http://public.test/hello", environment=proxied) == ["ConnectionResetError"]
    assert world.visits() == []


@pytest.mark.parametrize(
    "request_line", ["GET http://10.7.7.7/hello HTTP/1.0", "GET /hello HTTP/1.0\r\nHost: 10.7.7.7"]
)
def test_what_a_request_says_changes_nothing(world, room, request_line):
    """A host's name in the request has no say: it goes where it was addressed to, and is served from there."""
    room.run(
        """
        import socket, sys
        connection = socket.create_connection((sys.argv[1], 80), timeout=20)
        connection.sendall(sys.argv[2].encode() + b"\\r\\n\\r\\n")
        while connection.recv(65536):
            pass
        """,
        internet.PUBLIC,
        request_line,
    )
    assert [visit.split()[0] for visit in world.visits()] == [internet.PUBLIC]


def test_other_ports_and_protocols(room):
    found = json.loads(room.run("""
        import errno, json, socket, time
        def attempt(family, kind, address, port):
            began = time.monotonic()
            try:
                with socket.socket(family, kind, port if kind == socket.SOCK_RAW else 0) as sock:
                    sock.settimeout(5)
                    sock.connect((address, port))
                    sock.send(b"x")
                    sock.recv(1)
                    return "reached"
            except OSError as error:
                assert time.monotonic() - began < 2
                return errno.errorcode.get(error.errno, str(error))
        V4, V6, TCP, UDP = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
        print(json.dumps([attempt(*each) for each in (
            (V4, TCP, "93.184.216.34", 22), (V4, TCP, "93.184.216.34", 8000), (V6, TCP, "2606:2800:220::34", 8000),
            (V4, UDP, "93.184.216.34", 443), (V6, UDP, "2606:2800:220::34", 443), (V4, UDP, "93.184.216.34", 123),
            (V4, socket.SOCK_RAW, "93.184.216.34", socket.IPPROTO_ICMP),
            (socket.AF_PACKET, socket.SOCK_RAW, "lo", 0))]))
        """))
    assert found == ["ECONNREFUSED"] * 6 + ["EPERM"] * 2
    assert room.detach() == []


def test_a_host_without_ipv6(world, room):
    """A room's listeners are then of the other family alone."""
    process = room.start(FETCH, world.trust, "http://public.test/hello", "http://10.7.7.7/", ports=["without-ipv6"])
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0 and json.loads(out) == [HELLO, "ConnectionResetError"], err.decode()
    assert [(record.address, record.host) for record in room.detach()] == [
        (internet.PUBLIC, "public.test"),
        ("10.7.7.7", ""),
    ]


def test_no_other_sandbox_is_reached(world, shared_egress):
    """Two rooms have the same addresses, and each has them for itself."""
    listening = shared_egress.room()
    server = listening.start("""
        import socket
        for address in ("0.0.0.0", "::"):
            sock = socket.create_server((address, 8080), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
        print("listening", flush=True)
        sock.accept()
        """)
    assert server.stdout.readline() == b"listening\n"
    asking = shared_egress.room()
    reply = asking.run("""
        import socket
        for address in ("127.0.0.1", "::1", "10.0.0.1", "93.184.216.34"):
            try:
                socket.create_connection((address, 8080), timeout=5)
                print("reached")
            except ConnectionRefusedError:
                print("refused")
        """)
    assert reply.split() == ["refused"] * 4
    server.kill()
    server.communicate()
    listening.detach()
    asking.detach()


def test_where_nobody_answers(world, room):
    assert fetch(world, room, "https://other.test/hello") == ["ConnectionResetError"]
    (record,) = room.detach()
    assert record.brief == ("failed", "unreachable", "93.184.216.39", 443) and record.host == "other.test"
