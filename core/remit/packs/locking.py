"""Derives what to lock for a pack as it is installed now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from remit.argument_paths import may_be_text, schema_at
from remit.packs.describe import SkillDescription
from remit.packs.hashes import content_digest, digest_of, hash_files, wheel_tag
from remit.packs.installed import InstalledPack
from remit.packs.locked import LockedPack, LockedSkill
from remit.packs.manifest import Manifest, SkillTable, check_name
from remit.packs.skill_difference import rest_digest


def lock_pack(
    installed: InstalledPack,
    manifest: Manifest,
    described: Mapping[str, SkillDescription],
    *,
    before: LockedPack | None = None,
) -> LockedPack:
    """Return what to lock for a pack as it is now.

    Args:
        installed: the pack.
        manifest: its manifest.
        described: what `describe_pack` accepted.
        before: what was locked until now; of the same files, its hashes for other machines are kept, and its wheels.

    Raises:
        ManifestError: the manifest is another pack's.
        PackError: a file of the pack cannot be read.
    """
    check_name(installed, manifest)
    files, compiled = hash_files(installed)
    locked = LockedPack(
        distribution=installed.distribution,
        version=installed.version,
        package=installed.package,
        editable=installed.editable,
        source=str(installed.source or ""),
        files=files,
        compiled={wheel_tag(installed): compiled} if compiled else {},
        manifest=manifest.digest,
        settings=digest_of(dict(manifest.settings)),
        permission=manifest.permission(),
        skills={name: _lock_skill(manifest, name, described.get(name)) for name in manifest.skills},
    )
    if before is None or (before.files, before.version) != (files, locked.version):
        return locked
    return replace(locked, compiled={**before.compiled, **locked.compiled}, wheels=before.wheels)


def _lock_skill(manifest: Manifest, name: str, described: SkillDescription | None) -> LockedSkill:
    known = described or SkillDescription(name=name, refused="it was not described")
    table = manifest.skills[name]
    return LockedSkill(
        table=manifest.tables[name],
        content=content_digest(name, known.description, known.schema),
        rest=rest_digest(table),
        effect=table.effect,
        impact=tuple(sorted(set(table.impact))),
        description=known.description,
        schema=known.schema,
        permission=manifest.skill_permission(name),
        refused=known.refused or _about_nothing(table, known.schema),
    )


def _about_nothing(table: SkillTable, schema: Mapping[str, Any]) -> str:
    """Return why a skill is refused that says something about an argument which it does not have.

    A misspelt secret argument would be written to the log, and a target that is never there would
    let one answer of a person stand for every other argument.
    """
    has = schema.get("properties", {})
    for key in ("targets", "secret_arguments", "show"):
        for name in getattr(table, key):
            if name not in has and not (key == "targets" and schema_at(schema, name) is not None):
                return (
                    f"its {key} names {name!a}, which is no argument of its handler ({', '.join(has) or 'it has none'})"
                )
    for way, kind in table.targets.items():
        if kind == "path" and not may_be_text(schema, way):
            return f"its targets say that {way!a} is a path, where no text can stand"
    return ""
