"""The extension `google`: models of the Gemini API, without its SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from remit.extensions import hookimpl

if TYPE_CHECKING:
    from remit.extensions import ModelProvider, Setup


@hookimpl
def add_model_providers(setup: Setup) -> Mapping[str, ModelProvider]:
    """Give the provider `google`."""
    from remit_google.model import provider

    return {"google": provider(setup.settings)}
