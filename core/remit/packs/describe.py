"""Derives the schemas of a pack's skills in a cell that has no right at all."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit.errors import PackError, SchemaError
from remit.packs.installed import InstalledPack
from remit.packs.manifest import Manifest
from remit.packs.sites import import_paths
from remit_sandbox.errors import CannotConfine, CellStartError, SandboxError, SupervisorError
from remit_sandbox.values import CellSpec, Described, Enforcement

if TYPE_CHECKING:
    from remit_sandbox import Sandbox

LONGEST_DESCRIPTION = 1024
"""Characters of a description that a model reads; what is longer is cut and marked."""

_LONGEST_NOTE = 200
_MOST_NOTES = 20


@dataclass(frozen=True, kw_only=True)
class SkillDescription:
    """What a model reads about one skill, accepted; or why the skill is left out.

    Attributes:
        name: the skill's name.
        description: cleaned and capped text.
        schema: the accepted JSON Schema of its arguments.
        notes: warnings for the author.
        refused: why the skill is left out; empty when it is accepted.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refused: str = ""


def describe_pack(
    installed: InstalledPack,
    manifest: Manifest,
    sandbox: Sandbox,
    *,
    paths: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    enforcement: Enforcement = "kernel",
    timeout: float = 10.0,
) -> dict[str, SkillDescription]:
    """Describe every skill of the manifest. What a single skill does wrong leaves that skill out.

    Args:
        installed: the pack.
        manifest: its manifest.
        sandbox: where the cell runs.
        paths: site folders for the cell (default: those of this environment).
        settings: the pack's settings, the defaults when None; never secrets.
        enforcement: whether an unconfined cell is acceptable.
        timeout: seconds for all skills together, after the import.

    Raises:
        CannotConfine, SupervisorError: the machine's fault, not the pack's.
        PackError: the pack cannot be imported (`traceback` says where), or broke its cell.
    """
    spec = CellSpec(
        pack=installed.name,
        package=installed.package,
        location=installed.location,
        paths=import_paths(paths),
        settings=dict(manifest.settings if settings is None else settings),
        isolation="fresh",
        enforcement=enforcement,
    )
    answers = _ask(sandbox, spec, manifest, timeout)
    return {name: judge_description(name, answers.get(name)) for name in manifest.skills}


def _ask(sandbox: Sandbox, spec: CellSpec, manifest: Manifest, timeout: float) -> Mapping[str, Described]:
    skills = {name: (table.handler, table.after) for name, table in manifest.skills.items()}
    try:
        cell = sandbox.cell(spec)
        try:
            return cell.describe(skills, timeout=timeout)
        finally:
            cell.kill()
    except (CannotConfine, SupervisorError):
        raise
    except CellStartError as error:
        raise PackError(
            f"pack {spec.pack} cannot be imported: {clean(error.reason, 500)}",
            remedy="remit packs try DIR shows where, for its author",
            traceback=clean(error.traceback, 8000),
        ) from None
    except SandboxError as error:
        raise PackError(f"pack {spec.pack} broke its cell while it was described: {clean(str(error), 500)}") from None


def judge_description(name: str, described: Described | None) -> SkillDescription:
    """Accept what a cell says about one skill, or say why not. Everything in it is hostile."""
    from remit.packs.schema import accept_schema

    if described is None:
        return SkillDescription(name=name, refused="its cell said nothing about it")
    notes = tuple(clean(note, _LONGEST_NOTE) for note in described.notes[:_MOST_NOTES])
    if described.error:
        return SkillDescription(name=name, notes=notes, refused=clean(described.error, 500))
    try:
        schema = accept_schema(described.schema)
    except SchemaError as error:
        return SkillDescription(name=name, notes=notes, refused=error.message)
    description = clean(described.description, LONGEST_DESCRIPTION)
    missing = tuple(_missing(description, schema))
    return SkillDescription(name=name, description=description, schema=schema, notes=(*notes, *missing))


def _missing(description: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Say what a model will miss: it chooses a skill by its description, and fills arguments by their types."""
    if not description:
        yield "its handler has no docstring, so a model does not learn when to use it"
    properties = schema.get("properties", {})
    bare = [name for name, one in properties.items() if not set(one) - {"title", "description", "default"}]
    if bare:
        yield f"no type hint for {', '.join(bare)[:_LONGEST_NOTE]}: any value is passed on"


def clean(text: str, longest: int) -> str:
    """Return text fit to be shown: no control, bidi, zero-width or lone surrogate characters, at most `longest`."""
    kept = "".join(char for char in text[: 4 * longest] if char in "\n\t" or _visible(char)).strip()
    return kept if len(kept) <= longest else kept[: longest - 4].rstrip() + " ..."


def _visible(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
