"""`remit packs upgrade` and `rollback`: another version of a pack, inspected and compared before it takes the place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from remit.deployment.files import DeploymentFiles
from remit.errors import DeploymentError, PackError, RemitError
from remit.installing import pip
from remit.installing.adding import Addition, Wish, proposed
from remit.installing.environment import same
from remit.installing.fetch import Fetched, fetch
from remit.installing.place import Place, table
from remit.installing.store import Kept, former, kept_wheel
from remit.packs.describe import SkillDescription
from remit.packs.difference import (
    Wanted,
    WantedSkill,
    compare_skill,
    compare_wanted,
    wanted_by_lock,
    wanted_by_manifest,
)
from remit.packs.folding import fold
from remit.packs.lock import LockedPack, drift, parse_lock
from remit.packs.manifest import Manifest, read_manifest
from remit.packs.ranks import NO_CHANGES, Changes
from remit.state_folder import open_state

if TYPE_CHECKING:
    from remit_sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Upgrade:
    """What a newer version of a pack would mean.

    Attributes:
        pack: its name.
        old: what is locked.
        whole: the newer version with everything that the deployment chose; None when there is none newer.
        safe: the same without the skills that wait for a person; None when nothing would be left.
        changes: what differs, each thing ranked.
        waiting: chosen skills that are new, wider, or changed in a way that nobody can rank.
        waits: their changes.
        offered: pip finds a wheel of it; without one nobody can tell whether there is a newer version.
    """

    pack: str
    old: LockedPack
    whole: Addition | None = None
    safe: Addition | None = None
    changes: Changes = NO_CHANGES
    waiting: tuple[str, ...] = ()
    waits: Changes = NO_CHANGES
    offered: bool = True

    @property
    def version(self) -> str:
        """The newer version, or the locked one."""
        return self.whole.proposals[0].lock.packs[self.pack].version if self.whole else self.old.version

    @property
    def exit_code(self) -> int:
        """0 where nothing waits for a person, 4 where something would be wider, 5 where nobody can say."""
        return {"widens": 4, "unranked": 5}.get(self.waits.rank, 0)


def locked_pack(files: DeploymentFiles, name: str) -> tuple[str, LockedPack]:
    """Return the canonical name and the lock of the pack that `name` means.

    Raises:
        DeploymentError: it is not locked here, or is a development install.
    """
    pack = fold(name).replace("-", "_")
    locked = files.lock.packs.get(pack)
    if locked is None:
        known = ", ".join(files.lock.packs) or "none"
        raise DeploymentError(
            f"pack {name} is not locked in this deployment (locked: {known})", remedy=f"remit packs enable {name}"
        )
    if locked.editable:
        raise DeploymentError(
            f"pack {pack} is a development install of {locked.source}, which no index has a version of",
            remedy="change its files there",
        )
    return pack, locked


@contextmanager
def upgrading(
    place: Place, name: str, *, change: Sequence[str] = (), sandbox: Sandbox | None = None
) -> Iterator[Upgrade]:
    """Look for a newer version of a pack, and compare it with what is locked; nothing is installed yet.

    Raises:
        PackError: the newer version cannot be used; the message says why.
    """
    files = place.files()
    pack, old = locked_pack(files, name)
    with TemporaryDirectory(prefix="remit-") as folder:
        wheels = Path(folder, "wheels")
        wheels.mkdir()
        fetched = fetch(place.environment, [old.distribution], wheels, upgrade=True)
        if not any(one.requested for one in fetched):
            yield Upgrade(pack=pack, old=old, offered=pip.offers(place.environment, old.distribution))
            return
        wish = Wish(wanted=[old.distribution], change=change)
        with proposed(place, files, wish.wanted, fetched, wish, wheels, sandbox=sandbox) as whole:
            yield _compared(place, files, pack, old, whole, wish)


def _compared(
    place: Place,
    files: DeploymentFiles,
    pack: str,
    old: LockedPack,
    whole: Addition,
    wish: Wish,
) -> Upgrade:
    if [proposal.pack for proposal in whole.proposals] != [pack]:
        raise PackError(f"the newer {old.distribution} is no longer pack {pack}", remedy=f"remit packs remove {pack}")
    locked = whole.proposals[0].lock.packs[pack]
    manifest = next(wheel.manifest for wheel in whole.closure.packs)
    assert manifest is not None
    before, after = _before(place, pack, old), _wanted(manifest, locked)
    chosen = table(files, pack).skills
    steps = {name: _step(name, before, after.skills[name]) for name in after.skills if chosen is None or name in chosen}
    waits = {name: step for name, step in steps.items() if step.needs_trust}
    unchanged = [name for name in steps if name not in waits]
    safe: Addition | None = whole
    if waits:
        narrower = replace(wish, wishes={"skills": unchanged})
        safe = whole.with_wish(narrower) if unchanged else None
    return Upgrade(
        pack=pack,
        old=old,
        whole=whole,
        safe=safe,
        changes=compare_wanted(before, after),
        waiting=tuple(waits),
        waits=Changes(changes=tuple(one for step in waits.values() for one in step.changes)),
    )


def _step(name: str, before: Wanted, after: WantedSkill) -> Changes:
    if name in before.skills:
        return Changes(changes=tuple(compare_skill(name, before.skills[name], after)))
    from remit.packs.ranks import change

    return Changes(changes=(change(True, f"skill {name} is new"),))


def _before(place: Place, pack: str, old: LockedPack) -> Wanted:
    """Return what was accepted; with its manifest where that is still installed, so that more can be ranked."""
    try:
        found = place.pack(pack)
        manifest = read_manifest(found.manifest, package=found.package)
        if not drift(found, manifest, old):
            return _wanted(manifest, old)
    except RemitError:
        pass
    return wanted_by_lock(old)


def _wanted(manifest: Manifest, locked: LockedPack) -> Wanted:
    described = {
        name: SkillDescription(name=name, description=one.description, schema=one.schema, refused=one.refused)
        for name, one in locked.skills.items()
    }
    return wanted_by_manifest(
        manifest,
        distribution=locked.distribution,
        version=locked.version,
        package=locked.package,
        described=described,
        files=locked.files,
    )


@contextmanager
def going_back(
    place: Place, name: str, *, change: Sequence[str] = (), sandbox: Sandbox | None = None
) -> Iterator[Addition]:
    """Propose the version of a pack that was in use before: the very wheels, as they were locked.

    Raises:
        PackError: there is none, or it cannot be had any more.
    """
    files = place.files()
    pack = fold(name).replace("-", "_")
    was = _last(place, files, pack)
    locked = parse_lock(was.lock, f"the lock of {pack} {was.version}").packs[pack]
    with TemporaryDirectory(prefix="remit-") as folder:
        wheels = Path(folder, "wheels")
        wheels.mkdir()
        fetched = _kept_or_fetched(place, was, locked, wheels)
        names = [wheel.partition("-")[0] for wheel in was.wheels]
        wish = Wish(wanted=[locked.distribution], change=[*change, *names], wishes=_as_it_was(was, files, pack, locked))
        with proposed(place, files, wish.wanted, fetched, wish, wheels, sandbox=sandbox) as addition:
            found = addition.proposals[0].lock.packs.get(pack)
            if found is None or found.files != locked.files:
                raise PackError(f"{locked.distribution} {was.version} is not what was locked of pack {pack} then")
            yield addition


def _last(place: Place, files: DeploymentFiles, pack: str) -> Kept:
    current = files.lock.packs.get(pack)
    installed = place.environment.installed()
    for was in former(open_state(files.folder), pack):
        here = installed.get(fold(current.distribution)) if current else None
        if here is None or here.version != was.version:
            return was
    raise PackError(
        f"no former version of pack {pack} is known to this deployment", remedy="remit packs add NAME==VERSION"
    )


def _kept_or_fetched(place: Place, was: Kept, locked: LockedPack, wheels: Path) -> list[Fetched]:
    """Return the kept wheels that are not installed as they are; without its own, pip looks for it."""
    installed = {(name, one.version) for name, one in place.environment.installed().items()}
    found: list[Fetched] = []
    for name, digest in was.wheels.items():
        source = kept_wheel(name, digest)
        distribution, version = name.split("-")[:2]
        if source is None or (fold(distribution), version) in installed:
            continue
        shutil.copyfile(source, wheels / name)
        found.append(Fetched(path=wheels / name, requested=same(distribution, locked.distribution)))
    if any(one.requested for one in found):
        return found
    pins = [f"{name.split('-')[0]}=={name.split('-')[1]}" for name in was.wheels]
    return fetch(
        place.environment, [f"{locked.distribution}=={was.version}"], wheels, constraints=[*dict.fromkeys(pins)]
    )


def _as_it_was(was: Kept, files: DeploymentFiles, pack: str, locked: LockedPack) -> dict[str, Any]:
    """Return the wishes that give a pack the table that it had."""
    now = table(files, pack)
    skills, grant = was.table.get("skills"), was.table.get("grant") or {}
    return {
        "skills": skills if skills is not None or now.skills is None else list(locked.skills),
        "grants": grant if grant or now.grant.given() else None,
        "accept_read": was.table.get("accept_read") or (),
    }
