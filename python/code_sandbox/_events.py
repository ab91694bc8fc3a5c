"""Server-sent events of a run: lines in, events out. Does no reading itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ._errors import ApiError
from ._models import Done, Event, FileWritten, Result, Run, RunFile, Started, Stderr, Stdout, make

_MAKE: dict[str, Callable[[Any], Event]] = {
    "start": lambda data: make(Started, data),
    "stdout": lambda data: Stdout(data["text"]),
    "stderr": lambda data: Stderr(data["text"]),
    "result": lambda data: Result(data),
    "file": lambda data: FileWritten(RunFile.from_json(data)),
    "done": lambda data: Done(Run.from_json(data)),
}


class Reader:
    """Takes one line after the other, and gives the event that it completes. Unknown events are passed over."""

    def __init__(self) -> None:
        self._name = ""
        self._data: list[str] = []

    def feed(self, line: bytes) -> Event | None:
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not text:
            return self._complete()
        field, _, value = text.partition(":")  # a comment has no field
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None

    def _complete(self) -> Event | None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data = "", []
        if name == "error":
            error = json.loads(data)["error"]
            raise ApiError(200, str(error["type"]), str(error["message"]))
        return _MAKE[name](json.loads(data)) if name in _MAKE else None
