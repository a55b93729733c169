"""Remit with a function of the program, as the other frameworks have it: not confined, but decided and recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator

from benchmarks.drivers.driving import QUESTION, SYSTEM, evaluate, main
from remit import Agent
from remit.local_skills import skill
from remit.loop.events import TextDelta


class InCode:
    """An `Agent` without a deployment."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._function = skill(effect="read", name="evaluate")(evaluate)
        self._agents: dict[str, Agent] = {}

    def _agent(self, model: str) -> Agent:
        if model not in self._agents:
            self._agents[model] = Agent(
                model=model, base_url=self._base_url, prompt=SYSTEM, skills=[self._function], max_steps=1000
            )
        return self._agents[model]

    async def converse(self, model: str) -> str:
        """See `Contender`."""
        return (await self._agent(model).arun(QUESTION)).answer

    async def events(self, model: str) -> AsyncIterator[object]:
        """See `Contender`."""
        async for event in self._agent(model).stream(QUESTION):
            if isinstance(event, TextDelta):
                yield event

    async def close(self) -> None:
        """See `Contender`."""
        for agent in self._agents.values():
            await agent.aclose()


if __name__ == "__main__":
    main(InCode)
