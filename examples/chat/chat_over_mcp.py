"""A chat about data, in the terminal, whose tools come over MCP. The model is of any server that speaks OpenAI's chat
completions; what it may call is what the Code Sandbox's MCP server lists for the agent.

    pip install openai mcp
    export OPENAI_API_KEY=... OPENAI_MODEL=...              # and OPENAI_BASE_URL, if it is not OpenAI's own server
    export CODE_SANDBOX_URL=... CODE_SANDBOX_KEY=... CODE_SANDBOX_AGENT=...
    python3 examples/chat/chat_over_mcp.py sales.csv

Files that are named are written into the session of the agent, which must be a stateful one for that
(CODE_INTERPRETER_SESSION=true). Charts and files that the code makes are kept in chat-results. An empty line or the end
of the input leaves. chat.py beside this does the same with the Python package instead of MCP.
"""

import argparse
import asyncio
import base64
import json
import os
import sys
import uuid
from contextlib import AsyncExitStack
from pathlib import Path, PurePosixPath

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from openai import AsyncOpenAI, OpenAIError

ROUNDS_MAX = 20  # of tool calls for one question
INSTRUCTIONS = "You help with questions about data. Use run_python to look at data, to compute, and to draw charts."


class Chat:
    def __init__(self, sandbox: Client, results: Path, images: bool) -> None:
        self.sandbox, self.model = sandbox, AsyncOpenAI()
        self.results, self.images, self.saved = results, images, 0
        self.messages: list = [{"role": "system", "content": INSTRUCTIONS}]
        self.tools: list = []

    async def begin(self, files: list[Path]) -> None:
        for tool in (await self.sandbox.list_tools()).tools:
            function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
            self.tools.append({"type": "function", "function": function})
        for path in files:
            content = base64.b64encode(path.read_bytes()).decode()
            code = f"import base64\nopen({path.name!r}, 'wb').write(base64.b64decode({content!r}))\nNone"
            written = await self.sandbox.call_tool("run_python", {"code": code})
            if written.is_error:
                sys.exit(f"{path.name} could not be written: {written.content[0].text}")
        if files:
            self.messages[0]["content"] += f" Files in the working directory: {', '.join(path.name for path in files)}."

    def save(self, name: str, content: bytes) -> None:
        """Under a number of ours and the last part of a name that the sandbox chose."""
        self.saved += 1
        self.results.mkdir(parents=True, exist_ok=True)
        path = self.results / f"{self.saved}-{PurePosixPath(name).name}"
        path.write_bytes(content)
        print(f"  -> {path}")

    async def show_progress(self, _progress: float, _total: float | None, message: str | None) -> None:
        for line in (message or "").splitlines():
            print(f"  {line}", flush=True)

    async def call(self, name: str, arguments: dict) -> tuple[str, list[str]]:
        """What the model is told: text, and charts as base64. A refusal is told, too."""
        print("\n" + "\n".join(f"  | {line}" for line in str(arguments.get("code", arguments)).splitlines()))
        try:
            result = await self.sandbox.call_tool(name, arguments, progress_callback=self.show_progress)
        except MCPError as problem:
            print(f"  {problem.error.message}")
            return problem.error.message, []
        charts = [item.data for item in result.content if item.type == "image"]
        for chart in charts:
            self.save("chart.png", base64.b64decode(chart))
        for link in (item for item in result.content if item.type == "resource_link"):
            for part in (await self.sandbox.read_resource(link.uri)).contents:
                self.save(link.name, base64.b64decode(part.blob) if hasattr(part, "blob") else part.text.encode())
        return "\n".join(item.text for item in result.content if item.type == "text"), charts

    async def answer_calls(self, calls: list) -> None:
        seen: list = []
        for call in calls:
            text, charts = await self.call(call.function.name, json.loads(call.function.arguments or "{}"))
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            seen += [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{one}"}} for one in charts]
        if seen and self.images:  # results of tools are text; pictures go into a message of their own
            self.messages.append({"role": "user", "content": [{"type": "text", "text": "The charts:"}, *seen]})

    async def answer(self, question: str) -> str:
        self.messages.append({"role": "user", "content": question})
        for _ in range(ROUNDS_MAX):
            reply = await self.model.chat.completions.create(
                model=os.environ.get("OPENAI_MODEL", "gpt-5"), messages=self.messages, tools=self.tools
            )
            message = reply.choices[0].message
            self.messages.append(message)
            if not message.tool_calls:
                return message.content or ""
            await self.answer_calls(message.tool_calls)
        return f"No answer after {ROUNDS_MAX} rounds of tool calls."

    async def ask(self, question: str) -> None:
        before = len(self.messages)
        try:
            print(f"\n{await self.answer(question)}\n")
        except OpenAIError as problem:
            print(f"\n{problem}\n")
            del self.messages[before:]  # a call without its answer would be refused the next time


def question() -> str:
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        return ""


async def main() -> None:
    parser = argparse.ArgumentParser(description="A chat about data, with tools over MCP.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="data for the code's working directory")
    parser.add_argument("--results", type=Path, default=Path("chat-results"), help="where charts and files are kept")
    parser.add_argument("--no-images", action="store_true", help="for a model that cannot see charts")
    options = parser.parse_args()
    if missing := [str(path) for path in options.files if not path.is_file()]:
        sys.exit(f"There is no file {', '.join(missing)}.")
    query = {"agent": os.environ["CODE_SANDBOX_AGENT"], "conversation_id": f"chat-{uuid.uuid4().hex[:12]}"}
    url, key = os.environ["CODE_SANDBOX_URL"].rstrip("/"), os.environ["CODE_SANDBOX_KEY"]
    async with AsyncExitStack() as stack:
        headers = {"Authorization": f"Bearer {key}"}
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
        address = str(httpx2.URL(f"{url}/mcp", params=query))
        sandbox = await stack.enter_async_context(Client(streamable_http_client(address, http_client=http)))
        chat = Chat(sandbox, options.results, not options.no_images)
        await chat.begin(options.files)
        while asked := question():
            await chat.ask(asked)
        await http.delete(f"{url}/v1/conversations/{query['conversation_id']}/session")  # others may want its place


if __name__ == "__main__":
    asyncio.run(main())
