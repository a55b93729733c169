"""What is different about a pack since it was accepted, new rights first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from remit.deployment.config import PackConfig
from remit.deployment.files import DeploymentFiles
from remit.deployment.layers import canonical
from remit.errors import RemitError
from remit.packs.locked import LockedPack, LockedSkill
from remit.packs.permissions import Permission
from remit.values import EFFECTS


def news(pack: str, before: DeploymentFiles, after: DeploymentFiles) -> Iterator[str]:
    """Say what a person has to look at before a pack is locked again; nothing for one that was never locked."""
    old, new = before.lock.packs.get(pack), after.lock.packs.get(pack)
    if old is None or new is None:
        return
    yield from _wider(old, _given(old, _table(before, pack)), new, _given(new, _table(after, pack)))
    if old.version != new.version:
        yield f"version {old.version} -> {new.version}"
    yield from _identity(old, new)
    yield from _skills(old, new)


def _table(files: DeploymentFiles, pack: str) -> PackConfig:
    packs = files.config.config.packs
    return next((table for name, table in packs.items() if canonical(name) == pack), PackConfig())


def given_to_skills(locked: LockedPack, table: PackConfig) -> dict[str, Permission]:
    """Return what the deployment gives each chosen skill of a locked pack, with its default settings.

    Raises:
        PolicyError: its grant is none.
    """
    grant = Permission.granted(table.grant.given(), locked.permission)
    names = [name for name in locked.skills if table.skills is None or name in table.skills]
    return {name: locked.skills[name].permission.under(grant) for name in names}


def _given(locked: LockedPack, table: PackConfig) -> Mapping[str, Permission]:
    try:
        return given_to_skills(locked, table)
    except RemitError:
        return {}


def _wider(
    old: LockedPack, old_rights: Mapping[str, Permission], new: LockedPack, new_rights: Mapping[str, Permission]
) -> Iterator[str]:
    for name, right in new_rights.items():
        if name in old_rights:
            yield from (f"new right: skill {name}: {entry}" for entry in right.beyond(old_rights[name]))
        elif name in old.skills:
            yield f"new right: skill {name} was not among the chosen ones"
        else:
            yield f"new right: skill {name} is new"
    for name in new_rights.keys() & old.skills.keys():
        yield from _milder(name, old.skills[name], new.skills[name])


def _milder(name: str, old: LockedSkill, new: LockedSkill) -> Iterator[str]:
    if EFFECTS.index(new.effect) < EFFECTS.index(old.effect):
        yield f"less careful: skill {name} declares {new.effect}, it was {old.effect}"
    lost = sorted(set(old.impact) - set(new.impact))
    yield from (f"less careful: skill {name} no longer declares the impact {impact}" for impact in lost)


def _identity(old: LockedPack, new: LockedPack) -> Iterator[str]:
    if old.distribution != new.distribution:
        yield f"it comes from {new.distribution}, it was {old.distribution}"
    if old.editable != new.editable:
        kinds = {True: "a development install", False: "an ordinary install"}
        yield f"it is {kinds[new.editable]}, it was {kinds[old.editable]}"
    elif (old.files, old.compiled) != (new.files, new.compiled):
        yield "the code of its skills: files of the pack changed"


def _skills(old: LockedPack, new: LockedPack) -> Iterator[str]:
    for name in sorted(old.skills.keys() | new.skills.keys()):
        if name not in new.skills:
            yield f"skill {name} is gone"
        elif name in old.skills:
            parts = ", ".join(_parts(old.skills[name], new.skills[name]))
            if parts:
                yield f"skill {name} changed: {parts}"


def _parts(old: LockedSkill, new: LockedSkill) -> Iterator[str]:
    if old.table != new.table:
        yield "its table in pack.toml"
    if old.schema != new.schema:
        yield "its arguments"
    if old.description != new.description:
        yield "its description"
