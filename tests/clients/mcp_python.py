"""Uses the MCP server as the published Python client does. Run by tests/e2e/test_mcp_clients.py.

Runs in an environment that scripts/install-test-clients makes: mcp_python.py MODE URL KEY [PLATFORMCTL]. MODE is "auto"
(the newest revision), "legacy" (the handshake) or "stdio" (through platformctl mcp). Writes what it has seen as JSON.
"""
import asyncio
import base64
import json
import os
import sys

import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

SLOW = "import time\nfor i in range(3):\n    print('step', i, flush=True)\n    time.sleep(0.4)"
CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nopen('t.csv', 'w').write('a,b\\n')\nNone"


def server(mode, url, key, program):
    if mode == "stdio":
        environment = {"SANDBOX_URL": url, "SANDBOX_KEY": key, "PATH": os.environ["PATH"]}
        return stdio_client(StdioServerParameters(command=program, args=["mcp"], env=environment))
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
    return streamable_http_client(url + "/mcp?conversation_id=mcp-python-" + mode, http_client=http)


async def read_link(client, content):
    link = next(item for item in content if item.type == "resource_link")
    return (await client.read_resource(link.uri)).contents[0].text


async def use(client):
    told, seen = [], {"revision": client.protocol_version}

    async def on_progress(progress, total, message):
        told.append(message)

    seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
    result = await client.call_tool("run_python", {"code": SLOW}, progress_callback=on_progress)
    seen["stdout"], seen["told"] = result.structured_content["stdout"], "".join(told)
    result = await client.call_tool("run_python", {"code": CHART})
    seen["kinds"] = [item.type for item in result.content]
    picture = next(item for item in result.content if isinstance(item, mcp_types.ImageContent))
    seen["picture"] = base64.b64decode(picture.data).startswith(b"\x89PNG")
    seen["file"] = await read_link(client, result.content)
    seen["resources"] = [one.name for one in (await client.list_resources()).resources]
    result = await client.call_tool("run_python", {"code": "1 / 0"})
    seen["failed"], seen["reason"] = result.is_error, result.content[0].text
    try:
        await client.call_tool("run_python", {"code": 5})
    except MCPError as problem:
        seen["misuse"] = problem.error.code
    return seen


async def cancel(client):
    """A call that is given up ends its run."""
    try:
        async with asyncio.timeout(1.5):
            await client.call_tool("run_python", {"code": "import time; time.sleep(20)"})
    except TimeoutError:
        return True
    return False


async def main(mode, url, key, program=None):
    async with Client(server(mode, url, key, program), mode="legacy" if mode == "legacy" else "auto") as client:
        seen = await use(client)
        seen["cancelled"] = await cancel(client)
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
