"""Times are measured outside: a snippet that changes what clocks say to itself changes no measurement."""


def test_usage_is_true(service):
    reply = service.run("""
        import time
        time.time = time.monotonic = time.perf_counter = lambda: 0.0
        end = time.process_time() + 0.5
        while time.process_time() < end: pass
        """)
    assert reply.usage["wall_ms"] >= 450 and reply.usage["cpu_ms"] >= 400


def test_the_limit_is_true_for_a_process_that_sleeps_in_pieces(service):
    reply = service.execute("import time\nwhile True: time.sleep(0.001)", timeout_s=0.7)
    assert reply.outcome == "timeout" and 650 <= reply.usage["wall_ms"] < 1500
