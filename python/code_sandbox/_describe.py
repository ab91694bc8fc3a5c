"""Tools in the formats of the APIs of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._run_python import describe_run_python, is_run_python
from ._tool import Tool, tool_of


def _openai(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def _openai_responses(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _mcp(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}


_FORMATS: dict[str, Callable[[Tool], dict[str, Any]]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "mcp": _mcp,
}


def describe(tool: Callable[..., Any], format: str = "openai") -> dict[str, Any]:
    """
    The description of a tool for a model: "openai", "openai-responses", "anthropic" or "mcp". That of run_python is the
    service's own.
    """
    if format not in _FORMATS:
        raise ValueError(f"There is no format {format!r}; there are: {', '.join(_FORMATS)}.")
    if is_run_python(tool):
        return describe_run_python(format)
    return _FORMATS[format](tool_of(tool))
