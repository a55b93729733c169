"""`remit packs remove`: switch a pack off, uninstall it, and keep what somebody may want back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from remit.deployment.edit import planned_files
from remit.deployment.enable import disable
from remit.deployment.files import DeploymentFiles
from remit.deployment.glance import enabled_packs
from remit.deployment.proposal import Proposal
from remit.errors import DeploymentError, PackError, UnknownPack
from remit.installing import store, undo
from remit.installing.closure import requirement_names
from remit.installing.environment import Installed
from remit.installing.place import Place, files_as_they_were, kept
from remit.packs.folding import fold
from remit.packs.installed import InstalledPack
from remit.state_folder import open_state, state_root


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What removing a pack would do, ready to be read and applied.

    Attributes:
        place: the deployment and the environment.
        files: of the deployment, as they were read.
        pack: name of the pack.
        installed: the pack; None when it is not installed any more.
        disabling: switches it off here; None when this deployment does not name it.
        unused: folded names of what Remit installed for it and nothing else needs.
        elsewhere: folders of other deployments that use the pack.
        data: the folder of its data here, which need not exist.
    """

    place: Place
    files: DeploymentFiles
    pack: str
    installed: InstalledPack | None
    disabling: Proposal | None
    unused: tuple[str, ...]
    elsewhere: tuple[str, ...]
    data: Path

    def lines(self, *, dependencies: bool = False, data: bool = False) -> Iterator[str]:
        """Say what would be done, one line each."""
        if self.disabling:
            yield f"pack {self.pack}: none of its skills can be called any more; its table in remit.toml stays"
        if self.installed:
            yield f"to uninstall: {self.installed.distribution} {self.installed.version}"
        if self.unused:
            names = ", ".join(self.unused)
            yield f"to uninstall: {names}" if dependencies else f"kept: {names}, which nothing else needs"
        if self.data.is_dir():
            yield f"to delete: its data in {self.data}" if data else f"kept: its data in {self.data}"
        yield from (f"the deployment in {folder} uses it, too, and will leave it out" for folder in self.elsewhere)

    def apply(self, *, dependencies: bool = False, data: bool = False) -> None:
        """Do it.

        Args:
            dependencies: uninstall `unused`, too.
            data: delete the data that the pack kept in this deployment.

        Raises:
            RunError: pip could not; `remit.toml` is as it was.
        """
        was = kept(self.files, self.pack)
        names = [fold(self.installed.distribution)] if self.installed else []
        going = [*names, *(self.unused if names and dependencies else ())]
        planned = [planned_files(self.files, one.text, one.lock) for one in (self.disabling,) if one]
        with (
            files_as_they_were(self.files),
            undo.uninstalling(self.place.environment, going, files=self.files, planned=planned),
        ):
            if self.disabling:
                self.disabling.apply()
            if was is not None and self.installed is not None:
                store.remember_former(open_state(self.files.folder), self.pack, was)
        if data:
            shutil.rmtree(self.data, ignore_errors=True)


def removing(place: Place, name: str) -> Removal:
    """Propose to remove a pack; nothing is changed yet.

    Raises:
        PackError: it is broken in a way that makes uninstalling it dangerous, or something else needs it.
        UnknownPack: neither installed nor named by the deployment.
    """
    files = place.files()
    pack = fold(name).replace("-", "_")
    try:
        disabling = disable(place.folder, pack, managed=place.managed)
    except DeploymentError:
        disabling = None
    try:
        found = place.pack(pack)
    except UnknownPack:
        if disabling is None:
            raise
        found = None
    except PackError as error:
        raise PackError(
            f"{error.message}; what such a distribution lists is not deleted on its word",
            remedy=f"look at it first, then: pip uninstall {pack}",
        ) from None
    installed = place.environment.installed()
    if found is not None:
        _check_unneeded(found, installed)
    return Removal(
        place=place,
        files=files,
        pack=pack,
        installed=found,
        disabling=disabling,
        unused=_unused(files, pack, found, installed),
        elsewhere=tuple(_elsewhere(files, pack)),
        data=open_state(files.folder).path / "data" / pack,
    )


def _check_unneeded(pack: InstalledPack, installed: Mapping[str, Installed]) -> None:
    users = [one.shown for one in installed.values() if fold(pack.distribution) in requirement_names(one.requires)]
    if users:
        raise PackError(
            f"{', '.join(sorted(users))} requires {pack.distribution}", remedy="remove that first, or only disable this"
        )


def _unused(
    files: DeploymentFiles, pack: str, found: InstalledPack | None, installed: Mapping[str, Installed]
) -> tuple[str, ...]:
    """Return what Remit installed for this pack, as the lock says, and only this pack needs."""
    locked = files.lock.packs.get(pack)
    if locked is None or found is None:
        return ()
    mine = {fold(wheel.partition("-")[0]) for wheel in locked.wheels} & installed.keys()
    others = {
        fold(wheel.partition("-")[0]) for name, one in files.lock.packs.items() if name != pack for wheel in one.wheels
    }
    gone = {fold(found.distribution)}
    users: dict[str, set[str]] = {}
    for name, one in installed.items():
        for wanted in requirement_names(one.requires):
            users.setdefault(wanted, set()).add(name)
    while more := {name for name in mine - gone - others if users.get(name, set()) <= gone}:
        gone |= more
    return tuple(sorted(gone - {fold(found.distribution)}))


def _elsewhere(files: DeploymentFiles, pack: str) -> Iterator[str]:
    """Yield the folders of this person's other deployments that use the pack."""
    for known in sorted(state_root().glob("deployments/*/folder.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            folder = str(json.loads(known.read_text("utf-8"))["path"])
            if folder != str(files.folder) and (enabled_packs(folder) or {}).get(pack):
                yield folder
