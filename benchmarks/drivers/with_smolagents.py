"""smolagents: its `ToolCallingAgent`, which is synchronous, so several run in threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent

from benchmarks.drivers.driving import QUESTION, evaluate, main


class Evaluate(Tool):  # type: ignore[misc]
    """The one tool."""

    name = "calc__evaluate"
    description = "Work out a sum of two whole numbers."
    inputs: ClassVar = {"expression": {"type": "string", "description": "such as `12 + 31`."}}
    output_type = "string"

    def forward(self, expression: str) -> str:
        """Work it out."""
        return evaluate(expression)


class Smolagents:
    """A new agent for each conversation: one holds the memory of a conversation."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._models: dict[str, OpenAIModel] = {}
        self._threads = ThreadPoolExecutor(100)

    def _agent(self, model: str) -> ToolCallingAgent:
        name = model.replace("tool-", "observed-")
        if name not in self._models:
            self._models[name] = OpenAIModel(name, api_base=self._base_url, api_key="none", temperature=0.0)
        return ToolCallingAgent(
            tools=[Evaluate()], model=self._models[name], max_steps=1000, verbosity_level=LogLevel.OFF
        )

    async def converse(self, model: str) -> str:
        """See `Contender`."""
        run = self._agent(model).run
        return str(await asyncio.get_running_loop().run_in_executor(self._threads, run, QUESTION))

    def events(self, model: str) -> AsyncIterator[object] | None:
        """See `Contender`: it streams whole steps only."""
        return None

    async def close(self) -> None:
        """See `Contender`."""
        self._threads.shutdown()


if __name__ == "__main__":
    main(Smolagents)
