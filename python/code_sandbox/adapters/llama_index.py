"""LlamaIndex: tools for its agents.

    agent = FunctionAgent(llm=llm, tools=tools(run_python, find_order))

Charts are blocks of the tool's output. LlamaIndex hands them to models whose tool results may hold pictures, such as
OpenAIResponses; with chat completions the model is told that there are some, and the agent's events have them.
"""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import ImageBlock, TextBlock
from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput

from .. import _calling
from .._calling import Answer, Function


class _Metadata(ToolMetadata):  # type: ignore[misc]
    """LlamaIndex makes the schema from a class; we have one already."""

    def __init__(self, described: dict[str, Any]) -> None:
        super().__init__(description=described["description"], name=described["name"])
        self._parameters = described["parameters"]

    def get_parameters_dict(self) -> dict[str, Any]:
        return dict(self._parameters)


class _Tool(AsyncBaseTool):  # type: ignore[misc]
    def __init__(self, function: Function) -> None:
        self._function = function
        self._metadata = _Metadata(_calling.descriptions([function], "openai")[0]["function"])

    @property
    def metadata(self) -> ToolMetadata:
        return self._metadata

    @property
    def _name(self) -> str:
        return str(self._metadata.get_name())

    def _arguments(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """A single argument comes without its name."""
        return {**dict(zip(self._metadata.get_parameters_dict()["properties"], given, strict=False)), **named}

    def _output(self, answer: Answer, arguments: dict[str, Any]) -> ToolOutput:
        images = [ImageBlock(image=image, image_mimetype="image/png") for image in answer.images]
        return ToolOutput(
            tool_name=self._name,
            blocks=[TextBlock(text=answer.text), *images],
            raw_input=arguments,
            raw_output=answer.text,
            is_error=answer.is_error,
        )

    def call(self, *given: Any, **named: Any) -> ToolOutput:
        arguments = self._arguments(given, named)
        return self._output(_calling.call([self._function], self._name, arguments), arguments)

    async def acall(self, *given: Any, **named: Any) -> ToolOutput:
        arguments = self._arguments(given, named)
        return self._output(await _calling.call_async([self._function], self._name, arguments), arguments)


def tools(*functions: Function) -> list[AsyncBaseTool]:
    """Descriptions are those of now: make the tools anew when an agent's settings have changed."""
    return [_Tool(function) for function in functions]
