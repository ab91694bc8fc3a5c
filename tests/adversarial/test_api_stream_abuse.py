"""Streams that are opened and left, read slowly, or cut at every event."""
import time


def test_cut_at_every_event(service):
    for stop_after in range(1, 8):
        stream = service.stream("import time\nfor n in range(5):\n    print(n, flush=True); time.sleep(0.02)\nopen('f', 'w').write('x')")
        for count, _ in enumerate(stream, 1):
            if count == stop_after:
                break
        stream.close()
    assert service.run("print(1)").stdout == "1\n"


def test_many_that_nobody_reads(service):
    streams = [service.stream("import os\nfor _ in range(200): os.write(1, b'x' * 50000)", timeout_s=2) for _ in range(6)]
    began = time.monotonic()
    assert service.run("print(1)").stdout == "1\n"
    assert time.monotonic() - began < 6
    for stream in streams:
        stream.close()
    assert service.api.resident_bytes < 400 << 20
