"""Goes through the packs of a deployment, one by one: what is wrong with one leaves only that one out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.deployment.config import Config, PackConfig
from remit.deployment.derive import derive
from remit.deployment.layers import canonical
from remit.deployment.load import nearest
from remit.deployment.protected import protected_paths
from remit.deployment.rights import PackGrant, check_protected, pack_grant
from remit.deployment.skills import PackParts, Site, pack_skills
from remit.deployment.source import CONFIG_NAME, line_of, parse_toml
from remit.errors import DeploymentError, PackError, PolicyError, RemitError
from remit.extensions.values import SecretProvider
from remit.packs.hashes import file_digests
from remit.packs.installed import InstalledPack, Inventory, PackProblem
from remit.packs.lock import Lock, LockedPack, drift, lock_pack, widened
from remit.packs.manifest import Manifest, read_manifest
from remit.skills import Skill
from remit.state_folder import StateFolder, data_folder
from remit.values import ReadOnly

if TYPE_CHECKING:
    from remit_sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What the packs of a deployment are assembled on.

    Attributes:
        folder: the deployment's folder.
        text: of `remit.toml`, to say in which line something stands.
        config: what holds, all layers together.
        upper: pack to what the managed file gives at most.
        lock: what was accepted.
        inventory: what is installed.
        workspace: absolute real path.
        state: the deployment's state.
        principal: for whom; names the packs' data folders.
        read_only: the mode.
        paths: site folders for the cells.
        sandbox: gives the sandbox when a pack in development has to be described.
        secret_providers: kind of reference to what resolves it, of extensions.
    """

    folder: Path
    text: str
    config: Config
    upper: Mapping[str, Mapping[str, Any]]
    lock: Lock
    inventory: Inventory
    workspace: Path
    state: StateFolder
    principal: str
    read_only: ReadOnly
    paths: tuple[str, ...]
    sandbox: Callable[[], Sandbox]
    secret_providers: Mapping[str, SecretProvider] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """The packs of a deployment.

    Attributes:
        skills: full name to usable skill.
        problems: packs and skills that were left out.
        notes: what of a grant gives nothing on this machine.
        packs: name to pack, of those that were not left out.
        errors: name to what went wrong, of those that were.
    """

    skills: Mapping[str, Skill] = field(default_factory=dict)
    problems: tuple[PackProblem, ...] = ()
    notes: tuple[str, ...] = ()
    packs: Mapping[str, PackParts] = field(default_factory=dict)
    errors: Mapping[str, RemitError] = field(default_factory=dict)


def assemble(ground: Ground) -> Assembled:
    """Assemble every enabled pack.

    Raises:
        DeploymentError: a required pack is left out, or `remit.toml` names a pack that nobody knows.
        PolicyError: a grant that cannot be held.
    """
    skills: dict[str, Skill] = {}
    packs: dict[str, PackParts] = {}
    errors: dict[str, RemitError] = {}
    problems: list[PackProblem] = []
    notes: list[str] = []
    for name, pack in sorted(ground.config.packs.items()):
        if not pack.enabled:
            _known(name, pack, ground)
            continue
        try:
            packs[name] = _parts(name, pack, ground)
        except PolicyError:
            raise
        except RemitError as error:
            errors[name] = error
            problems.append(_left_out(name, error, ground.inventory))
            continue
        found = pack_skills(packs[name], site_of(name, ground))
        skills.update((skill.full, skill) for skill in found.skills)
        problems += found.problems
        notes += (*packs[name].notes, *found.notes)
    _required(ground.config, problems)
    return Assembled(skills=skills, problems=tuple(problems), notes=tuple(notes), packs=packs, errors=errors)


def _left_out(name: str, error: RemitError, inventory: Inventory) -> PackProblem:
    reason = error.message.removeprefix(f"pack {name}: ").removeprefix(f"pack {name} ")
    installed = inventory.packs.get(name)
    known = {problem.pack: problem.distribution for problem in inventory.problems}
    distribution = installed.distribution if installed else known.get(name, "")
    return PackProblem(pack=name, distribution=distribution, reason=reason, remedy=error.remedy)


def _known(name: str, pack: PackConfig, ground: Ground) -> None:
    """Switching off a pack that nobody knows is a typing error, and a dangerous one."""
    if pack.required:
        raise DeploymentError(f"pack {name} is required and not enabled", remedy=f"run `remit packs enable {name}`")
    troubled = {problem.pack for problem in ground.inventory.problems}
    if name in ground.inventory.packs or name in ground.lock.packs or name in troubled:
        return
    hint = _hint(name, ground.inventory)
    raise DeploymentError(
        f"{_where(name, ground)} names pack {name!r}, which is neither installed nor locked{hint}",
        remedy=f"correct the name, or remove [packs.{name}]",
    )


def _where(name: str, ground: Ground) -> str:
    """Say in which line a pack is named."""
    written = (key for key in parse_toml(ground.text, ground.folder).get("packs", {}) if canonical(key) == name)
    line = line_of(ground.text, ("packs", next(written, name)))
    return f"{CONFIG_NAME}:{line}" if line else CONFIG_NAME


def _hint(name: str, inventory: Inventory) -> str:
    close = inventory.nearest(name)
    return f"; did you mean {close!r}?" if close else ""


def _required(config: Config, problems: Iterable[PackProblem]) -> None:
    for problem in problems:
        if config.packs[problem.pack].required:
            raise DeploymentError(f"required {problem}", remedy=problem.remedy)


def _parts(name: str, pack: PackConfig, ground: Ground) -> PackParts:
    """Return the pack's parts.

    Raises:
        RemitError: why it is left out.
        PolicyError: a grant that cannot be held.
    """
    installed = _installed(name, ground)
    manifest = read_manifest(installed.manifest, package=installed.package)
    try:
        digests = {} if installed.editable else file_digests(installed)
        locked = _undrifted(installed, manifest, ground, digests)
        grant = pack_grant(manifest, pack, ground.upper.get(name, {}))
        locked, notes = _derived(installed, manifest, grant, ground) if installed.editable else (locked, ())
    except OSError as error:
        raise PackError(f"one of its files cannot be read: {error.strerror or error}") from error
    check_protected(name, grant.grant, {"workspace": ground.workspace}, protected_paths(ground.folder))
    return PackParts(
        installed=installed,
        manifest=manifest,
        locked=locked,
        config=pack,
        grant=grant,
        notes=notes,
        digests=digests,
    )


def _installed(name: str, ground: Ground) -> InstalledPack:
    inventory = ground.inventory
    found = inventory.packs.get(name)
    if found is not None:
        return found
    for problem in inventory.problems:
        if problem.pack == name:
            raise PackError(problem.reason, remedy=problem.remedy)
    raise PackError(
        f"it is not installed{_hint(name, inventory)} ({_where(name, ground)})",
        remedy=f"`remit sync` installs what is locked; or run `remit packs disable {name}`",
    )


def _undrifted(installed: InstalledPack, manifest: Manifest, ground: Ground, digests: Mapping[str, str]) -> LockedPack:
    """Return what is locked. This comes before its grant is looked at, which another version may not ask for.

    Raises:
        RemitError: not locked, drifted, or wider than what was accepted.
    """
    name = manifest.name
    again = f"`remit packs diff {name}` says what changed; `remit apply` or `remit packs enable {name}` accepts it"
    locked = ground.lock.packs.get(manifest.name)
    if locked is None:
        raise DeploymentError("it is not locked", remedy=f"run `remit packs enable {manifest.name}`")
    changed = drift(installed, manifest, locked, digests)
    if changed:
        raise DeploymentError(f"it differs from remit.lock: {'; '.join(changed)}", remedy=again)
    wider = widened(manifest, locked) if installed.editable else ()
    if wider:
        raise DeploymentError(f"it is wider than what was accepted: {'; '.join(wider)}", remedy=again)
    return locked


def _derived(
    installed: InstalledPack, manifest: Manifest, grant: PackGrant, ground: Ground
) -> tuple[LockedPack, tuple[str, ...]]:
    """Return a pack in development derived anew, within what was accepted, with notes.

    Raises:
        RemitError: it cannot be derived.
    """
    described = derive(
        installed,
        manifest,
        ground.sandbox(),
        paths=ground.paths,
        settings=grant.settings,
        enforcement=ground.config.defaults.enforcement,
    )
    said = ((name, note) for name, one in described.items() for note in one.notes)
    notes = tuple(f"pack {manifest.name}: skill {name}: {note}" for name, note in said)
    return lock_pack(installed, manifest, described), notes


def site_of(pack: str, ground: Ground) -> Site:
    """Return where the skills of a pack run."""
    return Site(
        folder=ground.folder,
        anchors={"workspace": ground.workspace, "data": data_folder(ground.state, pack, ground.principal)},
        paths=ground.paths,
        read_only=ground.read_only,
        enforcement=ground.config.defaults.enforcement,
        secret_providers=ground.secret_providers,
    )


def closest_skill(name: str, skills: Mapping[str, Skill]) -> str | None:
    """Return the full name of the usable skill that is most like `name`, for people."""
    return nearest(name, tuple(skills))
