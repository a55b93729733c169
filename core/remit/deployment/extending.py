"""Enabling and disabling extensions: a proposal that a person reads, then `apply()`. None of their code runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from remit.deployment.acceptance import accept
from remit.deployment.changes import Changes
from remit.deployment.config import ExtensionsConfig
from remit.deployment.edit import planned_files, write_files
from remit.deployment.extension_edit import edited_extensions
from remit.deployment.files import DeploymentFiles, read_files
from remit.deployment.layers import MANAGED_FILE, canonical, combine, load_managed
from remit.deployment.load import nearest
from remit.deployment.plugins import open_extensions
from remit.deployment.proposal import changes_between
from remit.deployment.trust import require, standing
from remit.errors import DeploymentError, RemitError, UsageError
from remit.extensions.extensions import Extensions
from remit.extensions.importing import Broken
from remit.extensions.installed import InstalledExtension, find_extensions
from remit.extensions.load import digests_of, installed_extension
from remit.extensions.locking import changed, lock_extension
from remit.packs.locked import Lock, LockedExtension
from remit.state_folder import find_state, open_state


@dataclass(frozen=True, kw_only=True)
class ExtensionProposal:
    """A change of a deployment's extensions, ready to be read and applied.

    Attributes:
        extension: its name.
        lines: what it is, what changed, what is written, in plain words.
        changes: what becomes wider or narrower.
        before: the files as they were read.
        text: the new `remit.toml`.
        lock: the new lock.
    """

    extension: str
    lines: tuple[str, ...]
    changes: Changes
    before: DeploymentFiles
    text: str
    lock: Lock

    def apply(self) -> None:
        """Write `remit.toml` and `remit.lock`, and accept them.

        Raises:
            DeploymentError: they changed since the proposal was made, or cannot be written.
        """
        written = write_files(self.before, self.text, self.lock)
        accept(written, open_state(written.folder))


@dataclass(frozen=True, kw_only=True)
class ExtensionView:
    """The extensions of a deployment, to be looked at.

    Attributes:
        config: what it says of them, all layers together.
        locked: what it accepted.
        loaded: what they give; None where nobody has accepted the deployment, or it does not start with them.
        error: why it does not.
    """

    config: ExtensionsConfig
    locked: Mapping[str, LockedExtension]
    loaded: Extensions | None = None
    error: RemitError | None = None


def view_extensions(
    folder: str | Path, *, off: bool = False, paths: Sequence[str] | None = None, managed: Path = MANAGED_FILE
) -> ExtensionView:
    """Load the extensions of an accepted deployment, to see what they give; close what was loaded.

    Raises:
        DeploymentError: there is no deployment, or it cannot be read.
    """
    files, upper = read_files(folder), load_managed(managed)
    config = combine(upper.config if upper else None, files.config.config, None).config
    found = standing(files, find_state(files.folder), managed=upper.config.trust if upper else ())
    view = ExtensionView(config=config.extensions, locked=files.lock.extensions)
    if not found.trusted:
        return view
    try:
        return replace(view, loaded=open_extensions(config, files, principal="", paths=paths, off=off))
    except RemitError as error:
        return replace(view, error=error)


def enable_extension(
    folder: str | Path,
    name: str,
    *,
    settings: Mapping[str, Any] | None = None,
    required: bool | None = None,
    paths: Sequence[str] | None = None,
    managed: Path = MANAGED_FILE,
    wheels: Mapping[str, str] | None = None,
    following: ExtensionProposal | None = None,
) -> ExtensionProposal:
    """Propose to enable an installed extension, or to lock it again after it changed. Nothing of it is imported.

    Args:
        folder: the deployment's folder.
        name: the extension's name.
        settings: values for `[extensions.settings.NAME]`; others there stay.
        required: nothing starts without it; None leaves that as it is.
        paths: site folders; None for this interpreter's own.
        managed: the managed file.
        wheels: those that it and what it needs will be installed from, file name to `sha256:...`; None where it is
            installed already.
        following: a proposal that will be applied before this one.

    Raises:
        NotTrusted: nobody has accepted the deployment yet.
        UsageError: no such extension is installed.
        DeploymentError: it cannot be used, or the managed file does not permit it.
    """
    files = _accepted(folder, managed)
    if following is not None:
        files = planned_files(following.before, following.text, following.lock)
    inventory = find_extensions(paths)
    try:
        installed = installed_extension(name, inventory)
        digests = digests_of(installed)
    except Broken as broken:
        raise UsageError(f"extension {name}: {broken.reason}", remedy="remit extensions list") from None
    _check_managed(installed.name, managed)
    before = files.lock.extensions.get(installed.name)
    locked = lock_extension(installed, digests, before=before)
    locked = replace(locked, wheels={**locked.wheels, **(wheels or {})})
    differs = changed(installed, before, digests) if before is not None else ()
    values = _enabled_values(files, installed.name, settings or {}, required)
    text = edited_extensions(files.config.text, values, files.config.path)
    lines = (
        *_described(installed, len(digests), locked.wheels, wheels is None),
        *_compared(before, differs),
        *_written(values, files),
    )
    return _proposal(installed.name, lines, files, text, files.lock.with_extension(installed.name, locked))


def disable_extension(folder: str | Path, name: str, *, managed: Path = MANAGED_FILE) -> ExtensionProposal:
    """Propose to switch an extension off. It stays installed and locked, and its settings are kept.

    Raises:
        NotTrusted: nobody has accepted the deployment yet.
        DeploymentError: the deployment does not enable it.
    """
    files = _accepted(folder, managed)
    own = files.config.config.extensions
    enabled = {canonical(one) for one in own.enabled}
    if canonical(name) not in enabled:
        close = nearest(name, tuple(enabled))
        hint = f"; did you mean {close!r}?" if close else ""
        raise DeploymentError(f"this deployment enables no extension {name!r}{hint}")
    values: dict[tuple[str, ...], Any] = {("enabled",): _without(own.enabled, name)}
    if own.required:
        values["required",] = _without(own.required, name)
    text = edited_extensions(files.config.text, values, files.config.path)
    lines = (f"extension {canonical(name)}: nothing of it loads any more", *_written(values, files))
    return _proposal(canonical(name), lines, files, text, files.lock)


def _accepted(folder: str | Path, managed: Path) -> DeploymentFiles:
    files = read_files(folder)
    upper = load_managed(managed)
    accepted = upper.config.trust if upper else ()
    require(standing(files, find_state(files.folder), managed=accepted), files.folder)
    return files


def _check_managed(name: str, managed: Path) -> None:
    upper = load_managed(managed)
    if upper is None:
        return
    own = upper.config.extensions
    ceiling = "enabled" in own.model_fields_set and canonical(name) not in map(canonical, own.enabled)
    if ceiling or canonical(name) in map(canonical, own.blocked):
        raise DeploymentError(f"the managed file {managed} does not permit extension {name}")


def _enabled_values(
    files: DeploymentFiles, name: str, settings: Mapping[str, Any], required: bool | None
) -> dict[tuple[str, ...], Any]:
    own = files.config.config.extensions
    values: dict[tuple[str, ...], Any] = {}
    if name not in map(canonical, own.enabled):
        values["enabled",] = [*own.enabled, name]
    there = name in map(canonical, own.required)
    if required is not None and required != there:
        values["required",] = [*own.required, name] if required else _without(own.required, name)
    values.update({("settings", name, key): value for key, value in settings.items()})
    return values


def _without(names: Sequence[str], name: str) -> list[str]:
    return [one for one in names if canonical(one) != canonical(name)]


def _described(installed: InstalledExtension, files: int, wheels: Mapping[str, str], there: bool) -> Iterator[str]:
    dev = ", dev" if installed.editable else ""
    where = f" in {installed.root}" if there else ""
    yield f"extension {installed.name} ({installed.source}{dev}), {files} files{where}"
    yield "it runs in the host, not confined: it can do whatever this program can, read every secret, and is told"
    yield "what every call does; these files are compared at each start, not those of the distributions that it imports"
    if wheels:
        yield f"hashes that remit sync holds another machine to: {', '.join(sorted(wheels))}"


def _compared(before: LockedExtension | None, differs: Sequence[str]) -> Iterator[str]:
    if before is not None and differs:
        yield "changed since it was accepted:"
        yield from (f"  {line}" for line in differs)
    elif before is not None:
        yield "it is what was accepted before"


def _written(values: Mapping[tuple[str, ...], Any], files: DeploymentFiles) -> Iterator[str]:
    if values:
        yield f"in {files.config.path.name}, under [extensions]:"
        yield from (f"  {'.'.join(key)} = {value!r}" for key, value in values.items())


def _proposal(name: str, lines: Sequence[str], files: DeploymentFiles, text: str, lock: Lock) -> ExtensionProposal:
    return ExtensionProposal(
        extension=name,
        lines=tuple(lines),
        changes=changes_between(files, planned_files(files, text, lock)),
        before=files,
        text=text,
        lock=lock,
    )
