"""Remit with the calc pack: every call in a cell, decided by policy, recorded on the disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.drivers.driving import QUESTION, SYSTEM, main
from remit import Agent
from remit.deployment.config import ModelConfig
from remit.deployment.enable import enable
from remit.deployment.init import init
from remit.deployment.trust import trust
from remit.loop.events import TextDelta


class Deployed:
    """An `Agent` over a deployment with one pack."""

    shared = False

    def __init__(self, base_url: str) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="remit-frameworks-")
        os.environ["REMIT_STATE"] = str(Path(self._place.name, "state"))
        self._folder = Path(self._place.name, "deployment")
        self._folder.mkdir()
        init(self._folder, model=ModelConfig(name="instant", base_url=base_url), enforcement="available").apply()
        enable(self._folder, "calc", skills=("evaluate",)).apply()
        if self.shared:
            written = self._folder / "remit.toml"
            text = written.read_text(encoding="utf-8")
            written.write_text(text.replace("[packs.calc]\n", "[packs.calc]\nshared = true\n"), encoding="utf-8")
            trust(self._folder)
        self._base_url = base_url
        self._agents: dict[str, Agent] = {}

    def _agent(self, model: str) -> Agent:
        if model not in self._agents:
            self._agents[model] = Agent(
                self._folder, model=model, base_url=self._base_url, prompt=SYSTEM, max_steps=1000
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
        self._place.cleanup()


if __name__ == "__main__":
    main(Deployed)
