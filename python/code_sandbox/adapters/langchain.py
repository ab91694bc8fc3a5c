"""LangChain and LangGraph: tools for bind_tools() and create_agent().

    agent = create_agent(model, tools=tools(run_python, find_order))

Charts come as the artifact of the tool's message, a list of PNG, and the model is told that there are some.
"""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from .. import _calling
from .._calling import Function


def _tool(function: Function) -> BaseTool:
    described = _calling.descriptions([function], "openai")[0]["function"]
    name = described["name"]

    def run(**arguments: Any) -> tuple[str, list[bytes]]:
        answer = _calling.call([function], name, arguments)
        return answer.text, answer.images

    async def run_async(**arguments: Any) -> tuple[str, list[bytes]]:
        answer = await _calling.call_async([function], name, arguments)
        return answer.text, answer.images

    return StructuredTool(
        name=name,
        description=described["description"],
        args_schema=described["parameters"],
        func=run,
        coroutine=run_async,
        response_format="content_and_artifact",
    )


def tools(*functions: Function) -> list[BaseTool]:
    """Descriptions are those of now: make the tools anew when an agent's settings have changed."""
    return [_tool(function) for function in functions]
