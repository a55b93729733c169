"""What changed since a pack was locked: drift, which disables it, and widening, which a person must accept."""

from __future__ import annotations

from collections.abc import Mapping

from remit.packs.hashes import content_digest, hash_files, wheel_tag
from remit.packs.installed import InstalledPack, fold
from remit.packs.locked import LockedPack
from remit.packs.manifest import Manifest, check_name
from remit.values import EFFECTS


def drift(
    installed: InstalledPack, manifest: Manifest, locked: LockedPack, digests: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return what differs from the lock, one sentence each; empty when nothing does.

    An editable install is derived anew each run: only its distribution and package are held.

    Args:
        installed: the pack.
        manifest: its manifest.
        locked: what was accepted.
        digests: what `remit.packs.hashes.file_digests` returned; None to read the files now.

    Raises:
        ManifestError: the manifest is another pack's.
        PackError: a file of the pack cannot be read.
    """
    changes = [*_identity(installed, manifest, locked), *_own_hashes(locked)]
    if not installed.editable and not locked.editable:
        changes += _contents(installed, manifest, locked, digests)
    return tuple(changes)


def _identity(installed: InstalledPack, manifest: Manifest, locked: LockedPack) -> list[str]:
    check_name(installed, manifest)
    changes: list[str] = []
    if fold(installed.distribution) != fold(locked.distribution):
        changes.append(f"comes from {installed.distribution}, locked was {locked.distribution}")
    if installed.package != locked.package:
        changes.append(f"its package is {installed.package}, locked was {locked.package}")
    if installed.editable != locked.editable:
        kinds = {True: "a development install", False: "an ordinary install"}
        changes.append(f"is {kinds[installed.editable]}, locked was {kinds[locked.editable]}")
    return changes


def _own_hashes(locked: LockedPack) -> list[str]:
    return [
        f"skill {name}: the lock's own description and schema do not fit its hash"
        for name, skill in locked.skills.items()
        if content_digest(name, skill.description, skill.schema) != skill.content
    ]


def _contents(
    installed: InstalledPack, manifest: Manifest, locked: LockedPack, digests: Mapping[str, str] | None
) -> list[str]:
    changes: list[str] = []
    if installed.version != locked.version:
        changes.append(f"its version is {installed.version}, locked was {locked.version}")
    if manifest.digest != locked.manifest:
        changes.append("its pack.toml changed")
        changes += _tables(manifest, locked)
    files, compiled = hash_files(installed, digests)
    if files != locked.files:
        changes.append("its files changed")
    tag = wheel_tag(installed)
    if compiled and tag not in locked.compiled:
        changes.append(f"its compiled files for {tag} are not locked yet")
    elif compiled != locked.compiled.get(tag, ""):
        changes.append("its compiled files changed")
    return changes


def _tables(manifest: Manifest, locked: LockedPack) -> list[str]:
    names = sorted({*manifest.tables, *locked.skills})
    return [f"skill {name} {_change(name, manifest, locked)}" for name in names if _change(name, manifest, locked)]


def _change(name: str, manifest: Manifest, locked: LockedPack) -> str:
    if name not in locked.skills:
        return "is new"
    if name not in manifest.tables:
        return "is gone"
    return "" if manifest.tables[name] == locked.skills[name].table else "changed its table"


def widened(manifest: Manifest, locked: LockedPack) -> tuple[str, ...]:
    """Return what a manifest asks for beyond what was accepted, one sentence each.

    Counted are rights, an effect declared lower, an impact that is no longer declared, and new skills.
    """
    wider = [f"asks for {entry}" for entry in manifest.permission().beyond(locked.permission)]
    for name, table in manifest.skills.items():
        before = locked.skills.get(name)
        if before is None:
            wider.append(f"skill {name} is new")
            continue
        wider += [
            f"skill {name} asks for {entry}" for entry in manifest.skill_permission(name).beyond(before.permission)
        ]
        if EFFECTS.index(table.effect) < EFFECTS.index(before.effect):
            wider.append(f"skill {name} declares {table.effect}, it was {before.effect}")
        lost = sorted(set(before.impact) - set(table.impact))
        wider += [f"skill {name} no longer declares the impact {impact}" for impact in lost]
    return tuple(wider)
