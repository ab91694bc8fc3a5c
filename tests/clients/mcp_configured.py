"""Connects to an MCP server as programs that are told of one in a JSON file do. Run by tests/e2e/test_mcp_clients.py.

Runs in an environment that scripts/install-test-clients makes. Reads the server's entry from standard input: `url` and
`headers`, or `command`, `args` and `env`. Writes what it has seen as JSON.
"""
import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


def server(entry):
    if "command" in entry:
        environment = {"PATH": os.environ["PATH"], **entry["env"]}
        return stdio_client(StdioServerParameters(command=entry["command"], args=entry["args"], env=environment))
    assert entry["type"] == "http"
    return streamable_http_client(entry["url"], http_client=httpx2.AsyncClient(headers=entry["headers"], timeout=60))


async def main(entry):
    async with Client(server(entry)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("run_python", {"code": "print(6 * 7)"})
        print(json.dumps({"tools": tools, "stdout": result.structured_content["stdout"]}))


asyncio.run(main(json.load(sys.stdin)))
