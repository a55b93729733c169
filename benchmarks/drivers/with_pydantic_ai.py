"""pydantic-ai."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from benchmarks.drivers.driving import QUESTION, SYSTEM, evaluate, main


class PydanticAi:
    """Its `Agent` with one plain tool."""

    def __init__(self, base_url: str) -> None:
        self._provider = OpenAIProvider(base_url=base_url, api_key="none")
        self._limits = UsageLimits(request_limit=1000)
        self._agents: dict[str, Agent[None, str]] = {}

    def _agent(self, model: str) -> Agent[None, str]:
        if model not in self._agents:
            made = OpenAIChatModel(model, provider=self._provider)
            tool = Tool(evaluate, name="calc__evaluate", takes_ctx=False)
            self._agents[model] = Agent(made, system_prompt=SYSTEM, tools=[tool], model_settings={"temperature": 0.0})
        return self._agents[model]

    async def converse(self, model: str) -> str:
        """See `Contender`."""
        return str((await self._agent(model).run(QUESTION, usage_limits=self._limits)).output)

    async def events(self, model: str) -> AsyncIterator[object]:
        """See `Contender`."""
        async with self._agent(model).run_stream(QUESTION) as stream:
            async for text in stream.stream_text(delta=True, debounce_by=None):
                yield text

    async def close(self) -> None:
        """See `Contender`."""


if __name__ == "__main__":
    main(PydanticAi)
