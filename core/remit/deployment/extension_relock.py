"""Extensions that a deployment enables and that are not, or no longer, as they are locked: for `remit apply`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remit.deployment.config import ExtensionsConfig
from remit.deployment.layers import canonical
from remit.extensions.gathering import problem
from remit.extensions.importing import Broken
from remit.extensions.installed import ExtensionInventory, find_extensions
from remit.extensions.load import digests_of, installed_extension
from remit.extensions.locking import changed, lock_extension
from remit.extensions.values import ExtensionProblem
from remit.packs.locked import Lock, LockedExtension
from remit.packs.ranks import Change, Changes


@dataclass(frozen=True, kw_only=True)
class ExtensionRelock:
    """What locking an extension again means.

    Attributes:
        extension: its name.
        changes: what differs from the lock.
        locked: what is locked then.
    """

    extension: str
    changes: Changes
    locked: LockedExtension


def relock_extensions(
    own: ExtensionsConfig, lock: Lock, paths: Sequence[str] | None
) -> tuple[tuple[ExtensionRelock, ...], tuple[ExtensionProblem, ...]]:
    """Compare the extensions that may load with their locks; nothing of them is imported.

    Args:
        own: what holds of them, all layers together.
        lock: what was accepted.
        paths: site folders; None for this interpreter's own.

    Returns:
        those that are to be locked again, and those that cannot be.
    """
    blocked = set(map(canonical, own.blocked))
    wanted = [name for name in dict.fromkeys(map(canonical, own.enabled)) if name not in blocked]
    inventory = find_extensions(paths) if wanted else ExtensionInventory()
    relocks: list[ExtensionRelock] = []
    problems: list[ExtensionProblem] = []
    for name in wanted:
        try:
            found = _relock(name, lock, inventory)
        except Broken as broken:
            problems.append(problem(name, broken))
        else:
            relocks += [found] if found is not None else []
    return tuple(relocks), tuple(problems)


def _relock(name: str, lock: Lock, inventory: ExtensionInventory) -> ExtensionRelock | None:
    installed = installed_extension(name, inventory)
    digests, before = digests_of(installed), lock.extensions.get(installed.name)
    locked = lock_extension(installed, digests, before=before)
    if before is None:
        line = f"it was not locked; {installed.source} runs in the host, not confined, with all rights of this program"
        found = Changes(changes=(Change(rank="widens", line=line),))
    else:
        lines = changed(installed, before, digests)
        found = Changes(changes=tuple(Change(rank="unranked", line=line) for line in lines))
    return ExtensionRelock(extension=installed.name, changes=found, locked=locked) if found.changes else None
