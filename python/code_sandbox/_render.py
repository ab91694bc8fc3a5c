"""A run as text for a model: everything that it needs to go on, and nothing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._models import Run

OUTPUT_MAX = 20_000  # characters of each stream that a model is shown; its window is dear

_ENDINGS = {
    "timeout": "It was stopped at its time limit.",
    "out_of_memory": "It was stopped because it needed too much memory.",
    "output_limit": "It was stopped because it printed too much.",
    "killed": "Its sandbox was lost, which is not the code's fault. Run it again.",
    "internal": "It never ran, and the fault is the service's. Run it again.",
}


def _shortened(text: str) -> str:
    if len(text) <= OUTPUT_MAX:
        return text
    half = OUTPUT_MAX // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters are left out here ...]\n{text[-half:]}"


def _block(title: str, text: str) -> str:
    return f"{title}:\n{_shortened(text).rstrip()}"


def _results(run: Run) -> list[str]:
    parts = []
    charts = sum("image/png" in result for result in run.results)
    for result in run.results:
        if "image/png" not in result and "text/plain" in result:
            parts.append(_block("value", result["text/plain"]))
    if charts:
        parts.append(f"{charts} {'chart was' if charts == 1 else 'charts were'} drawn.")
    return parts


def run_as_text(run: Run) -> str:
    parts = []
    if run.session.message:
        parts.append(run.session.message)
    if run.outcome in _ENDINGS:
        parts.append(_ENDINGS[run.outcome])
    elif run.exit_code:
        parts.append(f"It ended with exit code {run.exit_code}.")
    if run.stdout:
        parts.append(_block("stdout", run.stdout))
    if run.stderr:
        parts.append(_block("stderr", run.stderr))
    parts += _results(run)
    if run.files:
        parts.append("files written: " + ", ".join(f"{entry.name} ({entry.size} bytes)" for entry in run.files))
    if run.files_skipped:
        parts.append(
            "files not handed over: " + ", ".join(f"{entry.name} ({entry.reason})" for entry in run.files_skipped)
        )
    if run.hint:
        parts.append(f"hint: {run.hint}")
    return "\n\n".join(parts) or "It ran, and printed nothing."
