"""What is locked of an extension, and what of it changed since."""

from __future__ import annotations

from collections.abc import Mapping

from remit.extensions.installed import InstalledExtension
from remit.packs.distribution import wheel_of
from remit.packs.folding import fold
from remit.packs.hashes import hash_files, wheel_tag
from remit.packs.locked import LockedExtension


def lock_extension(
    installed: InstalledExtension, digests: Mapping[str, str], *, before: LockedExtension | None = None
) -> LockedExtension:
    """Return what to lock: all its files, a development install's, too, since they run in the host.

    Compiled files of other machines and hashes of wheels are kept from `before`, where the rest is the same. Where pip
    was given one wheel, and not a name, it wrote the hash down.
    """
    files, compiled = hash_files(installed, digests)
    same = before if before is not None and before.files == files else None
    others = same.compiled if same is not None else {}
    return LockedExtension(
        distribution=installed.distribution,
        version=installed.version,
        entry=installed.entry,
        editable=installed.editable,
        files=files,
        compiled={**others, **({wheel_tag(installed): compiled} if compiled else {})},
        wheels={**(same.wheels if same is not None and same.version == installed.version else {}), **_wheel(installed)},
    )


def _wheel(installed: InstalledExtension) -> dict[str, str]:
    return {} if installed.editable else wheel_of(installed.metadata, installed.distribution, installed.version)


def changed(installed: InstalledExtension, locked: LockedExtension, digests: Mapping[str, str]) -> tuple[str, ...]:
    """Return what differs from the lock, a few words each; empty when nothing does."""
    now = lock_extension(installed, digests)
    changes: list[str] = []
    if fold(now.distribution) != fold(locked.distribution):
        changes.append(f"it comes from {now.distribution}, locked was {locked.distribution}")
    if now.editable != locked.editable:
        kinds = {True: "a development install", False: "an ordinary install"}
        changes.append(f"it is {kinds[now.editable]}, locked was {kinds[locked.editable]}")
    if now.version != locked.version:
        changes.append(f"its version is {now.version}, locked was {locked.version}")
    if now.entry != locked.entry:
        changes.append(f"its entry point is {now.entry}, locked was {locked.entry}")
    if now.files != locked.files:
        changes.append("its files changed")
    for tag, value in now.compiled.items():
        if tag not in locked.compiled:
            changes.append(f"its compiled files for {tag} are not locked yet")
        elif locked.compiled[tag] != value:
            changes.append("its compiled files changed")
    return tuple(changes)
