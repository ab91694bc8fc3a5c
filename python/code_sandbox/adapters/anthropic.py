"""A plain loop with Anthropic's client.

messages = [{"role": "user", "content": "..."}]
while True:
    reply = client.messages.create(model=..., max_tokens=..., messages=messages, tools=tools(run_python, find_order))
    messages.append({"role": "assistant", "content": reply.content})
    if reply.stop_reason != "tool_use":
        break
    messages.append(answers(reply, run_python, find_order))
"""

from __future__ import annotations

import base64
from typing import Any

from .. import _calling
from .._calling import Answer, Function


def tools(*functions: Function) -> list[dict[str, Any]]:
    return _calling.descriptions(functions, "anthropic")


def _result(tool_use_id: str, answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
    for image in answer.images:
        data = base64.b64encode(image).decode("ascii")
        content.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": answer.is_error}


def answers(reply: Any, *functions: Function) -> dict[str, Any]:
    """Makes the calls that a reply asks for, and returns the message that answers them; charts are in it."""
    calls = [block for block in reply.content if block.type == "tool_use"]
    results = [_result(block.id, _calling.call(functions, block.name, block.input)) for block in calls]
    return {"role": "user", "content": results}


async def answers_async(reply: Any, *functions: Function) -> dict[str, Any]:
    """The same for asyncio."""
    calls = [block for block in reply.content if block.type == "tool_use"]
    results = [_result(block.id, await _calling.call_async(functions, block.name, block.input)) for block in calls]
    return {"role": "user", "content": results}
