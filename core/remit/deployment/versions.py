"""What another version of a pack wants against what is locked, or against any other version."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remit.deployment.derive import derive
from remit.deployment.files import DeploymentFiles, read_files
from remit.deployment.layers import canonical
from remit.deployment.site_folders import site_folders
from remit.deployment.source import CONFIG_NAME
from remit.deployment.subject import Subject, look_at
from remit.errors import PackError, RemitError, UsageError
from remit.packs.describe import SkillDescription
from remit.packs.difference import Wanted, compare_wanted, wanted_by_lock, wanted_by_manifest
from remit.packs.hashes import hash_files
from remit.packs.installed import InstalledPack
from remit.packs.ranks import Change, Changes
from remit.packs.wheel import unpack_wheel
from remit_sandbox.values import Enforcement

if TYPE_CHECKING:
    from remit_sandbox import Sandbox

_Descriptions = Mapping[str, SkillDescription]


@dataclass(frozen=True, kw_only=True)
class PackDifference:
    """The step from one version of a pack to another.

    Attributes:
        pack: the pack's name.
        old: what it is compared with.
        new: what is compared.
        changes: every difference, ranked.
        notes: what could not be looked at, and why.
    """

    pack: str
    old: str
    new: str
    changes: Changes
    notes: tuple[str, ...] = ()


class Versions:
    """Compares versions of packs for one deployment; descriptions are derived in a cell without any right."""

    def __init__(
        self,
        folder: str | Path,
        *,
        paths: Sequence[str] | None = None,
        sandbox: Sandbox | None = None,
        static: bool = False,
    ) -> None:
        """Name the deployment, which need not exist.

        Args:
            folder: the deployment's folder.
            paths: site folders; None for this interpreter's own.
            sandbox: where descriptions are derived; None makes one when it is needed.
            static: derive nothing, so that no code of any pack runs; descriptions then cannot be compared.
        """
        self._files = read_files(folder) if (Path(folder) / CONFIG_NAME).is_file() else None
        self._paths, self._sandbox, self._static = paths, sandbox, static

    def since_lock(self) -> tuple[PackDifference, ...]:
        """Compare every enabled pack, as it is installed, with the lock."""
        files = self._deployment()
        enabled = sorted(canonical(name) for name, pack in files.config.config.packs.items() if pack.enabled)
        return tuple(map(self._one, enabled))

    def _one(self, name: str) -> PackDifference:
        """One pack that cannot be looked at does not keep the others from being compared."""
        try:
            return self.of(name)
        except RemitError as error:
            changes = Changes(changes=(Change(rank="unranked", line=f"it cannot be compared: {error.message}"),))
            return PackDifference(pack=name, old="locked", new="installed", changes=changes)

    def of(self, thing: str) -> PackDifference:
        """Compare a wheel, a folder or an installed pack with what is locked, or else with what is installed."""
        return self._with_lock(look_at(thing, paths=self._paths))

    def between(self, old: str, new: str) -> PackDifference:
        """Compare two of them with each other.

        Raises:
            UsageError: they are two different packs.
        """
        first, second = look_at(old, paths=self._paths), look_at(new, paths=self._paths)
        if first.pack != second.pack:
            raise UsageError(f"{first.pack or old} and {second.pack or new} are two packs; compare versions of one")
        before, notes = self._wanted(first, None)
        return self._compare(first.title, before, second, notes)

    def _deployment(self) -> DeploymentFiles:
        if self._files is None:
            raise UsageError("there is no deployment here to compare with", remedy="name two versions, or use -C DIR")
        return self._files

    def _with_lock(self, subject: Subject) -> PackDifference:
        locked = self._files.lock.packs.get(subject.pack) if self._files else None
        if locked is not None:
            return self._compare(f"locked {locked.version}", wanted_by_lock(locked), subject, ())
        if subject.kind == "installed":
            change = Change(rank="widens", line="nothing of it is locked: all that it asks for is new")
            changes = Changes(changes=(change,))
            return PackDifference(pack=subject.pack, old="nothing", new=subject.title, changes=changes)
        installed = look_at(subject.pack, paths=self._paths)
        before, notes = self._wanted(installed, None)
        return self._compare(installed.title, before, subject, notes)

    def _compare(self, title: str, old: Wanted, subject: Subject, notes: tuple[str, ...]) -> PackDifference:
        new, more = self._wanted(subject, old)
        changes = compare_wanted(old, new)
        return PackDifference(pack=subject.pack, old=title, new=subject.title, changes=changes, notes=(*notes, *more))

    def _wanted(self, subject: Subject, old: Wanted | None) -> tuple[Wanted, tuple[str, ...]]:
        """Return what a version wants; what a cell has to say is only asked where the files are other ones."""
        if subject.manifest is None or subject.problems:
            reason = subject.problems[0].reason if subject.problems else "it is no pack"
            remedy = subject.problems[0].remedy if subject.problems else ""
            raise PackError(f"{subject.title} cannot be compared: {reason}", remedy=remedy)
        with _unpacked(subject) as installed:
            files = "" if installed.editable else hash_files(installed)[0]
            known = old is not None and bool(files) and files == old.files
            described, notes = (None, ()) if known else self._described(installed, subject)
            wanted = wanted_by_manifest(
                subject.manifest,
                distribution=subject.distribution,
                version=subject.version,
                package=subject.package,
                described=described,
                files=files,
                editable=installed.editable if subject.kind == "installed" else old is not None and old.editable,
            )
        return wanted, notes

    def _described(self, installed: InstalledPack, subject: Subject) -> tuple[_Descriptions | None, tuple[str, ...]]:
        assert subject.manifest is not None
        if self._static:
            return None, (f"{subject.title}: none of its code ran, so its descriptions were not compared",)
        try:
            with nullcontext(self._sandbox) if self._sandbox is not None else _sandbox() as sandbox:
                described = derive(
                    installed,
                    subject.manifest,
                    sandbox,
                    paths=site_folders(self._paths),
                    settings=subject.manifest.settings,
                    enforcement=self._enforcement,
                )
        except RemitError as error:
            return None, (f"{subject.title}: its descriptions were not compared: {error.message}",)
        return described, ()

    @property
    def _enforcement(self) -> Enforcement:
        return self._files.config.config.defaults.enforcement if self._files else "kernel"


def _sandbox() -> Sandbox:
    from remit_sandbox import Sandbox

    return Sandbox()


@contextmanager
def _unpacked(subject: Subject) -> Iterator[InstalledPack]:
    """Give the pack as a cell loads it; a wheel is unpacked into a private folder for the time."""
    if subject.wheel is None:
        assert subject.installed is not None
        yield subject.installed
        return
    with tempfile.TemporaryDirectory(prefix="remit-wheel-") as folder:
        yield unpack_wheel(subject.wheel, Path(folder))
