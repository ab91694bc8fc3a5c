"""What a monitoring system gets: metrics that Prometheus really scrapes, alerts and a dashboard that name what there is,
and traces that go on."""
import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from support.harness import HttpSide
from support.host import wait_until
from support.service import free_port

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
RULES = PACKAGING / "prometheus"
DASHBOARD = PACKAGING / "grafana" / "code-sandbox.json"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


def promtool(*words, given=None, folder=RULES):
    assert shutil.which("promtool"), "promtool is missing: scripts/install-packages --test"
    return subprocess.run(["promtool", *words], input=given, cwd=folder, capture_output=True, timeout=60)


def names_in(text):
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bsandbox_[a-z_]+\b", text)}


def described(page):
    return set(re.findall(r"^# TYPE (\w+) ", page, re.M))


def test_the_rules_are_good_and_mean_what_their_examples_say():
    checked = promtool("check", "rules", "alerts.yml")
    assert checked.returncode == 0 and b"10 rules found" in checked.stdout, checked
    assert promtool("check", "config", "prometheus.yml").returncode == 0
    tried = promtool("test", "rules", "alerts_test.yml")
    assert tried.returncode == 0, tried


def test_the_page_is_as_prometheus_wants_it(service):
    service.execute("print(1)")
    response = service.get("/metrics", key=None)
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    checked = promtool("check", "metrics", given=response.body)
    assert checked.returncode == 0 and not checked.stderr, checked
    page = response.body.decode()
    assert re.search(r'^sandbox_info\{version="[^"]+"\} 1$', page, re.M)


def test_alerts_and_dashboard_name_what_there_is(http_side):
    there = described(http_side.get("/metrics", key=None).body.decode())
    for text in ((RULES / "alerts.yml").read_text(), DASHBOARD.read_text()):
        assert names_in(text) and names_in(text) <= there, names_in(text) - there


def test_kept_bytes_are_counted(http_side):
    def kept():
        page = http_side.get("/metrics", key=None).body.decode()
        return [int(float(re.search(rf"^sandbox_kept_{what} (\S+)$", page, re.M)[1])) for what in ("bytes", "files")]

    before = kept()
    _, key = http_side.new_project()
    http_side.keep("talk", [("a.txt", "text/plain", b"x" * 5000)], key=key)
    after = kept()
    assert after[0] - before[0] >= 5000 and after[1] - before[1] == 1


def test_what_a_limit_has_ended_is_counted(service):
    def killed():
        page = service.get("/metrics", key=None).body.decode()
        found = re.findall(r'^sandbox_limit_kills_total{limit="(\w+)"} (\d+)$', page, re.M)
        return {limit: int(number) for limit, number in found}

    before = killed()
    for code, seconds, outcome in (("while True: pass", 0.3, "timeout"), ("x = b'x' * 900000000", 20, "out_of_memory"),
                                   ("import os\nwhile True: os.write(1, bytes(1 << 16))", 20, "output_limit"),
                                   ("1 / 0", 20, "error")):
        assert service.execute(code, timeout_s=seconds).outcome == outcome
    assert killed() == {limit: before.get(limit, 0) + 1 for limit in ("time", "memory", "output")}


@pytest.fixture
def prometheus(service, tmp_path):
    """A real one, on the loopback interface of the tests' own network namespace."""
    config = (RULES / "prometheus.yml").read_text().replace("127.0.0.1:8080", f"127.0.0.1:{service.port}")
    shutil.copy(RULES / "alerts.yml", tmp_path)
    (tmp_path / "prometheus.yml").write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n" + config)
    port = free_port()
    process = subprocess.Popen(["prometheus", f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.path=data",
                                "--config.file=prometheus.yml"], cwd=tmp_path, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)

    def ask(path, **query):
        address = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)["data"]

    def is_up():
        try:
            return ask("query", query='up{job="code-sandbox"} == 1')["result"]
        except OSError:
            return None

    try:
        assert wait_until(is_up, 30, 0.2), "Prometheus has not scraped the service"
        yield ask
    finally:
        process.terminate()
        process.wait(20)


def test_prometheus_scrapes_the_service(service, prometheus):
    service.execute("print(1)")
    assert wait_until(lambda: prometheus("query", query='sandbox_runs_total{outcome="ok"} > 0')["result"], 10, 0.3)
    groups = prometheus("rules")["groups"]
    assert [rule["health"] for group in groups for rule in group["rules"]].count("ok") == 10, groups
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")
            assert prometheus("query", query=expression)["resultType"] == "vector", expression
    assert prometheus("query", query="sandbox_start_seconds_count > 0")["result"]


# ---- traces


def test_a_trace_goes_on_and_is_in_the_log(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        side = HttpSide(log=log)
        response = side.get("/v1/agents", headers={"traceparent": PARENT})
        plain = side.get("/v1/agents")
        assert side.stop() == 0
    version, trace, span, flags = response.headers["traceparent"].split("-")
    assert (version, trace, flags) == ("00", TRACE, "01") and span not in (SPAN, "0" * 16) and len(span) == 16
    assert "traceparent" not in plain.headers
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    of_requests = {line["request"]: line for line in lines if line["message"] == "request"}
    assert of_requests[response.headers["X-Request-Id"]]["trace"] == TRACE
    assert "trace" not in of_requests[plain.headers["X-Request-Id"]]


@pytest.mark.parametrize("header", [
    "", "00", PARENT[:-1], PARENT + "0", PARENT + "-more", PARENT.upper(), "ff" + PARENT[2:], f"00-{'0' * 32}-{SPAN}-01",
    f"00-{TRACE}-{'0' * 16}-01", f"00_{TRACE}-{SPAN}-01", f"00-{TRACE[:-1]}g-{SPAN}-01", "x" * 5000])
def test_what_is_no_trace_is_passed_over(http_side, header):
    response = http_side.get("/v1/agents", headers={"traceparent": header})
    assert response.status == 200 and "traceparent" not in response.headers


def test_a_later_version_of_the_header_is_understood(http_side):
    response = http_side.get("/v1/agents", headers={"traceparent": "01" + PARENT[2:] + "-more"})
    assert response.headers["traceparent"].startswith(f"00-{TRACE}-")


def test_a_run_is_found_by_its_trace(service):
    reply = service.post(body={"code": "print('not-in-the-log')"}, headers={"traceparent": PARENT})
    started = time.monotonic()
    line = None
    while line is None and time.monotonic() - started < 5:
        lines = [json.loads(text) for text in service.log().splitlines() if text.startswith("{")]
        ended = [one for one in lines if one["message"] == "run ended"]
        line = next((one for one in ended if one["run"] == reply.json["run_id"]), None)
    assert line["trace"] == TRACE and line["request"] == reply.headers["X-Request-Id"]
    assert line["project"] == "default" and line["sandbox"] == reply.json["sandbox_id"] and line["outcome"] == "ok"
    assert "not-in-the-log" not in service.log()
