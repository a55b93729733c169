"""Makes the skills of one enabled pack: locked, granted, resolved to this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from remit.argument_paths import is_covered, leaves
from remit.deployment.config import PackConfig
from remit.deployment.load import nearest
from remit.deployment.rights import PackGrant, in_mode, resolve_right
from remit.deployment.secret_values import resolve_secret
from remit.errors import DeploymentError, PackError, RemitError
from remit.extensions.values import SecretProvider
from remit.packs.installed import InstalledPack, PackProblem
from remit.packs.lock import LockedPack, LockedSkill
from remit.packs.manifest import Manifest, SkillTable
from remit.packs.path_patterns import anchored_path
from remit.packs.permissions import NOTHING, Permission, effective_effect
from remit.skills import Skill
from remit.values import Effect, ReadOnly
from remit_sandbox.values import CellSpec, Enforcement, Isolation, Rights

_FORMATS = {"path": "path", "file-path": "path", "directory-path": "path", "uri": "url", "url": "url"}


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where the packs of a deployment run.

    Attributes:
        folder: the deployment's folder.
        anchors: `workspace` and `data` of the pack to absolute real paths.
        paths: site folders for the cells.
        read_only: the mode.
        enforcement: what the deployment demands.
        secret_providers: kind of reference to what resolves it, of extensions.
    """

    folder: Path
    anchors: Mapping[str, Path]
    paths: tuple[str, ...]
    read_only: ReadOnly
    enforcement: Enforcement
    secret_providers: Mapping[str, SecretProvider] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PackParts:
    """One pack with everything that is known about it in this deployment.

    Attributes:
        notes: for its author.
        digests: of its files when they were compared with the lock; empty for a pack in development.
    """

    installed: InstalledPack
    manifest: Manifest
    locked: LockedPack
    config: PackConfig
    grant: PackGrant
    notes: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The pack's name."""
        return self.manifest.name

    def chosen(self) -> tuple[str, ...]:
        """Names of the skills that the deployment chose and the manifest has."""
        wanted = self.config.skills
        return tuple(name for name in self.manifest.skills if wanted is None or name in wanted)

    def problem(self, reason: str, remedy: str = "") -> PackProblem:
        """A problem of this pack."""
        return PackProblem(pack=self.name, distribution=self.installed.distribution, reason=reason, remedy=remedy)


@dataclass(frozen=True, kw_only=True)
class PackSkills:
    """The usable skills of one pack, why others are missing, and what of a grant gives nothing here."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[PackProblem, ...] = ()
    notes: tuple[str, ...] = ()


def pack_skills(parts: PackParts, site: Site) -> PackSkills:
    """Make the skills of one pack.

    Raises:
        PolicyError: a link in a granted folder leads out of it.
    """
    skills: list[Skill] = []
    problems = list(_unknown_names(parts))
    notes: dict[str, list[str]] = {}
    for name in parts.chosen():
        try:
            skill, said = _skill(parts, name, site)
        except (DeploymentError, PackError) as error:
            problems.append(parts.problem(f"skill {name}: {error.message}", error.remedy))
            continue
        skills.append(skill)
        for note in said:
            notes.setdefault(note, []).append(name)
    lines = tuple(f"pack {parts.name}: {note} (for {', '.join(names)})" for note, names in notes.items())
    return PackSkills(skills=tuple(skills), problems=tuple(problems), notes=lines)


def _unknown_names(parts: PackParts) -> Iterator[PackProblem]:
    known = tuple(parts.manifest.skills)
    described = tuple(what.partition(".")[0] for what in parts.config.describe)
    named = {"skills": parts.config.skills or (), "accept_read": parts.config.accept_read, "describe": described}
    for key, names in named.items():
        for name in names:
            if name not in known:
                close = nearest(name, known)
                hint = f"; did you mean {close!r}?" if close else f"; it has {', '.join(known)}"
                yield parts.problem(f"{key} names {name!r}, which is no skill of it{hint}", "correct remit.toml")


def _skill(parts: PackParts, name: str, site: Site) -> tuple[Skill, tuple[str, ...]]:
    """Return the skill and what of its right gives nothing here; one that the mode withholds has no right."""
    table, locked = parts.manifest.skills[name], _locked(parts, name)
    permission = parts.manifest.skill_permission(name, parts.grant.settings)
    granted = permission.under(parts.grant.grant)
    effect = effective_effect(table.effect, granted, accept_read=name in parts.config.accept_read)
    withheld = bool(site.read_only) and effect != "read"
    right = NOTHING if withheld else in_mode(granted, site.read_only)
    resolved = resolve_right(right, site.anchors, private_net=parts.grant.private_net)
    cell = _cell(parts, table, right, resolved.rights, site)
    skill = _value(parts, name, locked, effect, (permission, granted, right), cell)
    return replace(skill, withheld=withheld), resolved.notes


def _locked(parts: PackParts, name: str) -> LockedSkill:
    locked = parts.locked.skills.get(name)
    if locked is None:
        raise PackError("it is not locked", remedy=f"run `remit packs enable {parts.name}`")
    if locked.refused:
        raise PackError(
            f"it is refused: {locked.refused}",
            remedy="change the skill in its pack, or report this to the pack's author",
        )
    return locked


def _cell(parts: PackParts, table: SkillTable, right: Permission, rights: Rights, site: Site) -> CellSpec:
    own = any(entry.startswith("${data}") for entry in (*right.fs_read, *right.fs_write))
    workspace = str(site.anchors["workspace"])
    share = _share(right, rights, site.anchors)
    return CellSpec(
        pack=parts.name,
        package=parts.installed.package,
        location=parts.installed.location,
        digests=parts.digests,
        paths=site.paths,
        settings=dict(parts.grant.settings),
        secrets=_secrets(parts, right.secrets, site),
        rights=rights,
        workspace=workspace if share else None,
        cwd=workspace if share == "whole" else None,
        data=str(site.anchors["data"]) if own else None,
        isolation=_isolation(table, right),
        shared=parts.config.shared,
        enforcement=site.enforcement,
    )


def _share(right: Permission, rights: Rights, anchors: Mapping[str, Path]) -> Literal["", "part", "whole"]:
    """Say how much of the workspace a right opens; what is granted and is not there yet counts as a part."""
    found = share_of(anchors["workspace"], (*rights.read, *rights.write))
    if found:
        return found
    folders = {name: str(path) for name, path in anchors.items()}
    granted = (anchored_path(pattern, folders) for pattern in (*right.fs_read, *right.fs_write))
    return "part" if share_of(anchors["workspace"], filter(None, granted)) else ""


def share_of(workspace: Path, paths: Iterable[str]) -> Literal["", "part", "whole"]:
    """Say how much of the workspace these paths of `Rights` open; the whole makes it the working directory."""
    share: Literal["", "part"] = ""
    for path in paths:
        place = Path(path.removesuffix("/**") or "/")
        if path.endswith("/**") and workspace.is_relative_to(place):
            return "whole"
        if place.is_relative_to(workspace):
            share = "part"
    return share


def _isolation(table: SkillTable, right: Permission) -> Isolation:
    if right.exec:
        return "process"
    return table.isolation


def _secrets(parts: PackParts, names: tuple[str, ...], site: Site) -> dict[str, str]:
    values: dict[str, str] = {}
    for name in names:
        reference = parts.config.secrets.get(name)
        if reference is None:
            raise DeploymentError(
                f"its secret {name} is not bound",
                remedy=f"remit secrets set {parts.name}.{name} env:{name.upper()}",
            )
        values[name] = _secret(name, reference, site)
    return values


def _secret(name: str, reference: str, site: Site) -> str:
    try:
        return resolve_secret(reference, folder=site.folder, providers=site.secret_providers)
    except RemitError as error:
        raise DeploymentError(f"its secret {name}: {error.message}", remedy=error.remedy) from error


def _value(
    parts: PackParts,
    name: str,
    locked: LockedSkill,
    effect: Effect,
    words: tuple[Permission, Permission, Permission],
    cell: CellSpec,
) -> Skill:
    table = parts.manifest.skills[name]
    permission, grant, right = (one.words() for one in words)
    return Skill(
        pack=parts.name,
        name=name,
        description=parts.config.describe.get(name, locked.description),
        schema=_described(name, locked.schema, parts.config.describe),
        effect=effect,
        declared_effect=table.effect,
        impact=frozenset(table.impact),
        handler=table.handler,
        after=table.after,
        timeout=float(table.timeout),
        cell=cell,
        permission=permission,
        grant=grant,
        right=right,
        idempotent=table.idempotent,
        cache=float(table.cache) if effect == "read" and table.idempotent else 0.0,
        targets={**_implied_targets(locked.schema, table.targets), **table.targets},
        labels=frozenset({"untrusted", *table.returns}),
        keep=tuple(table.keep),
        secret_arguments=frozenset(table.secret_arguments),
        examples=tuple(example.model_dump() for example in table.examples),
        hash=parts.locked.skill_hash(name),
        version=parts.installed.version,
        pack_summary=parts.manifest.summary,
    )


def _described(name: str, schema: Mapping[str, Any], describe: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a schema in which arguments are described as the deployment does it.

    Raises:
        DeploymentError: it describes an argument that there is not.
    """
    own = {what.partition(".")[2]: text for what, text in describe.items() if what.startswith(f"{name}.")}
    properties = schema.get("properties", {})
    for argument in own.keys() - properties.keys():
        raise DeploymentError(
            f"describe names {name}.{argument}, which is no argument of it",
            remedy=f"its arguments: {', '.join(properties) or 'none'}",
        )
    if not own:
        return schema
    told = {argument: {**properties[argument], "description": text} for argument, text in own.items()}
    return {**schema, "properties": {**properties, **told}}


def _implied_targets(schema: Mapping[str, Any], said: Collection[str]) -> dict[str, str]:
    """Arguments, and what lies in them, whose type says where an action lands: `Path` and `AnyUrl`."""
    kinds = ((way, _FORMATS.get(str(one.get("format")))) for way, one in leaves(schema))
    return {way: kind for way, kind in kinds if kind is not None and not is_covered(way, said)}
