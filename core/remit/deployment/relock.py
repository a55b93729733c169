"""Locking a pack again that is no longer as it was locked: unchanged skills by themselves, the others wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from remit.packs.describe import SkillDescription
from remit.packs.difference import Wanted, compare_skill, compare_wanted, wanted_by_lock, wanted_by_manifest
from remit.packs.folding import fold
from remit.packs.installed import InstalledPack
from remit.packs.lock import LockedPack, drift, lock_pack, widened
from remit.packs.manifest import Manifest
from remit.packs.ranks import Change, Changes


@dataclass(frozen=True, kw_only=True)
class Relock:
    """What locking a pack again means.

    Attributes:
        pack: the pack's name.
        changes: what differs from the lock, each thing ranked.
        whole: the lock with everything as it is now.
        safe: the lock with the skills that want no more than before; None when none of them can go on like that.
        waiting: skills that are not in `safe`: new, wider, or changed in a way that nobody can rank.
    """

    pack: str
    changes: Changes
    whole: LockedPack
    safe: LockedPack | None = None
    waiting: tuple[str, ...] = ()


def needs_relock(installed: InstalledPack, manifest: Manifest, locked: LockedPack | None) -> bool:
    """Whether a pack is not, or no longer wholly, as it was locked."""
    if locked is None or drift(installed, manifest, locked) or set(manifest.skills) - set(locked.skills):
        return True
    return installed.editable and bool(widened(manifest, locked))


def relock(
    installed: InstalledPack,
    manifest: Manifest,
    locked: LockedPack | None,
    described: Mapping[str, SkillDescription],
) -> Relock:
    """Compare a pack with its lock, and lock it again.

    Args:
        installed: the pack.
        manifest: its manifest.
        locked: what was accepted; None for nothing.
        described: what `derive` said of its skills.

    Raises:
        PackError: a file of the pack cannot be read.
    """
    whole = lock_pack(installed, manifest, described, before=locked)
    if locked is None:
        names = ", ".join(manifest.skills)
        new = Change(rank="widens", line=f"pack {manifest.name} was not locked; its skills: {names}")
        return Relock(pack=manifest.name, changes=Changes(changes=(new,)), whole=whole, waiting=tuple(manifest.skills))
    before, after = wanted_by_lock(locked), _now(installed, manifest, described, whole)
    waiting = tuple(name for name in after.skills if _waits(name, before, after))
    return Relock(
        pack=manifest.name,
        changes=compare_wanted(before, after),
        whole=whole,
        safe=_safe(whole, locked, manifest, waiting) if _same_pack(before, after) else None,
        waiting=waiting,
    )


def _now(
    installed: InstalledPack, manifest: Manifest, described: Mapping[str, SkillDescription], whole: LockedPack
) -> Wanted:
    return wanted_by_manifest(
        manifest,
        distribution=installed.distribution,
        version=installed.version,
        package=installed.package,
        described=described,
        files=whole.files,
        editable=installed.editable,
    )


def _waits(name: str, before: Wanted, after: Wanted) -> bool:
    if name not in before.skills:
        return True
    step = Changes(changes=tuple(compare_skill(name, before.skills[name], after.skills[name])))
    return step.needs_trust


def _same_pack(before: Wanted, after: Wanted) -> bool:
    """Whether it is the same distribution; a development install is derived anew, whole or not at all."""
    same = fold(before.distribution) == fold(after.distribution) and before.package == after.package
    return same and not before.editable and not after.editable


def _safe(whole: LockedPack, locked: LockedPack, manifest: Manifest, waiting: tuple[str, ...]) -> LockedPack | None:
    # An older lock does not say with which settings it was made: then nobody knows whether a skill is unchanged.
    kept = {name: skill for name, skill in whole.skills.items() if name not in waiting}
    unknown = locked.manifest != whole.manifest and not locked.settings
    if not kept or unknown:
        return None
    return replace(whole, skills=kept, permission=manifest.permission().by_key(locked.permission))
