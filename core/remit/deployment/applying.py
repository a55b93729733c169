"""`remit apply`: what an edit by hand or an upgrade changes, shown, accepted and locked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remit.deployment.acceptance import accept
from remit.deployment.anchors import workspace_of
from remit.deployment.changes import Changes
from remit.deployment.config import PackConfig
from remit.deployment.derive import derive
from remit.deployment.edit import write_files
from remit.deployment.extension_relock import ExtensionRelock, relock_extensions
from remit.deployment.files import DeploymentFiles, read_files
from remit.deployment.layers import MANAGED_FILE, canonical, combine, load_managed
from remit.deployment.protected import protected_paths
from remit.deployment.relock import Relock, needs_relock, relock
from remit.deployment.rights import check_protected, pack_grant
from remit.deployment.site_folders import site_folders
from remit.deployment.trust import Standing, standing
from remit.errors import NotTrusted, PackError, PolicyError, RemitError
from remit.extensions.values import ExtensionProblem
from remit.packs.describe import SkillDescription
from remit.packs.discovery import discover
from remit.packs.installed import InstalledPack, Inventory, PackProblem
from remit.packs.lock import Lock
from remit.packs.manifest import Manifest, Setting, read_manifest
from remit.state_folder import find_state, open_state

if TYPE_CHECKING:
    from remit_sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Application:
    """What `apply` would do.

    Attributes:
        files: as they were read.
        standing: whether they are accepted.
        config: what an edit of the files changes since they were accepted.
        relocks: packs that are not as they were locked.
        problems: packs that cannot be locked, and why; they stay left out.
        extensions: enabled extensions that are not as they were locked.
        unlocked: extensions that cannot be locked, and why; they stay left out.
    """

    files: DeploymentFiles
    standing: Standing
    config: Changes
    relocks: tuple[Relock, ...] = ()
    problems: tuple[PackProblem, ...] = ()
    extensions: tuple[ExtensionRelock, ...] = ()
    unlocked: tuple[ExtensionProblem, ...] = ()

    @property
    def changes(self) -> Changes:
        """Everything together."""
        steps = [*(step.changes for step in self.relocks), *(step.changes for step in self.extensions)]
        return Changes(changes=(*self.config.changes, *(one for step in steps for one in step.changes)))

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.relocks or self.extensions) and self.standing.by not in ("", "narrower")

    @property
    def waiting(self) -> tuple[str, ...]:
        """Full names of the skills that wait for a person."""
        return tuple(f"{step.pack}.{name}" for step in self.relocks for name in step.waiting)

    def apply(self) -> None:
        """Accept everything, and lock every pack and extension as it is now.

        Raises:
            DeploymentError: the files changed since they were read.
        """
        lock = self.files.lock
        for step in self.relocks:
            lock = lock.with_pack(step.pack, step.whole)
        for one in self.extensions:
            lock = lock.with_extension(one.extension, one.locked)
        self._write(lock)

    def apply_safe(self) -> tuple[str, ...]:
        """Lock again the skills that want no more than before, where the files themselves are accepted.

        Returns:
            the packs that were locked.
        """
        if not self.standing.trusted:
            return ()
        lock, done = self.files.lock, []
        for step in self.relocks:
            if step.safe is not None and step.safe != lock.packs.get(step.pack):
                lock = lock.with_pack(step.pack, step.safe)
                done.append(step.pack)
        if done:
            self._write(lock)
        return tuple(done)

    def _write(self, lock: Lock) -> None:
        written = write_files(self.files, self.files.config.text, lock)
        if self.standing.by in ("", "person", "narrower"):
            accept(written, open_state(written.folder))


def propose_apply(
    folder: str | Path,
    *,
    paths: Sequence[str] | None = None,
    sandbox: Sandbox | None = None,
    managed: Path = MANAGED_FILE,
) -> Application:
    """Say what accepting the deployment as it is now changes.

    Args:
        folder: the deployment's folder.
        paths: site folders; None for this interpreter's own.
        sandbox: where changed packs are described; None makes one for the purpose.
        managed: the managed file.

    Raises:
        NotTrusted: nobody ever accepted it here, so there is nothing to compare with.
        PolicyError: a grant that cannot be held.
    """
    files = read_files(folder)
    upper = load_managed(managed)
    found = standing(files, find_state(files.folder), managed=upper.config.trust if upper else ())
    if found.acceptance is None and not found.trusted:
        raise NotTrusted(
            f"the deployment in {files.folder} was never accepted on this machine",
            remedy="read remit.toml, then run `remit trust`",
        )
    workspace_of(files.folder, files.config.config.workspace)
    layers = combine(upper.config if upper else None, files.config.config)
    sources = {name: pack.from_ for name, pack in layers.config.packs.items() if pack.from_}
    look = _Look(files=files, inventory=discover(paths, sources=sources), paths=site_folders(paths), sandbox=sandbox)
    relocks: list[Relock] = []
    problems: list[PackProblem] = []
    for name, table in sorted(layers.config.packs.items()):
        if not table.enabled:
            continue
        try:
            relocks += look.at(name, table)
        except PolicyError:
            raise
        except RemitError as error:
            problems.append(look.problem(name, error))
    extensions, unlocked = relock_extensions(layers.config.extensions, files.lock, paths)
    return Application(
        files=files,
        standing=found,
        config=found.changes,
        relocks=tuple(relocks),
        problems=tuple(problems),
        extensions=extensions,
        unlocked=unlocked,
    )


@dataclass(frozen=True, kw_only=True)
class _Look:
    """Looks at the enabled packs one by one."""

    files: DeploymentFiles
    inventory: Inventory
    paths: tuple[str, ...]
    sandbox: Sandbox | None

    def at(self, name: str, table: PackConfig) -> Iterator[Relock]:
        """Yield how a pack would be locked again, nothing when it is as it was locked.

        Raises:
            RemitError: it cannot be locked.
        """
        installed = self.inventory.get(name)
        manifest = read_manifest(installed.manifest, package=installed.package)
        given = pack_grant(manifest, table, {})
        anchors = {"workspace": workspace_of(self.files.folder, self.files.config.config.workspace)}
        check_protected(name, given.grant, anchors, protected_paths(self.files.folder))
        locked = self.files.lock.packs.get(canonical(name))
        if not needs_relock(installed, manifest, locked):
            return
        found = relock(installed, manifest, locked, self._described(installed, manifest, given.settings))
        unknown = [one for one in table.skills or () if one not in manifest.skills]
        if unknown:
            raise PackError(f"remit.toml names the skill {unknown[0]!r}, which it does not have")
        if found.changes.changes or found.whole != locked:
            yield found

    def _described(
        self, installed: InstalledPack, manifest: Manifest, settings: Mapping[str, Setting]
    ) -> dict[str, SkillDescription]:
        from remit_sandbox import Sandbox

        enforcement = self.files.config.config.defaults.enforcement
        with nullcontext(self.sandbox) if self.sandbox is not None else Sandbox() as sandbox:
            return derive(installed, manifest, sandbox, paths=self.paths, settings=settings, enforcement=enforcement)

    def problem(self, name: str, error: RemitError) -> PackProblem:
        """Return why a pack cannot be locked."""
        installed = self.inventory.packs.get(name)
        distribution = installed.distribution if installed else ""
        return PackProblem(pack=name, distribution=distribution, reason=error.message, remedy=error.remedy)
