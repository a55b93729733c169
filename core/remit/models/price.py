"""What the tokens of a model cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from remit.models.estimate import estimated
from remit.models.protocol import Model, ModelReply, ModelRequest, OnDelta, Usage

MILLION = 1_000_000

ESTIMATED = "the endpoint did not say how many tokens this took; its cost is an estimate"


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a million tokens cost, in whatever currency the deployment counts in.

    Attributes:
        input: of what a model reads.
        output: of what it writes.
        cache_read: of what it reads that its endpoint still had; None for the price of all else that it reads.
        cache_write: of what it reads that its endpoint keeps; None likewise.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def of(self, usage: Usage) -> float | None:
        """Return the cost of `usage`, None where an endpoint did not say."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_writes, usage.input_tokens - cached)
        read = (usage.input_tokens - cached - written) * self.input
        read += cached * (self.input if self.cache_read is None else self.cache_read)
        read += written * (self.input if self.cache_write is None else self.cache_write)
        return (read + usage.output_tokens * self.output) / MILLION


class PricedModel:
    """A model whose replies say what they cost; in everything else it is the model that it was made from."""

    def __init__(self, model: Model, price: Price) -> None:
        self._model = model
        self.price = price

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer as the model does, with the cost. Raises what the model raises."""
        reply = await self._model.complete(request, on_delta=on_delta)
        cost = self.price.of(reply.usage)
        if cost is not None:
            return replace(reply, cost=cost)
        return replace(reply, cost=self.price.of(estimated(request, reply)), notes=(*reply.notes, ESTIMATED))

    async def aclose(self) -> None:
        """Close what the model has open on the running event loop."""
        await self._model.aclose()
