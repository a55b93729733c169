"""The models of an agent and its system prompt, from what the program and the deployment say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.extensions.extensions import Extensions
from remit.loop.chosen_model import chosen_model, circuit_for, fallback_models
from remit.loop.interpreters import Speech
from remit.loop.prompt import Fragment, fragments, joined
from remit.loop.voices import Speaker
from remit.models.openai import OpenAIModel
from remit.models.protocol import Model

if TYPE_CHECKING:
    from remit.deployment.config import Config


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
    return fragments(given.prompt, added, overrides, source="the program")


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
    speech = Speech(
        dialect=given.dialect or own.dialect,
        prompt=joined(prompt),
        text_calls=own.text_calls,
        tag=own.tag,
        examples=own.examples,
        temperature=own.temperature,
        max_tokens=own.max_tokens,
        context=own.context_length,
    )
    model = chosen_model(given.model, given.base_url, given.api_key, config, folder, extensions)
    first = Speaker(model=model, speech=speech, circuit=circuit_for(model))
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
        spoken = replace(speech, dialect=other.dialect, context=other.context_length)
        yield Speaker(model=model, speech=spoken, circuit=circuit_for(model))
