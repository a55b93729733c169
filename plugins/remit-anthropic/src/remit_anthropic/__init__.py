"""The extension `anthropic`: models of the Anthropic Messages API, without its SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from remit.extensions import hookimpl

if TYPE_CHECKING:
    from remit.extensions import ModelProvider, Setup


@hookimpl
def add_model_providers(setup: Setup) -> Mapping[str, ModelProvider]:
    """Give the provider `anthropic`."""
    from remit_anthropic.model import provider

    return {"anthropic": provider(setup.settings)}
