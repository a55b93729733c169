"""A deployment and the environment it lives in: what commands that install and remove packs work on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from remit.deployment.acceptance import accept
from remit.deployment.config import PackConfig
from remit.deployment.files import DeploymentFiles, read_files, write_atomically
from remit.deployment.layers import MANAGED_FILE, canonical, load_managed
from remit.deployment.proposal import Proposal
from remit.deployment.source import CONFIG_NAME, LOCK_NAME
from remit.deployment.trust import require, standing
from remit.errors import PackError
from remit.installing.environment import Environment
from remit.installing.store import Kept
from remit.packs.installed import InstalledPack
from remit.packs.lock import Lock, LockedPack, drift, format_lock
from remit.packs.manifest import read_manifest
from remit.state_folder import find_state, open_state


@dataclass(frozen=True, kw_only=True)
class Place:
    """One deployment and one environment.

    Attributes:
        folder: the deployment's folder.
        environment: what its packs are installed into.
        managed: the managed file.
    """

    folder: str | Path
    environment: Environment
    managed: Path = MANAGED_FILE

    def files(self) -> DeploymentFiles:
        """Read the deployment.

        Raises:
            NotTrusted: nobody has accepted it yet.
        """
        files = read_files(self.folder)
        upper = load_managed(self.managed)
        found = standing(files, find_state(files.folder), managed=upper.config.trust if upper else ())
        require(found, files.folder)
        return files

    def pack(self, name: str, *before: str) -> InstalledPack:
        """Return the installed pack that `name` means; folders `before` come first. PackError as `Inventory.get`."""
        return self.environment.inventory(*before, sources=sources(read_files(self.folder))).get(name)

    def check_installed(self, name: str, locked: LockedPack) -> None:
        """Raise PackError unless what is installed is what was locked."""
        pack = self.pack(name)
        changed = drift(pack, read_manifest(pack.manifest, package=pack.package), locked)
        if changed:
            raise PackError(f"pack {name}: what was installed differs from what was inspected: {'; '.join(changed)}")


def sources(files: DeploymentFiles) -> dict[str, str]:
    """Return pack to distribution where the deployment says so."""
    return {canonical(name): pack.from_ for name, pack in files.config.config.packs.items() if pack.from_}


def table(files: DeploymentFiles, pack: str) -> PackConfig:
    """Return a pack's table in `remit.toml`, an empty one where there is none."""
    packs = files.config.config.packs
    return next((one for name, one in packs.items() if canonical(name) == pack), PackConfig())


def with_wheels(proposal: Proposal, wheels: Mapping[str, str]) -> Proposal:
    """Return a proposal that locks these wheels, too; those of the same version on other systems stay."""
    locked = proposal.lock.packs[proposal.pack]
    kept = replace(locked, wheels={**locked.wheels, **wheels})
    return replace(proposal, lock=proposal.lock.with_pack(proposal.pack, kept))


def kept(files: DeploymentFiles, pack: str) -> Kept | None:
    """Return what is locked of a pack now, to be able to go back to it; None where nothing is."""
    locked = files.lock.packs.get(pack)
    if locked is None or locked.editable:
        return None
    own = table(files, pack)
    facts: dict[str, Any] = {
        "skills": None if own.skills is None else list(own.skills),
        "grant": own.grant.given(),
        "accept_read": list(own.accept_read),
    }
    alone = format_lock(Lock(packs={pack: locked}))
    return Kept(version=locked.version, wheels=dict(locked.wheels), lock=alone, table=facts)


@contextmanager
def files_as_they_were(files: DeploymentFiles) -> Iterator[None]:
    """Put `remit.toml` and `remit.lock` back, and their acceptance, when the block fails."""
    try:
        yield
    except BaseException:
        now = read_files(files.folder)
        if now.config.data != files.config.data:
            write_atomically(files.folder / CONFIG_NAME, files.config.data)
        if now.lock_data != files.lock_data:
            write_atomically(files.folder / LOCK_NAME, files.lock_data)
        if now.digest != files.digest:
            accept(files, open_state(files.folder))
        raise


class Appliable(Protocol):
    """A change of a deployment's files that is read before it is applied."""

    @property
    def before(self) -> DeploymentFiles:
        """The files that it starts from."""
        ...

    def apply(self) -> None:
        """Write the files and accept them; DeploymentError when they changed."""
        ...


def apply_all(files: DeploymentFiles, proposals: Iterable[Appliable]) -> None:
    """Apply proposals one after the other; when one fails, the files are as they were.

    Raises:
        DeploymentError: the files changed since the proposals were made.
    """
    listed = list(proposals)
    if listed and listed[0].before.digest != read_files(files.folder).digest:
        listed[0].apply()  # says that they changed, and writes nothing
    with files_as_they_were(files):
        for proposal in listed:
            proposal.apply()
