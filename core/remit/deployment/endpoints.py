"""Where a deployment's models are asked, in words: its own, those that stand in, and those of its agents."""

from __future__ import annotations

from collections.abc import Iterator

from remit.deployment.config import Config, FallbackConfig, ModelConfig
from remit.deployment.leaves import Key, as_text, said
from remit.extensions.asked_provider import asked_by_table, known_names
from remit.extensions.extensions import Extensions
from remit.packs.locked import Lock

TOLD_OF_A_MODEL: tuple[Key, ...] = (
    ("base_url",),
    ("provider",),
    ("api_key",),
    *(("fallback", "*", key) for key in ("name", "base_url", "provider", "api_key")),
)
"""Keys of a table of a model whose values stand in the sentences; `*` for any number."""


def requests(model: ModelConfig, config: Config, lock: Lock, *, whose: str = "") -> Iterator[str]:
    """Say where the requests of a model go, those that stand in for it included; nothing where none is named."""
    if said(model).keys() & {("name",), ("provider",), ("base_url",), ("api_key",)}:
        yield f"{whose}model requests go to {_place(model, config, lock)}"
    for other in model.fallback:
        yield f"when that model is down, requests go to {other.name} at {_place(other, config, lock)}"


def agents(config: Config, lock: Lock) -> Iterator[str]:
    """Say which agents others may ask, where their models are asked, and what those are told."""
    for name, agent in sorted(config.agents.items()):
        yield f"agent {name} may be asked by others: {as_text(agent.description)}"
        if agent.model is not None:
            yield from (f"  {line}" for line in requests(agent.model, config, lock, whose="its "))
        if agent.prompt is not None:
            yield f"  its model is told: {as_text(agent.prompt)}"


def _place(table: ModelConfig | FallbackConfig, config: Config, lock: Lock) -> str:
    asked = asked_by_table(table, Extensions(known=known_names(config.extensions, lock.extensions)))
    key = f", with the key of {table.api_key}" if table.api_key else ""
    if asked.own:
        return f"{table.base_url or 'the address of OPENAI_BASE_URL, else to OpenAI'}{key}"
    through = f"the model provider {asked.provider} of an extension"
    return f"{table.base_url} through {through}{key}" if table.base_url else f"{through}{key}"
