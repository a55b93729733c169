"""Which provider a model is asked of: the same one whether or not the extension that gives it has loaded.

A name with a provider in front (`anthropic:claude-opus-5-5`) and a name that has a colon of its own (`qwen3:8b`) look
alike. Remit's own client takes such a name only for an endpoint that is named beside it: else what was meant for the
provider of an extension, key and conversation, would go to another company when that extension is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from remit.errors import DeploymentError
from remit.extensions.values import NO_PROVIDERS, OWN_PROVIDER
from remit.packs.folding import fold

if TYPE_CHECKING:
    from remit.deployment.config import FallbackConfig, ModelConfig
    from remit.extensions.extensions import Extensions

_PROVIDER = re.compile(r"[a-z][a-z0-9_]{1,31}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Where a model is asked for.

    Attributes:
        provider: `OWN_PROVIDER` for Remit's own client, else the name of an extension's model provider, given or not.
        name: of the model, as that provider knows it.
    """

    provider: str
    name: str

    @property
    def own(self) -> bool:
        """Whether Remit's own client asks."""
        return self.provider == OWN_PROVIDER


class Naming(Protocol):
    """What a deployment says of extensions: `[extensions]`, or what is made of it."""

    @property
    def enabled(self) -> tuple[str, ...]:
        """Those that may load."""
        ...

    @property
    def blocked(self) -> tuple[str, ...]:
        """Those that never load."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Extension to its settings."""
        ...


def known_names(named: Naming, locked: Iterable[str]) -> frozenset[str]:
    """Return the names of all extensions that a deployment or its lock knows, in the form of `fold`."""
    return frozenset(map(fold, (*named.enabled, *named.blocked, *named.settings, *locked)))


def asked_by_table(table: ModelConfig | FallbackConfig, extensions: Extensions) -> Asked:
    """Return where the model of a table of `remit.toml` is asked for: its `provider` counts before its name."""
    if table.provider and _split(table.name)[0] != table.provider:
        return Asked(provider=table.provider, name=table.name)
    return asked_by_name(table.name, table.provider, extensions, endpoint=bool(table.base_url.strip()))


def asked_by_name(name: str, provider: str, extensions: Extensions, *, endpoint: bool) -> Asked:
    """Return where a model is asked for that is named by itself, as a program and `--model` do.

    Args:
        name: of the model, perhaps with its provider in front.
        provider: the deployment's, for a name without one; empty where it has none.
        extensions: what they give, and their names.
        endpoint: an endpoint is named beside it.
    """
    prefix, rest = _split(name)
    if not prefix or prefix in NO_PROVIDERS:
        return _plain(name, provider)
    if prefix == OWN_PROVIDER:
        return Asked(provider=OWN_PROVIDER, name=name if endpoint else rest)
    given = {item.name for item in extensions.of("model provider")}
    if prefix == provider or prefix in given or fold(prefix) in extensions.known:
        return Asked(provider=prefix, name=rest)
    return _plain(name, provider) if provider or endpoint else Asked(provider=prefix, name=rest)


def no_such_provider(asked: Asked, configured: str, extensions: Extensions) -> DeploymentError:
    """Return the error for a provider that no loaded extension gives.

    Args:
        asked: where the model is asked for.
        configured: the name as it was written.
        extensions: what they give, and what of them is left out.
    """
    given = ", ".join(item.name for item in extensions.of("model provider")) or "none"
    left_out = ", ".join(dict.fromkeys(one.extension for one in extensions.problems))
    why = "; extensions are off" if extensions.off else f"; left out: {left_out}" if left_out else ""
    remedy = "remit extensions list shows what is enabled"
    if configured != asked.name:
        remedy += f"\nwhere {configured} is the whole name of a model, say where it is asked: base_url (--base-url)"
    return DeploymentError(
        f"no enabled extension gives the model provider {asked.provider!r} (given: {given}{why})", remedy=remedy
    )


def _plain(name: str, provider: str) -> Asked:
    return Asked(provider=provider or OWN_PROVIDER, name=name)


def _split(name: str) -> tuple[str, str]:
    """Return what may be a provider in front of a name, empty for nothing, and what stands behind it."""
    prefix, colon, rest = name.partition(":")
    return (prefix, rest) if colon and _PROVIDER.fullmatch(prefix) else ("", name)
