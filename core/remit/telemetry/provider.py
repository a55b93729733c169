"""Whose model it is, told by its endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from remit.models.protocol import Model
from remit.telemetry import names
from remit.telemetry.instruments import Attributes

HOSTS: Mapping[str, str] = {
    "anthropic.com": "anthropic",
    "deepseek.com": "deepseek",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "groq.com": "groq",
    "mistral.ai": "mistral_ai",
    "moonshot.ai": "moonshot_ai",
    "moonshot.cn": "moonshot_ai",
    "openai.azure.com": "azure.ai.openai",
    "perplexity.ai": "perplexity",
    "x.ai": "x_ai",
}
"""End of a host name to the provider's name in the GenAI conventions."""

PORTS = {"http": 80, "https": 443}


def provider(model: Model) -> str:
    """Return the provider: what the model says itself, else by host; any other endpoint speaks like `openai`.

    A model without an endpoint of its own is `custom`.
    """
    own = getattr(model, "provider", "")
    if isinstance(own, str) and own:
        return own
    host = _url(model)[0]
    if not host:
        return "custom"
    return next((name for end, name in HOSTS.items() if host == end or host.endswith(f".{end}")), "openai")


def endpoint(model: Model) -> Attributes:
    """Return `server.address` and `server.port` of a model behind a URL, nothing for others."""
    host, port = _url(model)
    return {names.SERVER: host, names.PORT: port} if host else {}


def _url(model: Model) -> tuple[str, int]:
    url = getattr(model, "url", "")
    if not isinstance(url, str):
        return "", 0
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
