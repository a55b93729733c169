"""The floor: requests with httpx2 and nothing around them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from benchmarks.drivers.driving import QUESTION, SYSTEM, evaluate, main

TOOL = {
    "type": "function",
    "function": {
        "name": "calc__evaluate",
        "description": "Work out a sum of two whole numbers.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "such as `12 + 31`."}},
            "required": ["expression"],
        },
    },
}


class Raw:
    """The shortest loop that does it."""

    def __init__(self, base_url: str) -> None:
        self._client = httpx2.AsyncClient(base_url=base_url, limits=httpx2.Limits(max_connections=200))

    async def converse(self, model: str) -> str:
        """See `Contender`."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": QUESTION},
        ]
        while True:
            body = {"model": model, "messages": messages, "tools": [TOOL], "temperature": 0.0}
            reply = (await self._client.post("/chat/completions", json=body)).json()
            message = reply["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                return str(message["content"])
            for call in message["tool_calls"]:
                result = evaluate(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    async def events(self, model: str) -> AsyncIterator[object]:
        """See `Contender`."""
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        body = {"model": model, "messages": messages, "tools": [TOOL], "stream": True}
        async with self._client.stream("POST", "/chat/completions", json=body) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {") and '"content"' in line:
                    yield line

    async def close(self) -> None:
        """See `Contender`."""
        await self._client.aclose()


if __name__ == "__main__":
    main(Raw)
