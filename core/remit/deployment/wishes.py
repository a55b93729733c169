"""What somebody wants of a pack, turned into the keys of its table in `remit.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from remit.deployment.closed import is_reference
from remit.deployment.config import PackConfig
from remit.deployment.edit import Key
from remit.deployment.load import nearest
from remit.errors import DeploymentError, UsageError
from remit.packs.manifest import Manifest
from remit.packs.permissions import FIELDS, effective_effect, flatten
from remit.packs.words import propose_grant


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What is wanted of a pack; None leaves a thing as it is, or to the narrowest proposal.

    Attributes:
        grants: what to give, `{"fs.read": [...]}` or nested; a key that is not named gives the least
            that the chosen skills need.
        skills: the skills that can be called.
        accept_read: skills whose declared `read` is accepted.
        settings: values for the pack's settings.
        secrets: logical name to reference.
        required: nothing starts without this pack.
        regrants: keys of the grant to change, None for what the pack asks for; the others stay.
        extensions: some are enabled, which may resolve references of kinds of their own.
    """

    grants: Mapping[str, Any] | None = None
    skills: Sequence[str] | None = None
    accept_read: Sequence[str] | None = None
    settings: Mapping[str, Any] | None = None
    secrets: Mapping[str, str] | None = None
    required: bool | None = None
    regrants: Mapping[str, Any] | None = None
    extensions: bool = False


def table_values(manifest: Manifest, table: PackConfig, wishes: Wishes) -> dict[Key, Any]:
    """Return what to write into the pack's table, key path to value, None for what goes.

    Raises:
        UsageError: a skill or setting that the pack does not have, or a value of another type.
        DeploymentError: the same of a setting in `remit.toml`.
        PolicyError: a grant with an unknown key.
    """
    check_settings(manifest, wishes.settings or {})
    chosen = manifest.settings_with({**table.settings, **(wishes.settings or {})})
    names = table.skills if wishes.skills is None else checked_skills(manifest, wishes.skills)
    values: dict[Key, Any] = {("enabled",): True, **_plain(manifest, wishes)}
    if wishes.regrants is not None:
        values.update(_regranted(wishes.regrants))
    elif wishes.grants is not None:
        values.update(_grant_values(flatten(wishes.grants), _narrowest(manifest, chosen, names)))
    elif not table.grant.given():
        values.update(_narrowest(manifest, chosen, names))
    elif wishes.skills is not None:
        values.update(_moved(manifest, table, chosen, names))
    accepted = (
        unverified_reads(manifest, chosen, names)
        if wishes.accept_read is None
        else checked_skills(manifest, wishes.accept_read)
    )
    if tuple(accepted) != table.accept_read:
        values["accept_read",] = accepted or None
    return values


def check_settings(manifest: Manifest, settings: Mapping[str, Any]) -> None:
    """Raise UsageError for a setting that the pack does not have, or a value of another type than its default."""
    try:
        manifest.settings_with(settings)
    except DeploymentError as error:
        raise UsageError(error.message, remedy=error.remedy) from None


def _plain(manifest: Manifest, wishes: Wishes) -> dict[Key, Any]:
    values: dict[Key, Any] = {}
    if wishes.required is not None:
        values["required",] = wishes.required
    if wishes.skills is not None:
        values["skills",] = checked_skills(manifest, wishes.skills)
    values.update({("settings", name): value for name, value in (wishes.settings or {}).items()})
    for name, reference in (wishes.secrets or {}).items():
        values["secrets", name] = _checked_reference(manifest, name, reference, extensions=wishes.extensions)
    return values


def _checked_reference(manifest: Manifest, name: str, reference: str, *, extensions: bool) -> str:
    """A secret's value must not reach a file or a screen: what is no reference is not repeated."""
    asked = manifest.permissions.secrets
    if name not in asked:
        close = nearest(name, asked)
        hint = f"; did you mean {close!r}?" if close else f"; it asks for {', '.join(asked) or 'none'}"
        raise UsageError(f"pack {manifest.name} asks for no secret {name!r}{hint}")
    if not is_reference(reference, extensions=extensions):
        raise UsageError(
            f"secret {name} of pack {manifest.name}: that is no reference, and a secret itself is never written down",
            remedy=f"{name}=env:{name.upper()}, {name}=file:/path or {name}=keyring:service/name",
        )
    return reference


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


def _grant_values(flat: Mapping[str, Any], least: Mapping[Key, Any]) -> dict[Key, Any]:
    """Return the keys of `grant`; those that are not named give the least that the chosen skills need."""
    values: dict[Key, Any] = {("grant", *key.split(".")): None for key in (*FIELDS, "shm", "limits")}
    values.update(least)
    for key, value in flat.items():
        values["grant", *key.split(".")] = list(value) if isinstance(value, tuple) else value
    return values


def _regranted(changes: Mapping[str, Any]) -> dict[Key, Any]:
    flatten(changes)
    return {("grant", *key.split(".")): value for key, value in changes.items()}


def _narrowest(manifest: Manifest, settings: Mapping[str, Any], names: Iterable[str] | None) -> dict[Key, Any]:
    """Return grant lines only where what the skills need is less than what the pack asks for."""
    asked = manifest.permission(settings)
    least = propose_grant(manifest, settings, skills=names)
    fewer = {key: getattr(least, name) for key, name in FIELDS.items() if getattr(asked, name) != getattr(least, name)}
    return {("grant", *key.split(".")): list(entries) for key, entries in fewer.items()}


def _moved(
    manifest: Manifest, table: PackConfig, settings: Mapping[str, Any], names: Iterable[str] | None
) -> dict[Key, Any]:
    """Return grant lines for other chosen skills, where those that stand are the least for the old ones."""
    before = {name for name in table.skills or manifest.skills if name in manifest.skills}
    old, new = _narrowest(manifest, settings, before), _narrowest(manifest, settings, names)
    stands = {
        ("grant", *key.split(".")): list(entries) for key, entries in table.grant.given().items() if key in FIELDS
    }
    return {key: new.get(key) for key, entries in stands.items() if old.get(key) == entries}
