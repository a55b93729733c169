"""Which model answers: the one of the program, of an extension, or any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.extensions.extensions import Extensions
from remit.extensions.values import ModelWanted
from remit.models.circuit import Circuit, circuit_of
from remit.models.keys import resolve_key
from remit.models.openai import OpenAIModel
from remit.models.price import Price, PricedModel
from remit.models.protocol import Model

if TYPE_CHECKING:
    from remit.deployment.config import Config, FallbackConfig, PriceConfig

LONGEST_REPLY = 10
"""How many times the configured timeout one reply may take while it keeps coming."""


def chosen_model(
    model: Model | str | None,
    base_url: str | None,
    api_key: str | None,
    config: Config,
    folder: Path,
    extensions: Extensions,
) -> Model:
    """Return the model for an agent.

    Args:
        model: a model, or the name of one; None for the deployment's own.
        base_url: instead of the deployment's; then neither its key nor its provider is used.
        api_key: the key, or a reference.
        config: of the deployment; its price counts only for its own model.
        folder: that references to files are relative to.
        extensions: what they provide.

    Raises:
        UsageError: no model is named.
        DeploymentError: the endpoint, the key or the provider cannot be used.
    """
    if model is not None and not isinstance(model, str):
        return model
    own = config.model
    name = model or own.name
    provider = own.provider if base_url is None else ""
    if not (name or provider):
        raise UsageError(
            "no model is named", remedy='write Agent(model="..."), or name = "..." under [model] in remit.toml'
        )
    price = own.price if name == own.name and base_url is None else None
    if base_url is None:
        base_url, api_key = own.base_url or None, api_key or _below(folder, own.api_key)
    extensions.check_reference(own.api_key, "model.api_key")
    return _priced(_made(name, provider, base_url, api_key, own.timeout, extensions), price)


def fallback_models(config: Config, folder: Path, extensions: Extensions) -> Iterator[tuple[FallbackConfig, Model]]:
    """Yield the models that are asked when the deployment's own is down, in their order.

    Raises:
        DeploymentError: an endpoint, a key or a provider cannot be used.
    """
    for number, other in enumerate(config.model.fallback):
        extensions.check_reference(other.api_key, f"model.fallback.{number}.api_key")
        key = _below(folder, other.api_key)
        made = _made(other.name, other.provider, other.base_url or None, key, other.timeout, extensions)
        yield other, _priced(made, other.price)


def circuit_for(model: Model) -> Circuit:
    """Return the circuit of a model's endpoint, shared by the whole process; of its own for one without a URL."""
    url = getattr(model, "url", "")
    return circuit_of(f"{model.name} {url}") if isinstance(url, str) and url else Circuit()


def _made(
    name: str, provider: str, base_url: str | None, api_key: str | None, timeout: float, extensions: Extensions
) -> Model:
    key = extensions.secret(api_key)
    if extensions.of("model provider") or provider:
        wanted = ModelWanted(name=name, base_url=base_url, api_key=resolve_key(key), timeout=timeout)
        made = extensions.model(provider, wanted)
        if made is not None:
            return made
    return OpenAIModel(
        name,
        base_url=base_url,
        api_key=key,
        read_timeout=timeout,
        longest_reply=LONGEST_REPLY * timeout,
    )


def _priced(model: Model, price: PriceConfig | None) -> Model:
    return model if price is None else PricedModel(model, Price(input=price.input, output=price.output))


def _below(folder: Path, reference: str | None) -> str | None:
    """Return a reference of `remit.toml` with its file, if it is one, found from the deployment's folder."""
    if reference is None or not reference.startswith("file:"):
        return reference
    return f"file:{folder / Path(reference.removeprefix('file:')).expanduser()}"
