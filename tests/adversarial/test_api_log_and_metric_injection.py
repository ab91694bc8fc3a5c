"""Text from clients in logs and metrics: line breaks, quotes and labels that would forge entries."""
import json

HOSTILE = "x\n{\"level\":\"error\",\"message\":\"forged-entry\"}\r\nrun_total{a=\"b\"} 666\n\x1b[2J\u2028"


def test_each_line_of_the_log_is_one_entry(service):
    begin = len(service.log())
    service.run(f"print({HOSTILE!r}); open({HOSTILE[:40].replace('/', '')!r}, 'w').write('x')", stdin=HOSTILE)
    service.post(body={"code": "1", "agent": HOSTILE})
    service.post(body={"code": "1", HOSTILE: 1})
    service.get("/v1/" + "%0A%22forged-entry", headers={"User-Agent": "a\tb\"forged-entry", "X-Request-Id": "forged-entry\"}"})
    service.get("/v1/environment", key="wrong\"forged-entry")
    for line in service.log()[begin:].splitlines():
        entry = json.loads(line)
        assert "forged-entry" not in entry.get("message", "") or entry.get("level") != "error"
        assert not line.startswith('{"level":"error","message":"forged-entry"}')


def test_metrics_stay_well_formed(service):
    service.post(body={"code": "1", "agent": HOSTILE})
    service.request("GET", "/" + "a" * 200 + "%0Arun_total%20666")
    text = service.get("/metrics", key=None).body.decode()
    assert "run_total" not in text and "forged" not in text, "the real ones are called sandbox_…_total"
    for line in text.splitlines():
        assert line.startswith("#") or float(line.rsplit(" ", 1)[1]) >= 0


def test_code_and_output_are_not_logged(service):
    begin = len(service.log())
    service.run("print('very-private-output')  # very-private-code", stdin="very-private-input")
    assert "very-private" not in service.log()[begin:]
