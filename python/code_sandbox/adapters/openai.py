"""A plain loop with OpenAI's client, or any server that speaks the same: chat completions and responses.

messages = [{"role": "user", "content": "..."}]
while True:
    reply = client.chat.completions.create(model=..., messages=messages, tools=tools(run_python, find_order))
    message = reply.choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    messages += answers(message, run_python, find_order)
"""

from __future__ import annotations

import base64
from typing import Any

from .. import _calling
from .._calling import Answer, Function


def tools(*functions: Function) -> list[dict[str, Any]]:
    """For `tools` of chat completions."""
    return _calling.descriptions(functions, "openai")


def response_tools(*functions: Function) -> list[dict[str, Any]]:
    """For `tools` of responses."""
    return _calling.descriptions(functions, "openai-responses")


def _data(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")


def _messages(found: list[tuple[str, Answer]], images: bool) -> list[dict[str, Any]]:
    """Messages of tools hold text only, so pictures follow in one of the user's, after all of them."""
    made: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": call_id, "content": answer.text} for call_id, answer in found
    ]
    shown = [image for _, answer in found for image in answer.images] if images else []
    if shown:
        parts: list[dict[str, Any]] = [{"type": "text", "text": "The charts that the code has drawn:"}]
        parts += [{"type": "image_url", "image_url": {"url": _data(image)}} for image in shown]
        made.append({"role": "user", "content": parts})
    return made


def answers(message: Any, *functions: Function, images: bool = True) -> list[dict[str, Any]]:
    """Makes the calls that a message asks for, and returns the messages that answer them. `images`: the model sees."""
    calls = message.tool_calls or []
    return _messages(
        [(call.id, _calling.call(functions, call.function.name, call.function.arguments)) for call in calls], images
    )


async def answers_async(message: Any, *functions: Function, images: bool = True) -> list[dict[str, Any]]:
    """The same for asyncio."""
    found = [
        (call.id, await _calling.call_async(functions, call.function.name, call.function.arguments))
        for call in message.tool_calls or []
    ]
    return _messages(found, images)


def _output(call_id: str, answer: Answer, images: bool) -> dict[str, Any]:
    if not (images and answer.images):
        return {"type": "function_call_output", "call_id": call_id, "output": answer.text}
    parts: list[dict[str, Any]] = [{"type": "input_text", "text": answer.text}]
    parts += [{"type": "input_image", "image_url": _data(image), "detail": "auto"} for image in answer.images]
    return {"type": "function_call_output", "call_id": call_id, "output": parts}


def response_answers(response: Any, *functions: Function, images: bool = True) -> list[dict[str, Any]]:
    """Makes the calls that a response asks for, and returns the items that answer them."""
    calls = [item for item in response.output if item.type == "function_call"]
    return [_output(call.call_id, _calling.call(functions, call.name, call.arguments), images) for call in calls]


async def response_answers_async(response: Any, *functions: Function, images: bool = True) -> list[dict[str, Any]]:
    """The same for asyncio."""
    calls = [item for item in response.output if item.type == "function_call"]
    return [
        _output(call.call_id, await _calling.call_async(functions, call.name, call.arguments), images) for call in calls
    ]
