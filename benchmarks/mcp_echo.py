"""An echo tool on the official MCP SDK's stdio server, and a client that times its calls; runs in its own environment.

`client` starts the server, reads texts as JSON lines and answers each with `{"seconds": ..., "length": ...}`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any


def _server() -> None:
    try:
        from mcp.server.mcpserver import MCPServer as Server
    except ImportError:  # version 1 of the SDK
        from mcp.server.fastmcp import FastMCP as Server

    server = Server("echo", log_level="ERROR")
    server.tool()(echo)
    server.run()


def echo(text: str) -> str:
    """Return the text."""
    return text


async def _client() -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=sys.executable, args=[__file__, "server"])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await _timed(session, json.loads(line))), flush=True)


async def _timed(session: Any, text: str) -> dict[str, float]:
    started = time.perf_counter()
    result = await session.call_tool("echo", {"text": text})
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "length": len(result.content[0].text)}


if __name__ == "__main__":
    if sys.argv[1] == "server":
        _server()
    else:
        asyncio.run(_client())
