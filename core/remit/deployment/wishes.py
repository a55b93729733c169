"""What somebody wants of a pack, turned into the keys of its table in `remit.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit.deployment.config import PackConfig
from remit.deployment.edit import Key
from remit.deployment.load import nearest
from remit.errors import UsageError
from remit.packs.manifest import Manifest
from remit.packs.permissions import FIELDS, effective_effect, flatten
from remit.packs.words import propose_grant


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What is wanted of a pack; None leaves a thing as it is, or to the narrowest proposal.

    Attributes:
        grants: what to give, `{"fs.read": [...]}` or nested.
        skills: the skills that can be called.
        accept_read: skills whose declared `read` is accepted.
        settings: values for the pack's settings.
        secrets: logical name to reference.
        required: nothing starts without this pack.
    """

    grants: Mapping[str, Any] | None = None
    skills: Sequence[str] | None = None
    accept_read: Sequence[str] | None = None
    settings: Mapping[str, Any] | None = None
    secrets: Mapping[str, str] | None = None
    required: bool | None = None


def table_values(manifest: Manifest, table: PackConfig, wishes: Wishes) -> dict[Key, Any]:
    """Return what to write into the pack's table, key path to value, None for what goes.

    Raises:
        UsageError: a skill that the pack does not have.
        DeploymentError: a setting that does not exist or has the wrong type.
        PolicyError: a grant with an unknown key.
    """
    chosen = manifest.settings_with({**table.settings, **(wishes.settings or {})})
    names = table.skills if wishes.skills is None else checked_skills(manifest, wishes.skills)
    values: dict[Key, Any] = {("enabled",): True, **_plain(manifest, wishes)}
    if wishes.grants is not None:
        values.update(_grant_values(flatten(wishes.grants)))
    elif not table.grant.given():
        values.update(_narrowest(manifest, chosen, names))
    accepted = (
        unverified_reads(manifest, chosen, names)
        if wishes.accept_read is None
        else checked_skills(manifest, wishes.accept_read)
    )
    if tuple(accepted) != table.accept_read:
        values["accept_read",] = accepted or None
    return values


def _plain(manifest: Manifest, wishes: Wishes) -> dict[Key, Any]:
    values: dict[Key, Any] = {}
    if wishes.required is not None:
        values["required",] = wishes.required
    if wishes.skills is not None:
        values["skills",] = checked_skills(manifest, wishes.skills)
    values.update({("settings", name): value for name, value in (wishes.settings or {}).items()})
    values.update({("secrets", name): value for name, value in (wishes.secrets or {}).items()})
    return values


def checked_skills(manifest: Manifest, names: Sequence[str]) -> list[str]:
    """Return `names` when the pack has every one of them.

    Raises:
        UsageError: it does not; the message has the nearest name.
    """
    for name in names:
        if name not in manifest.skills:
            close = nearest(name, tuple(manifest.skills))
            hint = f"did you mean {close!r}?" if close else f"it has {', '.join(manifest.skills)}"
            raise UsageError(f"pack {manifest.name} has no skill {name!r}; {hint}")
    return list(names)


def unverified_reads(manifest: Manifest, settings: Mapping[str, Any], names: Iterable[str] | None = None) -> list[str]:
    """Return the skills that declare `read` and reach the network or secrets: nobody can verify that."""
    wanted = manifest.skills if names is None else set(names)
    return [name for name in manifest.skills if name in wanted and _unverified(manifest, settings, name)]


def _unverified(manifest: Manifest, settings: Mapping[str, Any], name: str) -> bool:
    right = manifest.skill_permission(name, settings)
    declared = manifest.skills[name].effect
    accepted = effective_effect(declared, right, accept_read=True)
    return declared == "read" and effective_effect(declared, right) != accepted


def _grant_values(flat: Mapping[str, Any]) -> dict[Key, Any]:
    """Return the keys of `grant`; those that are not named go back to what the pack asks for."""
    values: dict[Key, Any] = {("grant", *key.split(".")): None for key in (*FIELDS, "shm", "limits")}
    for key, value in flat.items():
        values["grant", *key.split(".")] = list(value) if isinstance(value, tuple) else value
    return values


def _narrowest(manifest: Manifest, settings: Mapping[str, Any], names: Iterable[str] | None) -> dict[Key, Any]:
    """Return grant lines only where what the skills need is less than what the pack asks for."""
    asked = manifest.permission(settings)
    least = propose_grant(manifest, settings, skills=names)
    fewer = {key: getattr(least, name) for key, name in FIELDS.items() if getattr(asked, name) != getattr(least, name)}
    return {("grant", *key.split(".")): list(entries) for key, entries in fewer.items()}
