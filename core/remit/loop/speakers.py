"""The models of an agent and its system prompt, from what the program and the deployment say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.extensions.extensions import Extensions
from remit.loop.chosen_model import chosen_model, circuit_for, fallback_models
from remit.loop.counting import Counting
from remit.loop.interpreters import Speech
from remit.loop.manner import behaviour_for, context_for, dialect_for
from remit.loop.prompt import Fragment, fragments, joined
from remit.loop.tokenizer import tokenizer_of
from remit.loop.voices import Speaker
from remit.models.openai import OpenAIModel
from remit.models.pictures import shows_files
from remit.models.protocol import Model

if TYPE_CHECKING:
    from remit.deployment.config import Config


OF_PROGRAM = "the program"
"""Where the fragments of a prompt come from that are given, and not read from `remit.toml`."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the program says about the model, see `Agent`; None for the deployment's word."""

    model: Model | str | None = None
    base_url: str | None = None
    api_key: str | None = None
    dialect: str | None = None
    prompt: str | None = None


def prompt_of(given: Given, config: Config, extensions: Extensions) -> tuple[Fragment, ...]:
    """Return the fragments of an agent's system prompt.

    Raises:
        DeploymentError: the deployment replaces a fragment that there is not.
    """
    added = [
        Fragment(name=f"{item.extension}.{item.name}", text=item.value, source=f"extension {item.source}")
        for item in sorted(extensions.of("prompt fragment"), key=lambda item: item.name)
    ]
    if given.prompt is None:
        return fragments(config.agent.prompt, added, config.agent.fragments, source="remit.toml")
    overrides = {name: text for name, text in config.agent.fragments.items() if "." in name}
    return fragments(given.prompt, added, overrides, source=OF_PROGRAM)


def speakers_of(
    given: Given, prompt: tuple[Fragment, ...], config: Config, folder: Path, extensions: Extensions
) -> list[Speaker]:
    """Return the models of an agent: its own, and behind it those that answer when that is down.

    The deployment's fallbacks stand in for its own model only, not for one that the program names.

    Raises:
        UsageError: no model is named, or a cost limit has no price to count with.
        DeploymentError: an endpoint, a key or a provider cannot be used.
    """
    own = config.model
    model = chosen_model(given.model, given.base_url, given.api_key, config, folder, extensions)
    speech = Speech(
        dialect=given.dialect or dialect_for(model.name, own),
        prompt=joined(prompt),
        text_calls=own.text_calls,
        tag=own.tag,
        examples=own.examples,
        temperature=own.temperature,
        max_tokens=own.max_tokens,
        context=context_for(model.name, own),
        strict=bool(behaviour_for(model.name, own).strict),
    )
    counting = _counting(model, own.tokenizer if given.model is None else "", folder)
    first = Speaker(model=model, speech=speech, counting=counting, circuit=circuit_for(model, own.breaker))
    if given.model is not None or given.base_url is not None:
        return [first]
    return [first, *_others(speech, config, folder, extensions)]


def require_prices(speakers: list[Speaker], cost: float | None) -> None:
    """Raise UsageError where a cost limit is set and an endpoint of ours has no price.

    A model of the program or of an extension may price its replies itself.
    """
    for speaker in speakers:
        model = speaker.model
        if cost is not None and isinstance(model, OpenAIModel):
            raise UsageError(
                f"a run may cost {cost:g} at most, but the price of {model.name} is not known",
                remedy="write price = { input = ..., output = ... } (per million tokens) at the model in remit.toml",
            )


def _others(speech: Speech, config: Config, folder: Path, extensions: Extensions) -> Iterator[Speaker]:
    for other, model in fallback_models(config, folder, extensions):
        spoken = replace(
            speech,
            dialect=dialect_for(model.name, other),
            context=context_for(model.name, other),
            strict=bool(behaviour_for(model.name, other).strict),
        )
        counting, circuit = _counting(model, other.tokenizer, folder), circuit_for(model, config.model.breaker)
        yield Speaker(model=model, speech=spoken, counting=counting, circuit=circuit)


def _counting(model: Model, tokenizer: str, folder: Path) -> Counting:
    """Return how the tokens of a model are counted; images and documents only where it is shown them."""
    return Counting(tokenizer_of(tokenizer, folder), images=shows_files(model))
