"""Which model answers: the one of the program, of an extension, or any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.extensions.asked_provider import Asked, asked_by_name, asked_by_table, no_such_provider
from remit.extensions.extensions import Extensions
from remit.extensions.values import ModelWanted
from remit.loop.manner import behaviour_for
from remit.models.circuit import Circuit, circuit_of
from remit.models.endpoint import LONGEST_REPLY
from remit.models.keys import resolve_key
from remit.models.openai import OpenAIModel
from remit.models.price import Price, PricedModel
from remit.models.protocol import Model

if TYPE_CHECKING:
    from remit.deployment.config import BreakerConfig, Config, FallbackConfig, ModelConfig


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
        api_key: the key, or a reference; the deployment's own goes only where the deployment sends it.
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
    asked = asked_for(model, base_url, config, extensions)
    if not name and asked.own:
        raise UsageError(
            "no model is named", remedy='write Agent(model="..."), or name = "..." under [model] in remit.toml'
        )
    price = price_of(name, own, own, folder)[0] if base_url is None else None
    if base_url is None and asked.provider == asked_by_table(own, extensions).provider:
        base_url, api_key = own.base_url or None, api_key or _below(folder, own.api_key)
    extensions.check_reference(own.api_key, "model.api_key")
    return _priced(_made(name, asked, base_url, api_key, own, extensions), price)


def asked_for(model: str | None, base_url: str | None, config: Config, extensions: Extensions) -> Asked:
    """Return where the model of an agent is asked for; arguments as of `chosen_model`."""
    own = config.model
    if base_url is not None:
        return asked_by_name(model or own.name, "", extensions, endpoint=bool(base_url.strip()))
    home = asked_by_table(own, extensions)
    if not model or model == own.name:
        return home
    provider = own.provider if home.own else home.provider
    return asked_by_name(model, provider, extensions, endpoint=home.own and bool(own.base_url.strip()))


def fallback_models(config: Config, folder: Path, extensions: Extensions) -> Iterator[tuple[FallbackConfig, Model]]:
    """Yield the models that are asked when the deployment's own is down, in their order.

    Raises:
        DeploymentError: an endpoint, a key or a provider cannot be used.
    """
    for number, other in enumerate(config.model.fallback):
        extensions.check_reference(other.api_key, f"model.fallback.{number}.api_key")
        key = _below(folder, other.api_key)
        asked = asked_by_table(other, extensions)
        made = _made(other.name, asked, other.base_url or None, key, other, extensions)
        yield other, _priced(made, price_of(other.name, other, config.model, folder)[0])


def circuit_for(model: Model, breaker: BreakerConfig) -> Circuit:
    """Return the circuit of a model's endpoint, shared by the whole process; of its own for one without a URL."""
    url = getattr(model, "url", "")
    numbers = breaker.model_dump()
    return circuit_of(f"{model.name} {url}", **numbers) if isinstance(url, str) and url else Circuit(**numbers)


def price_of(name: str, one: ModelConfig | FallbackConfig, own: ModelConfig, folder: Path) -> tuple[Price | None, str]:
    """Return the price of a model and where it comes from: its own, else the one in the deployment's list.

    Args:
        name: of the model.
        one: its table; the price in it counts only for the name in it.
        own: the table `[model]`, which names the list.
        folder: that the list is found from.

    Raises:
        DeploymentError: the list cannot be read.
    """
    if one.price is not None and name == one.name:
        return Price(**one.price.model_dump()), "remit.toml"
    if own.prices is None:
        return None, ""
    from remit.models.price_list import listed_price

    path = folder / Path(own.prices.removeprefix("file:")).expanduser()
    price = listed_price(path, name, one.provider)
    return price, path.name if price is not None else ""


def _made(
    name: str,
    asked: Asked,
    base_url: str | None,
    api_key: str | None,
    own: ModelConfig | FallbackConfig,
    extensions: Extensions,
) -> Model:
    key = extensions.secret(api_key)
    behaviour = behaviour_for(name, own)
    if not asked.own:
        wanted = ModelWanted(
            name=asked.name,
            base_url=base_url,
            api_key=resolve_key(key),
            timeout=own.timeout,
            total_timeout=own.total_timeout,
            behaviour=behaviour,
        )
        made = extensions.model(asked.provider, wanted)
        if made is None:
            raise no_such_provider(asked, name, extensions)
        return made
    return OpenAIModel(
        asked.name,
        base_url=base_url,
        api_key=key,
        read_timeout=own.timeout,
        longest_reply=LONGEST_REPLY * own.timeout,
        total_timeout=own.total_timeout,
        behaviour=behaviour,
    )


def _priced(model: Model, price: Price | None) -> Model:
    return model if price is None else PricedModel(model, price)


def _below(folder: Path, reference: str | None) -> str | None:
    """Return a reference of `remit.toml` with its file, if it is one, found from the deployment's folder."""
    if reference is None or not reference.startswith("file:"):
        return reference
    return f"file:{folder / Path(reference.removeprefix('file:')).expanduser()}"
