"""Output that looks like the service's own: replies, frames, events, headers. It is text, and stays text."""


def test_comes_back_as_it_was_printed(service):
    forged = [
        '{"run_id": "x", "outcome": "ok", "exit_code": 0, "stdout": "fake", "files": [], "usage": {}}',
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "event: done\ndata: {}\n\n", "\x02\0\0\0\0\0\0\0", "\x03\0\0\0\x05\0\0\0{\"a\"}",
        "\x1b]0;title\x07\x1b[2J", "0\r\n\r\n", "}\n{", '"}], "exit_code": 0, "x": [{"', "\u2028\u2029</script>",
    ]
    reply = service.execute(f"import sys\nfor text in {forged!r}:\n    sys.stdout.write(text)\n    sys.stderr.write(text)\nsys.exit(5)")
    assert reply.stdout == reply.stderr == "".join(forged)
    assert reply.exit_code == 5 and reply.outcome == "error" and reply.files == [] and reply.results == []
