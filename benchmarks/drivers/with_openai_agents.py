"""openai-agents, with its tracing off: it would send to its maker."""

from __future__ import annotations

from collections.abc import AsyncIterator

import agents
import openai

from benchmarks.drivers.driving import QUESTION, SYSTEM, evaluate, main


class OpenaiAgents:
    """Its `Runner` over chat completions with one plain tool."""

    def __init__(self, base_url: str) -> None:
        agents.set_tracing_disabled(True)
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="none")
        self._tool = agents.function_tool(evaluate, name_override="calc__evaluate")
        self._agents: dict[str, agents.Agent[None]] = {}

    def _agent(self, model: str) -> agents.Agent[None]:
        if model not in self._agents:
            made = agents.OpenAIChatCompletionsModel(model, openai_client=self._client)
            settings = agents.ModelSettings(temperature=0.0)
            self._agents[model] = agents.Agent(
                name="bench", instructions=SYSTEM, model=made, tools=[self._tool], model_settings=settings
            )
        return self._agents[model]

    async def converse(self, model: str) -> str:
        """See `Contender`."""
        return str((await agents.Runner.run(self._agent(model), QUESTION, max_turns=1000)).final_output)

    async def events(self, model: str) -> AsyncIterator[object]:
        """See `Contender`."""
        async for event in agents.Runner.run_streamed(self._agent(model), QUESTION).stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                yield event

    async def close(self) -> None:
        """See `Contender`."""
        await self._client.close()


if __name__ == "__main__":
    main(OpenaiAgents)
