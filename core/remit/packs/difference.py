"""Compares what two versions of a pack want: every widening is named, and what nobody can rank is said to be so.

A step is `same` or `narrows` only where each single thing is known to be no wider. What one side does not tell (a
lock knows no settings, a wheel that has not run no descriptions) and cannot be shown to be equal is `unranked`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.packs.describe import SkillDescription
from remit.packs.folding import fold
from remit.packs.hashes import content_digest, digest_of
from remit.packs.locked import LockedPack, LockedSkill
from remit.packs.manifest import Manifest
from remit.packs.permissions import Permission
from remit.packs.ranks import Change, Changes, change
from remit.packs.skill_difference import compare_tables, rest_digest
from remit.packs.tables import Setting, SkillTable
from remit.values import EFFECTS, Effect, Impact


@dataclass(frozen=True, kw_only=True)
class WantedSkill:
    """What one version says of one skill; None for what it does not tell.

    Attributes:
        effect: as declared.
        impact: as declared.
        permission: what it asks for, with the pack's default settings.
        digest: of its whole `[[skill]]` table.
        table: the table itself.
        rest: digest of the table without effect, impact, uses and limits.
        content: digest of name, description and schema.
        description: what a model reads.
        schema: of its arguments.
        refused: why it cannot be used; empty when it can.
        settings: hash over the pack's default settings, which each of its handlers reads.
    """

    effect: Effect
    impact: frozenset[Impact]
    permission: Permission
    digest: str
    table: SkillTable | None = None
    rest: str = ""
    content: str | None = None
    description: str | None = None
    schema: Mapping[str, Any] | None = None
    refused: str = ""
    settings: str | None = None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What one version of a pack wants, and where it comes from; empty or None for what it does not tell."""

    distribution: str
    version: str
    package: str
    manifest: str
    permission: Permission
    skills: Mapping[str, WantedSkill] = field(default_factory=dict)
    settings: Mapping[str, Setting] | None = None
    files: str = ""
    editable: bool = False


def wanted_by_lock(locked: LockedPack) -> Wanted:
    """Return what was accepted."""
    return Wanted(
        distribution=locked.distribution,
        version=locked.version,
        package=locked.package,
        manifest=locked.manifest,
        permission=locked.permission,
        skills={name: _locked_skill(skill, locked.settings or None) for name, skill in locked.skills.items()},
        files=locked.files,
        editable=locked.editable,
    )


def _locked_skill(skill: LockedSkill, settings: str | None) -> WantedSkill:
    return WantedSkill(
        effect=skill.effect,
        impact=frozenset(skill.impact),
        permission=skill.permission,
        digest=skill.table,
        rest=skill.rest,
        content=skill.content,
        description=skill.description,
        schema=skill.schema,
        refused=skill.refused,
        settings=settings,
    )


def wanted_by_manifest(
    manifest: Manifest,
    *,
    distribution: str,
    version: str,
    package: str,
    described: Mapping[str, SkillDescription] | None = None,
    files: str = "",
    editable: bool = False,
) -> Wanted:
    """Return what a manifest asks for.

    Args:
        manifest: of the pack.
        distribution: its distribution.
        version: of the distribution.
        package: the pack's package.
        described: what a cell said of its skills; None when nothing of it has run.
        files: digest over its files, as `hash_files` returns it; empty for unknown.
        editable: a development install.
    """
    told = described or {}
    return Wanted(
        distribution=distribution,
        version=version,
        package=package,
        manifest=manifest.digest,
        permission=manifest.permission(),
        skills={name: _manifest_skill(manifest, name, told.get(name)) for name in manifest.skills},
        settings=manifest.settings,
        files=files,
        editable=editable,
    )


def _manifest_skill(manifest: Manifest, name: str, told: SkillDescription | None) -> WantedSkill:
    table = manifest.skills[name]
    return WantedSkill(
        effect=table.effect,
        impact=frozenset(table.impact),
        permission=manifest.skill_permission(name),
        digest=manifest.tables[name],
        table=table,
        rest=rest_digest(table),
        content=content_digest(name, told.description, told.schema) if told else None,
        description=told.description if told else None,
        schema=told.schema if told else None,
        refused=told.refused if told else "",
        settings=digest_of(dict(manifest.settings)),
    )


def compare_wanted(old: Wanted, new: Wanted) -> Changes:
    """Rank the step from one version of a pack to another, each difference named."""
    return Changes(
        changes=(
            *_permission("the pack", old.permission, new.permission),
            *_skills(old, new),
            *_identity(old, new),
            *_rest(old, new),
        )
    )


def _permission(who: str, old: Permission, new: Permission) -> Iterator[Change]:
    for entry in new.beyond_by_key(old):
        yield change(True, f"{who} asks for {entry}")
    for entry in old.beyond_by_key(new):
        yield change(False, f"{who} no longer asks for {entry}")


def _skills(old: Wanted, new: Wanted) -> Iterator[Change]:
    for name in sorted(old.skills.keys() | new.skills.keys()):
        if name not in old.skills:
            yield change(True, f"skill {name} is new")
        elif name not in new.skills:
            yield change(False, f"skill {name} is gone")
        else:
            one_by_one = old.settings is not None and new.settings is not None
            same = _same_files(old, new)
            yield from compare_skill(name, old.skills[name], new.skills[name], same_files=same, settings=not one_by_one)


def compare_skill(
    name: str, old: WantedSkill, new: WantedSkill, *, same_files: bool = False, settings: bool = True
) -> Iterator[Change]:
    """Rank the step from one version of a skill to another.

    Args:
        name: of the skill.
        old: what was accepted.
        new: what is there now.
        same_files: both come from the very same files, so what was not told cannot differ.
        settings: rank the pack's default settings, too; False for who names them one by one.
    """
    yield from _permission(f"skill {name}", old.permission, new.permission)
    if old.effect != new.effect:
        lower = EFFECTS.index(new.effect) < EFFECTS.index(old.effect)
        yield change(lower, f"skill {name} declares {new.effect}, it was {old.effect}")
    for impact in sorted(old.impact - new.impact):
        yield change(True, f"skill {name} no longer declares the impact {impact}")
    for impact in sorted(new.impact - old.impact):
        yield change(False, f"skill {name} declares the impact {impact}")
    if bool(old.refused) != bool(new.refused):
        state = f"is refused: {new.refused}" if new.refused else "can be used now, it was refused"
        yield change(bool(old.refused), f"skill {name} {state}")
    if old.digest != new.digest:
        yield from _tables(name, old, new)
    if not same_files:
        yield from _contents(name, old, new)
    if settings and old.settings and new.settings and old.settings != new.settings:
        yield Change(rank="unranked", line=f"skill {name}: the pack's default settings, which it reads, changed")


def _tables(name: str, old: WantedSkill, new: WantedSkill) -> Iterator[Change]:
    if old.table is not None and new.table is not None:
        yield from compare_tables(name, old.table, new.table)
    elif not old.rest or old.rest != new.rest:
        yield Change(rank="unranked", line=f"skill {name}: its table in pack.toml changed")


def _contents(name: str, old: WantedSkill, new: WantedSkill) -> Iterator[Change]:
    """What a model reads can tell it to do anything: nobody ranks text."""
    if old.content is None or new.content is None:
        yield Change(rank="unranked", line=f"skill {name}: whether its description and arguments changed is not known")
        return
    if old.content == new.content:
        return
    if old.description != new.description:
        yield Change(rank="unranked", line=f"skill {name}: its description changed")
    if old.schema != new.schema or old.description == new.description:
        yield Change(rank="unranked", line=f"skill {name}: its arguments changed")


def _identity(old: Wanted, new: Wanted) -> Iterator[Change]:
    if fold(old.distribution) != fold(new.distribution):
        yield Change(rank="unranked", line=f"it comes from {new.distribution}, it was {old.distribution}")
    if old.package != new.package:
        yield Change(rank="unranked", line=f"its package is {new.package}, it was {old.package}")
    if old.editable != new.editable:
        state = "a development install, whose files are not held" if new.editable else "an ordinary install"
        yield change(new.editable, f"it is {state}")


def _rest(old: Wanted, new: Wanted) -> Iterator[Change]:
    if old.manifest != new.manifest and old.settings is not None and new.settings is not None:
        yield from _settings(old.settings, new.settings)
    elif old.manifest != new.manifest and not _settings_known(old, new):
        yield Change(rank="unranked", line="its pack.toml changed, and whether its settings did is not known")
    if old.version != new.version:
        yield Change(rank="same", line=f"its version is {new.version}, it was {old.version}")
    if old.files and new.files and old.files != new.files:
        yield Change(rank="same", line="its code changed")


def _settings(old: Mapping[str, Setting], new: Mapping[str, Setting]) -> Iterator[Change]:
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield Change(rank="unranked", line=f"setting {name} is {'new' if name in new else 'gone'}")
        elif (type(old[name]), old[name]) != (type(new[name]), new[name]):
            yield Change(rank="unranked", line=f"setting {name}: its default {old[name]!r} becomes {new[name]!r}")


def _settings_known(old: Wanted, new: Wanted) -> bool:
    """Whether both sides told a hash of their settings for every skill that both have."""
    both = old.skills.keys() & new.skills.keys()
    return all(side.skills[name].settings for side in (old, new) for name in both)


def _same_files(old: Wanted, new: Wanted) -> bool:
    return bool(old.files) and old.files == new.files
