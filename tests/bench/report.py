"""Tables for people, results.json for programs, and the targets."""
import json
import os
import platform
import subprocess
from pathlib import Path

# (what, which figure or ratio, at most or at least, the number, unit)
TARGETS = (
    ("claim to first instruction, p50", "print_start", "at most", 1.0, "ms"),
    ("print(1) over HTTP, p50", "print_http", "at most", 4.0, "ms"),
    ("print(1) over HTTP: times as quick as bubblewrap", "print", "at least", 8.0, "×"),
    ("pandas describe over HTTP: times as quick as bubblewrap", "describe", "at least", 8.0, "×"),
    ("private memory of a parked sandbox, p50", "parked_private", "at most", 15.0, "MB"),
    ("a tool call over HTTP: times as long as by crun", "call", "at most", 1.5, "×"),
    ("`x` in a live session over HTTP, p50", "session_call", "at most", 4.0, "ms"),
    ("a conversation and its kept 1 MB file add, p50", "file_added", "at most", 5.0, "ms"),
    ("list of 10,000 conversations, p95", "conversations_list", "at most", 20.0, "ms p95"),
    ("opening one of 10,000 conversations, p95", "conversation_open", "at most", 20.0, "ms p95"),
)


def host_facts():
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "virtual_machine": "hypervisor" in _cpu_line("flags").split(),
        "load_average_before": os.getloadavg()[0],
    }


def _cpu_line(name):
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.split(":")[0].strip() == name:
            return line.partition(":")[2].strip()
    return ""


def _cpu_model():
    return _cpu_line("model name") or platform.processor() or "unknown"


def revision(repository):
    """The commit that is measured, if the sources are under version control."""
    command = ["git", "-C", str(repository), "describe", "--always", "--dirty"]
    answer = subprocess.run(command, capture_output=True, text=True)
    return answer.stdout.strip() or None


def ratios(figures, compared):
    """How many times as quick the service is, medians of runs that alternated."""
    found = {}
    for snippet in compared:
        found[snippet.name] = {
            "title": f"{snippet.title}: bubblewrap / service over HTTP",
            "p50": figures[f"{snippet.name}_bwrap"].p50 / figures[f"{snippet.name}_http"].p50,
            "p95": figures[f"{snippet.name}_bwrap"].percentile(95) / figures[f"{snippet.name}_http"].percentile(95),
        }
    found["call"] = {
        "title": "a tool call: service over HTTP / crun",
        "p50": figures["call_http"].p50 / figures["call_crun"].p50,
        "p95": figures["call_http"].percentile(95) / figures["call_crun"].percentile(95),
    }
    return found


def judge(figures, found_ratios):
    verdicts = []
    for title, name, direction, limit, unit in TARGETS:
        percent = 95 if unit.endswith("p95") else 50
        value = found_ratios[name]["p50"] if unit == "×" else figures[name].percentile(percent)
        met = value <= limit if direction == "at most" else value >= limit
        verdicts.append(
            {"title": title, "value": value, "direction": direction, "limit": limit, "unit": unit, "met": met})
    return verdicts


def _number(value):
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def _rows(figures, names):
    for name in names:
        samples = figures[name]
        if len(samples) == 1:
            yield (samples.title, "", _number(samples.p50), "", "", samples.unit)
        else:
            yield (samples.title, str(len(samples)), _number(samples.p50), _number(samples.percentile(95)),
                   _number(samples.percentile(99)), samples.unit)


def table(heading, figures, names):
    rows = [(heading, "n", "p50", "p95", "p99", "")] + list(_rows(figures, names))
    first = max(len(row[0]) for row in rows)
    lines = []
    for index, row in enumerate(rows):
        lines.append(f"{row[0]:<{first}} {row[1]:>5} {row[2]:>9} {row[3]:>9} {row[4]:>9}  {row[5]}".rstrip())
        if index == 0:
            lines.append("-" * (first + 44))
    return "\n".join(lines)


def print_report(facts, versions, figures, found_ratios, verdicts, compared):
    names = [snippet.name for snippet in compared]
    print()
    print(f"{facts['cpu']}, {facts['cpus']} CPUs{' (virtual machine)' if facts['virtual_machine'] else ''}, "
          f"{facts['memory_bytes'] / 2**30:.0f} GiB, Linux {facts['kernel']}, load {facts['load_average_before']:.2f}")
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    latency = [f"{name}_{kind}" for name in names for kind in ("start", "done", "http", "bwrap")]
    latency.insert(1, "request_to_first_instruction")
    print("\n" + table("Latency, pool full", figures, latency))
    print()
    for ratio in found_ratios.values():
        print(f"{ratio['title']}: {ratio['p50']:.1f} × (medians), {ratio['p95']:.1f} × (95th percentiles)")
    print("\n" + table("Latency, pool not full", figures,
                       [f"{name}_back_to_back" for name in names] + [f"{name}_two_clients" for name in names]))
    print("\n" + table("Tool calls", figures, ["call_http", "call_room", "call_start", "call_wall", "call_crun"]))
    print("\n" + table("Conversations", figures, [
        "session_call", "session_call_done", "file_alone", "file_kept", "file_dropped", "file_added", "file_cost",
        "conversations_list", "conversation_open"]))
    print("\n" + table("Throughput", figures,
                       [f"{name}{kind}" for name in names for kind in ("_per_second", "_bwrap_per_second")]))
    print("\n" + table("Cost", figures, [
        "parked_private", "parked_pss", "parked_cgroup", "refill_template_cpu", "refill_child_cpu",
        "refill_spawner_cpu", "refill_api_cpu", "refill_wall", *(f"{name}_cpu" for name in names), "start_service"]))
    print("\nTargets")
    for verdict in verdicts:
        print(f"  {'met   ' if verdict['met'] else 'MISSED'}  {verdict['title']}: {_number(verdict['value'])} "
              f"{verdict['unit']} ({verdict['direction']} {verdict['limit']:g})")


def write_results(path, facts, versions, settings, figures, found_ratios, verdicts):
    results = {
        "host": facts,
        "versions": versions,
        "settings": settings,
        "figures": {name: samples.summary() for name, samples in figures.items()},
        "ratios": found_ratios,
        "targets": verdicts,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".json.part")
    temporary.write_text(json.dumps(results, indent=1) + "\n")
    temporary.replace(path)
