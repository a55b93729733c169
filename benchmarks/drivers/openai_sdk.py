"""The official SDK of OpenAI, with the shortest loop around it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import openai

from benchmarks.drivers.driving import QUESTION, SYSTEM, evaluate, main
from benchmarks.drivers.raw import TOOL


class Sdk:
    """`AsyncOpenAI`."""

    def __init__(self, base_url: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="none")

    async def converse(self, model: str) -> str:
        """See `Contender`."""
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        tools: list[Any] = [TOOL]
        while True:
            reply = await self._client.chat.completions.create(
                model=model, messages=messages, tools=tools, temperature=0.0
            )
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                result = evaluate(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    async def events(self, model: str) -> AsyncIterator[object]:
        """See `Contender`."""
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        tools: list[Any] = [TOOL]
        stream = await self._client.chat.completions.create(model=model, messages=messages, tools=tools, stream=True)
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                yield chunk

    async def close(self) -> None:
        """See `Contender`."""
        await self._client.close()


if __name__ == "__main__":
    main(Sdk)
