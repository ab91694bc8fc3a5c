"""OpenAI's Agents SDK: tools for Agent(tools=...).

agent = Agent(name="analyst", tools=tools(run_python, find_order))
"""

from __future__ import annotations

import base64
from typing import Any

from agents import FunctionTool, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext

from .. import _calling
from .._calling import Function


def _tool(function: Function) -> FunctionTool:
    described = _calling.descriptions([function], "openai")[0]["function"]
    name = described["name"]

    async def run(context: ToolContext[Any], arguments: str) -> Any:
        answer = await _calling.call_async([function], name, arguments)
        if not answer.images:
            return answer.text
        images = [base64.b64encode(image).decode("ascii") for image in answer.images]
        return [
            ToolOutputText(text=answer.text),
            *(ToolOutputImage(image_url=f"data:image/png;base64,{image}") for image in images),
        ]

    return FunctionTool(
        name=name,
        description=described["description"],
        params_json_schema=described["parameters"],
        on_invoke_tool=run,
        strict_json_schema=False,
    )


def tools(*functions: Function) -> list[FunctionTool]:
    return [_tool(function) for function in functions]
