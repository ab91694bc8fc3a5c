"""LangChain and LangGraph: tools for bind_tools() and create_agent().

    agent = create_agent(model, tools=tools(run_python, find_order))

Charts come as the artifact of the tool's message, a list of PNG, and the model is told that there are some. It sees
them with images=True, which wants a model whose tool results may hold pictures: Anthropic's, Google's, OpenAI's
responses.
"""

from __future__ import annotations

import base64
from typing import Any, Literal

from langchain_core.tools import BaseTool

from .. import _calling
from .._calling import Answer, Function

Content = str | list[dict[str, Any]]


def _content(answer: Answer, images: bool) -> Content:
    if not (images and answer.images):
        return answer.text
    encoded = [base64.b64encode(image).decode("ascii") for image in answer.images]
    shown = [{"type": "image", "base64": image, "mime_type": "image/png"} for image in encoded]
    return [{"type": "text", "text": answer.text}, *shown]


class _Tool(BaseTool):  # type: ignore[misc]
    """Not a StructuredTool, which takes arguments that happen to be named "config" or "run_manager" for LangChain's."""

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    function: Function
    images: bool

    def _told(self, answer: Answer) -> tuple[Content, list[bytes]]:
        return _content(answer, self.images), answer.images

    def _run(self, **arguments: Any) -> tuple[Content, list[bytes]]:
        return self._told(_calling.call([self.function], self.name, arguments))

    async def _arun(self, **arguments: Any) -> tuple[Content, list[bytes]]:
        return self._told(await _calling.call_async([self.function], self.name, arguments))


def _tool(function: Function, images: bool) -> BaseTool:
    described = _calling.descriptions([function], "openai")[0]["function"]
    return _Tool(
        name=described["name"],
        description=described["description"],
        args_schema=described["parameters"],
        function=function,
        images=images,
    )


def tools(*functions: Function, images: bool = False) -> list[BaseTool]:
    """
    Descriptions are those of now: make the tools anew when an agent's settings have changed. `images`: the model sees
    pictures in what a tool answers.
    """
    return [_tool(function, images) for function in functions]
