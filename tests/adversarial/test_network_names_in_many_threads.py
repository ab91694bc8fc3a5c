"""Name look-ups by getaddrinfo in many threads and processes: each fails at once, none hangs, none is seen outside."""
from support import unconfined
from support.network import NAME

CODE = f"""
    import socket, time
    from concurrent.futures import ThreadPoolExecutor
    def look(number):
        began = time.monotonic()
        try:
            socket.getaddrinfo(f"host{{number}}.{NAME}", 80)
            return "found", time.monotonic() - began
        except socket.gaierror:
            return "error", time.monotonic() - began
    with ThreadPoolExecutor(32) as pool:
        results = list(pool.map(look, range(64)))
    print(sorted({{text for text, _ in results}}), max(seconds for _, seconds in results) < 1.5)
"""


def test_fail_at_once(service, outside):
    outside.arrived()
    assert service.run(CODE).stdout == "['error'] True\n"
    assert outside.arrived() == {}


def test_control_names_resolve_outside(service, outside):
    assert unconfined.run(CODE, mount_binds=outside.binds).startswith("['found']")


def test_asyncio_and_urllib(service):
    reply = service.run("""
        import asyncio, time, urllib.request
        began = time.monotonic()
        async def look():
            try:
                await asyncio.get_running_loop().getaddrinfo("example.com", 80)
            except OSError as problem:
                return type(problem).__name__
        print(asyncio.run(look()))
        try:
            urllib.request.urlopen("https://example.com", timeout=10)
        except OSError as problem:
            print("refused")
        print(time.monotonic() - began < 2)
        """)
    assert reply.stdout == "gaierror\nrefused\nTrue\n"
