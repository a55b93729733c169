"""Enabling and disabling packs: a proposal that a person reads, then `apply()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.deployment.anchors import workspace_of
from remit.deployment.config import PackConfig
from remit.deployment.derive import derive
from remit.deployment.edit import edited_pack, planned_files
from remit.deployment.files import DeploymentFiles, read_files
from remit.deployment.layers import MANAGED_FILE, canonical, load_managed
from remit.deployment.load import nearest
from remit.deployment.proposal import Described, Proposal, changes_between, describing
from remit.deployment.protected import protected_paths
from remit.deployment.rights import PackGrant, check_protected, pack_grant
from remit.deployment.site_folders import site_folders
from remit.deployment.trust import Standing, require, standing
from remit.deployment.wishes import Wishes, table_values
from remit.errors import DeploymentError, PackError
from remit.packs.describe import SkillDescription
from remit.packs.discovery import discover
from remit.packs.installed import InstalledPack
from remit.packs.lock import lock_pack
from remit.packs.manifest import AUTHORS_TURN, Manifest, read_manifest
from remit.state_folder import find_state
from remit_sandbox.values import Enforcement

if TYPE_CHECKING:
    from remit_sandbox import Sandbox


def enable(
    folder: str | Path,
    pack: str,
    *,
    grants: Mapping[str, Any] | None = None,
    skills: Sequence[str] | None = None,
    accept_read: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    required: bool | None = None,
    regrants: Mapping[str, Any] | None = None,
    paths: Sequence[str] | None = None,
    sandbox: Sandbox | None = None,
    managed: Path = MANAGED_FILE,
    following: Proposal | None = None,
) -> Proposal:
    """Propose to enable an installed pack, or to lock it again after an upgrade.

    Its schemas are derived in a cell without any right; nothing else of it runs.

    Args:
        folder: the deployment's folder.
        pack: the pack's name.
        grants: what to give, `{"fs.read": [...]}` or nested; None keeps what `remit.toml` gives,
            or else proposes the least that the chosen skills need.
        skills: the skills that can be called; None keeps what is there, or else all.
        accept_read: skills whose declared `read` is accepted although they reach the network; None
            for every one that declares it. They are shown as not verified.
        settings: values for the pack's settings.
        secrets: logical name to reference (`env:NAME`).
        required: nothing starts without this pack.
        regrants: flat keys of the grant to change, None for what the pack asks for; the others stay.
        paths: site folders; None for this interpreter's own.
        sandbox: used to describe; None makes one for the purpose.
        managed: the managed file.
        following: a proposal that will be applied before this one.

    Raises:
        NotTrusted: nobody has accepted the deployment yet.
        PackError: no such pack, it cannot be described, or none of the chosen skills can be used.
        PolicyError: the grant is wider than the permission, or opens something protected.
        UsageError: a skill that the pack does not have.
    """
    files = read_files(folder)
    require(_standing(files, managed), files.folder)
    if following is not None:
        files = planned_files(following.before, following.text, following.lock)
    installed = discover(paths, sources=_sources(files)).get(pack)
    manifest = read_manifest(installed.manifest, package=installed.package)
    wishes = Wishes(
        grants=grants,
        skills=skills,
        accept_read=accept_read,
        settings=settings,
        secrets=secrets,
        required=required,
        regrants=regrants,
        extensions=bool(files.config.config.extensions.enabled),
    )
    values = table_values(manifest, _table(files, manifest.name), wishes)
    text = edited_pack(files.config.text, manifest.name, values, files.config.path)
    planned = planned_files(files, text, files.lock)
    table = _table(planned, manifest.name)
    given = _given(manifest, table, planned)
    enforcement = files.config.config.defaults.enforcement
    described = _describe(installed, manifest, given, enforcement, paths, sandbox)
    before = files.lock.packs.get(manifest.name)
    locked = lock_pack(installed, manifest, described, before=before)
    after = planned_files(files, text, files.lock.with_pack(manifest.name, locked))
    shown = Described(installed=installed, manifest=manifest, table=table, given=given, skills=described)
    _some_usable(shown)
    return describing(shown, files, after)


def _some_usable(pack: Described) -> None:
    if pack.refused and not pack.usable:
        reasons = "; ".join(f"skill {name}: {why}" for name, why in pack.refused.items())
        raise PackError(f"pack {pack.manifest.name} has no skill that can be used: {reasons}", remedy=AUTHORS_TURN)


def disable(folder: str | Path, pack: str, *, managed: Path = MANAGED_FILE) -> Proposal:
    """Propose to switch a pack off. It stays installed and locked, and its table is kept.

    Raises:
        DeploymentError: the deployment does not name the pack.
    """
    files = read_files(folder)
    name = canonical(pack)
    known = {canonical(written) for written in files.config.config.packs} | set(files.lock.packs)
    if name not in known:
        close = nearest(name, tuple(known))
        hint = f"; did you mean {close!r}?" if close else ""
        raise DeploymentError(f"this deployment names no pack {pack!r}{hint}")
    text = edited_pack(files.config.text, name, {("enabled",): False}, files.config.path)
    return Proposal(
        pack=name,
        lines=(f"pack {name}: none of its skills can be called any more",),
        changes=changes_between(files, planned_files(files, text, files.lock)),
        before=files,
        text=text,
        lock=files.lock,
        accepts=_standing(files, managed).trusted,
    )


def _standing(files: DeploymentFiles, managed: Path) -> Standing:
    upper = load_managed(managed)
    return standing(files, find_state(files.folder), managed=upper.config.trust if upper else ())


def _sources(files: DeploymentFiles) -> dict[str, str]:
    return {canonical(name): pack.from_ for name, pack in files.config.config.packs.items() if pack.from_}


def _table(files: DeploymentFiles, name: str) -> PackConfig:
    packs = files.config.config.packs
    return next((pack for written, pack in packs.items() if canonical(written) == name), PackConfig())


def _given(manifest: Manifest, table: PackConfig, planned: DeploymentFiles) -> PackGrant:
    """Check what would be given, before any code of the pack runs."""
    given = pack_grant(manifest, table, {})
    anchors = {"workspace": workspace_of(planned.folder, planned.config.config.workspace)}
    check_protected(manifest.name, given.grant, anchors, protected_paths(planned.folder))
    return given


def _describe(
    installed: InstalledPack,
    manifest: Manifest,
    given: PackGrant,
    enforcement: Enforcement,
    paths: Sequence[str] | None,
    sandbox: Sandbox | None,
) -> dict[str, SkillDescription]:
    from remit_sandbox import Sandbox

    with nullcontext(sandbox) if sandbox is not None else Sandbox() as used:
        return derive(
            installed,
            manifest,
            used,
            paths=site_folders(paths),
            settings=given.settings,
            enforcement=enforcement,
        )
