"""There is no network: names do not resolve, addresses cannot be reached, and both fail at once."""
import socket
import time

for what, attempt in (
    ("look up example.com", lambda: socket.getaddrinfo("example.com", 443)),
    ("connect to 192.0.2.1", lambda: socket.create_connection(("192.0.2.1", 443), timeout=5)),
    ("connect to the host's loopback", lambda: socket.create_connection(("127.0.0.1", 8080), timeout=5)),
):
    began = time.monotonic()
    try:
        attempt()
        print(f"{what}: reached it")
    except OSError as problem:
        quick = "at once" if time.monotonic() - began < 1 else "slowly"
        print(f"{what}: refused {quick} ({type(problem).__name__})")
