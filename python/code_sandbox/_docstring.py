"""What a docstring says of a function and of each parameter: in Google's, NumPy's or Sphinx's manner.

Pure. A docstring in no manner at all is a description.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Docstring(NamedTuple):
    text: str  # without the parts about parameters, results and exceptions
    parameters: dict[str, str]


_GOOGLE = re.compile(
    r"^(Args|Arguments|Parameters|Params|Keyword Args|Attributes|Returns|Return|Yields|Raises|"
    r"Examples?|Notes?|See Also|Warnings?|Todo):\s*$"
)
_ABOUT_PARAMETERS = {"Args", "Arguments", "Parameters", "Params", "Keyword Args", "Attributes", "Other Parameters"}
_KEPT = {"Example", "Examples", "Note", "Notes", "Warning", "Warnings"}  # a model should know these
_NUMPY = re.compile(r"^-{3,}\s*$")
_SPHINX = re.compile(r"^:(param|parameter|arg|argument|key|type|returns?|rtype|raises?|yields?)\b([^:]*):\s*(.*)$")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _entries(lines: list[str], pattern: re.Pattern[str], keeps_rest: bool) -> dict[str, str]:
    """Entries begin where the first one does; what is further in belongs to the one above."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    filled = [line for line in lines if line.strip()]
    first = _indent(filled[0]) if filled else 0
    for line in filled:
        match = pattern.match(line.strip()) if _indent(line) <= first else None
        if match:
            current = [match[2]] if keeps_rest else []
            for name in match[1].split(","):
                found[name.strip()] = current
        else:
            current.append(line)
    return {name: _joined(text) for name, text in found.items() if _joined(text)}


def _sections(lines: list[str]) -> list[tuple[str | None, list[str], bool]]:
    """(title or None for the beginning, lines, whether in NumPy's manner)"""
    sections: list[tuple[str | None, list[str], bool]] = [(None, [], False)]
    i = 0
    while i < len(lines):
        google = _GOOGLE.match(lines[i])
        underlined = i + 1 < len(lines) and lines[i].strip() and _NUMPY.match(lines[i + 1])
        if google:
            sections.append((google[1], [], False))
        elif underlined:
            sections.append((lines[i].strip(), [], True))
            i += 1
        elif sections[-1][0] and not sections[-1][2] and lines[i].strip() and _indent(lines[i]) == 0:
            sections.append((None, [lines[i]], False))  # text that follows a section of Google's manner
        else:
            sections[-1][1].append(lines[i])
        i += 1
    return sections


def _sphinx(lines: list[str]) -> tuple[list[str], dict[str, str]]:
    rest: list[str] = []
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        match = _SPHINX.match(line.strip())
        if match:
            current = [match[3]]
            if match[1] in ("param", "parameter", "arg", "argument", "key") and match[2].strip():
                found[match[2].split()[-1].lstrip("*")] = current
        elif current is not None and line.strip() and _indent(line) > 0:
            current.append(line)
        else:
            current = None
            rest.append(line)
    return rest, {name: _joined(text) for name, text in found.items() if _joined(text)}


def parse(docstring: str | None) -> Docstring:
    """Of a docstring as inspect.getdoc() gives it."""
    lines, parameters = _sphinx((docstring or "").splitlines())
    text: list[str] = []
    for title, body, numpy in _sections(lines):
        if title in _ABOUT_PARAMETERS:
            parameters.update(_entries(body, _NUMPY_ENTRY if numpy else _ENTRY, not numpy))
        elif title is None:
            text += body
        elif title in _KEPT:
            text += [f"{title}:", *body]
    return Docstring(re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip(), parameters)
