"""An agent of the OpenAI Agents SDK whose tools come from the MCP server. Run by tests/e2e/test_mcp_clients.py.

Runs in the environment that `scripts/install-test-clients package` makes: mcp_agents_sdk.py URL KEY, with the model's
address in OPENAI_BASE_URL. Prints what the agent answers.
"""
import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI


async def main(url, key):
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(max_retries=0))
    params = {"url": url + "/mcp?conversation_id=mcp-agents-sdk", "headers": {"Authorization": f"Bearer {key}"}}
    async with MCPServerStreamableHttp(params, client_session_timeout_seconds=60) as sandbox:
        agent = Agent("analyst", model=model, mcp_servers=[sandbox])
        print((await Runner.run(agent, "What is 6 times 7?")).final_output)


asyncio.run(main(*sys.argv[1:]))
