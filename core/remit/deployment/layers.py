"""Puts the managed file, the deployment's file and the flags of one run together: each only tightens."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from remit.deployment.agent_layers import tightened_agent, tightened_agents
from remit.deployment.config import Config, ExtensionsConfig, PackConfig, SubAgentConfig
from remit.deployment.load import ConfigFile, load_config
from remit.errors import DeploymentError, UsageError
from remit.packs.installed import fold
from remit.policy.config import DefaultsConfig, RuleConfig
from remit.policy.grants import ENABLES_LESS
from remit.provenance.level import SETTLES_LESS
from remit.values import strictest

MANAGED_FILE = Path("/etc/remit/remit.toml")
FLAGS = ("model", "agent", "defaults", "log")
_Table = TypeVar("_Table", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Layers:
    """What holds, and the ceilings that come from above.

    Attributes:
        config: the deployment's configuration after the managed file and the flags tightened it;
            pack names are in their canonical spelling.
        upper_grants: pack to what the managed file gives at most, key by key.
        upper_agents: agent to what the managed file says of it; its grants are ceilings.
        notes: what of the deployment's file does not hold, and why.
    """

    config: Config
    upper_grants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    upper_agents: Mapping[str, SubAgentConfig] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def canonical(name: str) -> str:
    """Return the spelling of a pack's name that its manifest would use."""
    return fold(name).replace("-", "_")


def load_managed(path: Path) -> ConfigFile | None:
    """Return the managed file, None when there is none.

    Raises:
        DeploymentError: it is wrong, or at its usual place and not root's alone to write.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DeploymentError(f"{path} cannot be read: {error.strerror or error}") from error
    others = found.st_uid != 0 or stat.S_IMODE(found.st_mode) & 0o022
    if path == MANAGED_FILE and os.name == "posix" and others:
        raise DeploymentError(f"{path} can be written by others than root", remedy=f"chmod 644 {path}")
    return load_config(path)


def combine(managed: Config | None, own: Config, flags: Mapping[str, Any] | None = None) -> Layers:
    """Combine the layers. Rules unite, grants intersect, the strictest default wins.

    Args:
        managed: the managed file, None when there is none.
        own: the deployment's `remit.toml`.
        flags: tables `model`, `agent`, `defaults` and `log` of one run.

    Raises:
        DeploymentError: one pack is written in two spellings, or `trust` stands outside the managed file.
        UsageError: a flag that does not exist or does not fit.
    """
    if own.trust:
        raise DeploymentError("the key `trust` is only for the managed file", remedy="run `remit trust`")
    packs = _canonical_packs(own)
    config = _with_flags(own.model_copy(update={"packs": packs}), flags or {})
    return Layers(config=config) if managed is None else _under(managed, config)


def stricter_defaults(upper: DefaultsConfig, lower: DefaultsConfig) -> DefaultsConfig:
    """Return the strictest of both, where `upper` counts only for what it wrote."""
    said = upper.model_fields_set
    chosen: dict[str, Any] = {}
    for key in ("read", "write", "external"):
        both = [getattr(lower, key)] + ([getattr(upper, key)] if key in said else [])
        chosen[key] = strictest(both)
    if "unattended" in said and upper.unattended == "deny":
        chosen["unattended"] = "deny"
    if "enforcement" in said and upper.enforcement == "kernel":
        chosen["enforcement"] = "kernel"
    for key in ("allow_yes", "allow_rules"):
        if (key in said or key in asked_by(upper)) and not getattr(upper, key):
            chosen[key] = False
    if "max_depth" in said:
        chosen["max_depth"] = min(upper.max_depth, lower.max_depth)
    if "two_person" in said:
        chosen["two_person"] = tuple(sorted({*upper.two_person, *lower.two_person}))
    if "session_grants" in said:
        chosen["session_grants"] = max(upper.session_grants, lower.session_grants, key=ENABLES_LESS.index)
    if "provenance" in said or "provenance" in asked_by(upper):
        chosen["provenance"] = max(upper.provenance, lower.provenance, key=SETTLES_LESS.index)
    if "provenance" in chosen or "check_egress" in said:
        chosen["check_egress"] = upper.egress or lower.egress
    return lower.model_copy(update=chosen)


def asked_by(upper: DefaultsConfig) -> frozenset[str]:
    """Return the keys that could settle a question which `upper` wrote: they hold only where it permits them itself."""
    said = {key for key in ("write", "external") if key in upper.model_fields_set and getattr(upper, key) == "ask"}
    return frozenset({"provenance"} if said else ()) | frozenset({"allow_yes"} if "write" in said else ())


def _canonical_packs(config: Config) -> dict[str, PackConfig]:
    packs: dict[str, PackConfig] = {}
    for written, pack in config.packs.items():
        name = canonical(written)
        if name in packs:
            raise DeploymentError(f"pack {name} is written twice under [packs], in two spellings")
        packs[name] = pack
    return packs


def _under(managed: Config, own: Config) -> Layers:
    upper = _canonical_packs(managed)
    rules, notes = _rules(managed, own)
    config = own.model_copy(
        update={
            "rules": rules,
            "packs": _packs(upper, own.packs),
            "model": _forced(managed.model, own.model),
            "agent": tightened_agent(managed.agent, own.agent),
            "agents": tightened_agents(managed.agents, own.agents),
            "log": _forced(managed.log, own.log),
            "notify": _forced(managed.notify, own.notify),
            "memory": _forced(managed.memory, own.memory),
            "cells": own.cells.within(managed.cells),
            "defaults": stricter_defaults(managed.defaults, own.defaults),
            "extensions": _extensions(managed.extensions, own.extensions),
            "host_skills": _narrowed(managed.host_skills, own.host_skills),
        }
    )
    return Layers(
        config=config,
        upper_grants={name: pack.grant.given() for name, pack in upper.items()},
        upper_agents=managed.agents,
        notes=(*notes, *_not_held(managed.defaults, own.defaults)),
    )


def _rules(managed: Config, own: Config) -> tuple[tuple[RuleConfig, ...], tuple[str, ...]]:
    permitted = managed.defaults.allow_rules
    kept = tuple(rule for rule in own.rules if permitted or rule.verdict != "allow")
    notes = tuple(
        f"rule {rule.id} does not hold: the managed file permits no allow rules"
        for rule in own.rules
        if rule not in kept
    )
    above = tuple(rule.model_copy(update={"id": f"managed.{rule.id}"}) for rule in managed.rules)
    return (*above, *kept), notes


def _not_held(managed: DefaultsConfig, own: DefaultsConfig) -> tuple[str, ...]:
    """Say which keys would settle what the managed file asks, so that nobody looks for them in vain."""
    both = stricter_defaults(managed, own)
    return tuple(
        f"defaults.{key} does not hold: the managed file asks, and permits no {key}"
        for key in sorted(asked_by(managed) - managed.model_fields_set)
        if getattr(both, key) != getattr(own, key)
    )


def _packs(upper: Mapping[str, PackConfig], lower: Mapping[str, PackConfig]) -> dict[str, PackConfig]:
    packs = {name: _pack(upper[name], pack) if name in upper else pack for name, pack in lower.items()}
    for name, pack in upper.items():
        if pack.required and name not in packs:
            packs[name] = _pack(pack, PackConfig())
    return packs


def _pack(upper: PackConfig, lower: PackConfig) -> PackConfig:
    said = upper.model_fields_set
    changes: dict[str, Any] = {
        "enabled": lower.enabled and (upper.enabled or "enabled" not in said),
        "required": lower.required or upper.required,
        "shared": lower.shared and (upper.shared or "shared" not in said),
        "settings": {**lower.settings, **upper.settings},
        "secrets": {**lower.secrets, **upper.secrets},
        "describe": {**lower.describe, **upper.describe},
    }
    if upper.skills is not None:
        own = upper.skills if lower.skills is None else lower.skills
        changes["skills"] = tuple(name for name in own if name in upper.skills)
    if "accept_read" in said:
        changes["accept_read"] = tuple(name for name in lower.accept_read if name in upper.accept_read)
    if upper.from_ is not None:
        changes["from_"] = upper.from_
    return lower.model_copy(update=changes)


def _forced(upper: _Table, lower: _Table) -> _Table:
    """What the upper layer wrote wins."""
    return lower.model_copy(update={key: getattr(upper, key) for key in upper.model_fields_set})


def _narrowed(upper: _Table, lower: _Table) -> _Table:
    """Lists that the upper layer wrote are ceilings."""
    changes = {
        key: tuple(one for one in getattr(lower, key) if one in getattr(upper, key)) for key in upper.model_fields_set
    }
    return lower.model_copy(update=changes)


def _extensions(upper: ExtensionsConfig, lower: ExtensionsConfig) -> ExtensionsConfig:
    """What the upper layer enables is a ceiling; what it requires or blocks, chooses or sets, holds."""
    said = upper.model_fields_set
    changes: dict[str, Any] = {
        "required": tuple(dict.fromkeys((*upper.required, *lower.required))),
        "blocked": tuple(dict.fromkeys((*upper.blocked, *lower.blocked))),
        "settings": {**lower.settings, **upper.settings},
        "signoff": upper.signoff or lower.signoff,
    }
    if "enabled" in said:
        known = {fold(name) for name in upper.enabled}
        changes["enabled"] = tuple(name for name in lower.enabled if fold(name) in known)
    if "pydantic_plugins" in said:
        changes["pydantic_plugins"] = tuple(one for one in lower.pydantic_plugins if one in upper.pydantic_plugins)
    return lower.model_copy(update=changes)


def _with_flags(config: Config, flags: Mapping[str, Any]) -> Config:
    unknown = sorted(set(flags) - set(FLAGS))
    if unknown:
        raise UsageError(f"a run cannot override {', '.join(unknown)}; it can override {', '.join(FLAGS)}")
    changes: dict[str, Any] = {}
    for name, table in flags.items():
        if table:
            changes[name] = _with_flag(name, getattr(config, name), table, config.extensions)
    return config.model_copy(update=changes)


def _with_flag(name: str, here: _Table, table: Mapping[str, Any], extensions: ExtensionsConfig) -> BaseModel:
    try:
        if isinstance(here, DefaultsConfig):
            return stricter_defaults(DefaultsConfig.model_validate(table), here)
        written = {**here.model_dump(by_alias=True, exclude_unset=True), **table}
        return type(here).model_validate(written, context={"extensions": extensions.enabled})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(str(part) for part in (name, *first["loc"]))
        raise UsageError(f"{key}: {first['msg'].removeprefix('Value error, ')}") from None
