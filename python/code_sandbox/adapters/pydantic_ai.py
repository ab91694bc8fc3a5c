"""Pydantic AI: tools for Agent(tools=...).

agent = Agent("openai:gpt-5", tools=tools(run_python, find_order))
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import BinaryContent, Tool, ToolReturn

from .. import _calling
from .._calling import Function


def _tool(function: Function) -> Tool[Any]:
    described = _calling.descriptions([function], "openai")[0]["function"]
    name = described["name"]

    async def run(**arguments: Any) -> Any:
        answer = await _calling.call_async([function], name, arguments)
        if not answer.images:
            return answer.text
        images = [BinaryContent(image, media_type="image/png") for image in answer.images]
        return ToolReturn(answer.text, content=["The charts that the code has drawn:", *images])

    return Tool.from_schema(run, name, described["description"], described["parameters"])


def tools(*functions: Function) -> list[Tool[Any]]:
    """Descriptions are those of now: make the tools anew when an agent's settings have changed."""
    return [_tool(function) for function in functions]
