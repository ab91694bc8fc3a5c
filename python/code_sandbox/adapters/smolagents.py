"""smolagents: tools for its agents.

    agent = ToolCallingAgent(tools=tools(run_python, find_order), model=model, step_callbacks=[show_charts])

Without the callback show_charts the model is told that there are charts, and does not see them.
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextvars
import inspect
import io
import re
from typing import Any

import PIL.Image
import smolagents

from .. import _calling
from .._calling import Answer, Function

_CHARTS_MAX = 20  # that wait for show_charts, which may not be there
_TYPES = ("string", "boolean", "integer", "number", "array", "object", "null")


def _resolved(schema: dict[str, Any], definitions: dict[str, Any], inside: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema of one input stands alone here, so what it refers to is written out; a tree's branches are not."""
    name = schema.get("$ref", "").rpartition("/")[2]
    if name:
        if name in inside or name not in definitions:
            return {"type": "object"}
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_resolved(definitions[name], definitions, (*inside, name)), **rest}
    found = dict(schema)
    for key, value in schema.items():
        if key in ("properties", "patternProperties"):
            found[key] = {each: _resolved(entry, definitions, inside) for each, entry in value.items()}
        elif isinstance(value, dict) and key in ("items", "additionalProperties"):
            found[key] = _resolved(value, definitions, inside)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            found[key] = [_resolved(entry, definitions, inside) for entry in value]
    return found


def _input(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """As smolagents wants it: a type, or a list of types, a description, and `nullable` for what may be left out."""
    choices = [schema] if "type" in schema else schema.get("anyOf", [])
    wanted = [each for each in choices if each.get("type") != "null"]
    if len(wanted) == 1:
        schema = {**wanted[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    types = [each.get("type") for each in wanted]
    kind: Any = "any" if not types or not all(each in _TYPES for each in types) else types
    kind = kind[0] if len(types) == 1 and kind != "any" else kind
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "type")}
    optional = {} if required and len(wanted) == len(choices) else {"nullable": True}
    return {"description": "", **rest, "type": kind, **optional}


def _takes_null(schema: dict[str, Any]) -> bool:
    return "type" not in schema and ("anyOf" not in schema or {"type": "null"} in schema["anyOf"])


def _call(function: Function, name: str, arguments: dict[str, Any]) -> Answer:
    """An agent of smolagents is not asynchronous, though the program around it may be, and so may a tool."""
    if not inspect.iscoroutinefunction(function):
        return _calling.call([function], name, arguments)
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        waiting = _calling.call_async([function], name, arguments)
        return thread.submit(contextvars.copy_context().run, asyncio.run, waiting).result()


class _Tool(smolagents.Tool):  # type: ignore[misc]
    skip_forward_signature_validation = True
    output_type = "string"

    def __init__(self, function: Function) -> None:
        super().__init__()
        described = _calling.descriptions([function], "openai")[0]["function"]
        parameters = described["parameters"]
        definitions, required = parameters.get("$defs", {}), parameters.get("required", [])
        properties = {key: _resolved(schema, definitions) for key, schema in parameters["properties"].items()}
        self._function, self._called = function, described["name"]
        self.name = re.sub(r"\W", "_", self._called)  # it has to be a name in Python here
        self.description = described["description"]
        self.inputs = {key: _input(schema, key in required) for key, schema in properties.items()}
        self._not_null = {key for key, schema in properties.items() if not _takes_null(schema) and key not in required}
        self.charts: collections.deque[bytes] = collections.deque(maxlen=_CHARTS_MAX)

    def forward(self, *given: Any, **named: Any) -> str:
        arguments = {**dict(zip(self.inputs, given, strict=False)), **named}
        for key in self._not_null & arguments.keys():
            if arguments[key] is None:  # nullable is all that smolagents has for what may be left out
                del arguments[key]
        answer = _call(self._function, self._called, arguments)
        self.charts.extend(answer.images)
        return answer.text


def tools(*functions: Function) -> list[smolagents.Tool]:
    """Descriptions are those of now: make the tools anew when an agent's settings have changed."""
    return [_Tool(function) for function in functions]


def show_charts(step: smolagents.ActionStep, agent: smolagents.MultiStepAgent) -> None:
    """A callback for each step: the charts that were drawn in it go to the model, as pictures."""
    drawn = []
    for tool in agent.tools.values():
        while isinstance(tool, _Tool) and tool.charts:
            drawn.append(PIL.Image.open(io.BytesIO(tool.charts.popleft())))
    if drawn:
        step.observations_images = [*(step.observations_images or []), *drawn]
