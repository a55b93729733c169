"""langgraph: its prebuilt agent over `ChatOpenAI`."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from benchmarks.drivers.driving import QUESTION, SYSTEM, evaluate, main

warnings.filterwarnings("ignore")
CONFIG: Any = {"recursion_limit": 10_000}


class Langgraph:
    """`create_react_agent` with one plain tool."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._tool = StructuredTool.from_function(evaluate, name="calc__evaluate")
        self._agents: dict[str, Any] = {}

    def _agent(self, model: str) -> Any:
        if model not in self._agents:
            key: Any = "none"
            made = ChatOpenAI(model=model, base_url=self._base_url, api_key=key, temperature=0.0)
            self._agents[model] = create_react_agent(made, [self._tool], prompt=SYSTEM)
        return self._agents[model]

    async def converse(self, model: str) -> str:
        """See `Contender`."""
        result = await self._agent(model).ainvoke({"messages": [("user", QUESTION)]}, CONFIG)
        return str(result["messages"][-1].content)

    async def events(self, model: str) -> AsyncIterator[object]:
        """See `Contender`."""
        asked = {"messages": [("user", QUESTION)]}
        async for chunk, _ in self._agent(model).astream(asked, CONFIG, stream_mode="messages"):
            if chunk.content:
                yield chunk

    async def close(self) -> None:
        """See `Contender`."""


if __name__ == "__main__":
    main(Langgraph)
