"""Asynchronous tools."""

import asyncio


def wait_for(awaitable):
    async def wait():
        return await awaitable

    return asyncio.run(wait())
