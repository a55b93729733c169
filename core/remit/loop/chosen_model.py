"""Which model answers: the one of the program, of an extension, or any OpenAI-compatible endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.extensions.extensions import Extensions
from remit.extensions.values import ModelWanted
from remit.models.keys import resolve_key
from remit.models.openai import OpenAIModel
from remit.models.protocol import Model

if TYPE_CHECKING:
    from remit.deployment.config import Config

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
        config: of the deployment.
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
    if base_url is None:
        base_url, api_key = own.base_url or None, api_key or _below(folder, own.api_key)
    extensions.check_reference(own.api_key, "model.api_key")
    key = extensions.secret(api_key)
    if extensions.of("model provider") or provider:
        wanted = ModelWanted(name=name, base_url=base_url, api_key=resolve_key(key), timeout=own.timeout)
        made = extensions.model(provider, wanted)
        if made is not None:
            return made
    return OpenAIModel(
        name,
        base_url=base_url,
        api_key=key,
        read_timeout=own.timeout,
        longest_reply=LONGEST_REPLY * own.timeout,
    )


def _below(folder: Path, reference: str | None) -> str | None:
    """Return a reference of `remit.toml` with its file, if it is one, found from the deployment's folder."""
    if reference is None or not reference.startswith("file:"):
        return reference
    return f"file:{folder / Path(reference.removeprefix('file:')).expanduser()}"
