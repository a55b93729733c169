"""How a model of `remit.toml` is spoken to: what is written there, then what is known of it by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit.models.behaviour import Behaviour, Family, behaviour_of, family_of

if TYPE_CHECKING:
    from remit.deployment.config import FallbackConfig, ModelConfig

IN_TEXT = "tagged"
"""The dialect of a model that was not made for function calling."""


def behaviour_for(name: str, own: ModelConfig | FallbackConfig) -> Behaviour:
    """Return how the model `name` behaves; what is configured counts only for the model that it was written for."""
    return behaviour_of(name, own.behaviour.model_dump() if _same(name, own) else None)


def dialect_for(name: str, own: ModelConfig | FallbackConfig) -> str:
    """Return the dialect of the model `name`: as configured, else as its family needs it."""
    if "dialect" in own.model_fields_set:
        return own.dialect
    return IN_TEXT if behaviour_for(name, own).native_calls is False else own.dialect


def context_for(name: str, own: ModelConfig | FallbackConfig) -> int | None:
    """Return how many tokens fit into the model `name`: as configured, else as its family is known."""
    return own.context_length or behaviour_for(name, own).context_length


def in_force(name: str, own: ModelConfig | FallbackConfig) -> list[dict[str, Any]]:
    """Return one row for each thing that is in force: `key`, `value` and `from`, where it comes from."""
    row = family_of(name)
    rows = [
        _row("dialect", dialect_for(name, own), "dialect" in own.model_fields_set, row, "native_calls"),
        _row("context_length", context_for(name, own), own.context_length is not None, row, "context_length"),
    ]
    said = own.behaviour.model_dump() if _same(name, own) else {}
    behaviour = behaviour_for(name, own)
    further = type(own.behaviour).model_fields
    rows += [_row(key, getattr(behaviour, key), said.get(key) is not None, row, key) for key in further]
    return rows


def _same(name: str, own: ModelConfig | FallbackConfig) -> bool:
    """Say whether `name` is the configured model, which may be written with its provider in front."""
    return name == own.name or name == own.name.partition(":")[2]


def _row(key: str, value: Any, said: bool, row: Family | None, known: str) -> dict[str, Any]:
    if said:
        source = "remit.toml"
    elif row is not None and getattr(row.behaviour, known) is not None:
        source = f"table: {row.source} ({row.checked})"
    else:
        source = "default"
    return {"key": key, "value": value, "from": source}
