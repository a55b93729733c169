"""Reads `pack.toml`: a closed vocabulary, checked without running the pack."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from remit.errors import DeploymentError, ManifestError, PolicyError
from remit.packs.complaints import complaint, newer_remit
from remit.packs.hashes import canonical, digest
from remit.packs.installed import InstalledPack
from remit.packs.permissions import Permission
from remit.packs.settings import fill, fill_entries, merge_settings
from remit.packs.tables import Document, PermissionsTable, Setting, SkillTable

__all__ = [
    "Manifest",
    "Setting",
    "SkillTable",
    "check_name",
    "manifest_json_schema",
    "parse_manifest",
    "read_manifest",
    "read_pack_manifest",
]

LARGEST = 256 * 1024
"""Bytes that a manifest may have."""

AUTHORS_TURN = "its author has to change it"
"""The remedy for what no deployer can mend."""

_UPGRADE = "pip install --upgrade remit"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A manifest that has been read and checked.

    Attributes:
        path: the file.
        digest: `sha256:...` of its bytes.
        name: the pack's name.
        summary: one line for people.
        requires_remit: version specifier, empty for any.
        settings: name to default value.
        permissions: the `[permissions]` table as written.
        skills: name to table, in the manifest's order.
        tables: skill name to `sha256:...` of its whole table.
    """

    path: Path
    digest: str
    name: str
    summary: str
    requires_remit: str
    settings: Mapping[str, Setting]
    permissions: PermissionsTable
    skills: Mapping[str, SkillTable]
    tables: Mapping[str, str]

    def settings_with(self, overrides: Mapping[str, Any] | None = None) -> dict[str, Setting]:
        """Return the defaults with the deployment's overrides.

        Raises:
            DeploymentError: an unknown setting, or a value of another type than its default.
        """
        return merge_settings(self.name, self.settings, overrides or {})

    def permission(self, settings: Mapping[str, Setting] | None = None) -> Permission:
        """Return the pack's ceiling with `${setting.x}` filled in from `settings` (default: the defaults).

        Raises:
            ManifestError: a default makes a pattern that is none.
            DeploymentError: a setting of the deployment does.
        """
        chosen = self.settings if settings is None else settings
        asked = self.permissions
        try:
            return Permission.parse(
                {
                    "fs.read": fill_entries(asked.fs.read, chosen),
                    "fs.write": fill_entries(asked.fs.write, chosen),
                    "net": fill_entries(asked.net, chosen),
                    "exec": fill_entries(asked.exec, chosen),
                    "env": fill_entries(asked.env, chosen),
                    "secrets": fill_entries(asked.secrets, chosen),
                    "shm": asked.shm,
                    "limits": asked.limits.given(),
                }
            )
        except PolicyError as error:
            raise self._wrong(f"permissions: {error.message}", settings) from None

    def skill_permission(self, skill: str, settings: Mapping[str, Setting] | None = None) -> Permission:
        """Return the part of the ceiling that one skill uses.

        Raises:
            ManifestError, DeploymentError: as `permission`.
        """
        table = self.skills[skill]
        chosen = self.settings if settings is None else settings
        ceiling = self.permission(settings)
        try:
            uses = [part for use in table.uses for part in fill(use, chosen)]
            own = Permission.granted({"limits": table.limits.given()}, ceiling.select(uses))
            wider = own.beyond(ceiling)
        except PolicyError as error:
            raise self._wrong(f"skill {skill}: {error.message}", settings) from None
        if wider:
            raise self._wrong(f"skill {skill}: {wider[0]} is more than [permissions] asks for", settings)
        return own

    def _wrong(self, message: str, settings: Mapping[str, Setting] | None) -> ManifestError | DeploymentError:
        if settings is None or dict(settings) == dict(self.settings):
            return ManifestError(f"{self.path}: {message}", remedy=AUTHORS_TURN)
        return DeploymentError(
            f"pack {self.name} with the deployment's settings: {message}",
            remedy=f"look at [packs.{self.name}.settings] in remit.toml",
        )


def read_pack_manifest(installed: InstalledPack) -> Manifest:
    """Read an installed pack's manifest; its name must be the entry point's.

    Raises:
        ManifestError: as `read_manifest`.
    """
    manifest = read_manifest(installed.manifest, package=installed.package)
    check_name(installed, manifest)
    return manifest


def check_name(installed: InstalledPack, manifest: Manifest) -> None:
    """Make sure that a manifest belongs to a pack: a pack must not pass itself off as another.

    Raises:
        ManifestError: it names another pack.
    """
    if manifest.name != installed.name:
        raise ManifestError(
            f"{manifest.path}: pack.name is {manifest.name}, and the entry point of {installed.distribution} "
            f"says {installed.name}",
            remedy=AUTHORS_TURN,
        )


def read_manifest(path: Path, *, package: str | None = None) -> Manifest:
    """Read and check a manifest on its own; see `read_pack_manifest` for an installed pack.

    Args:
        path: the file.
        package: the pack's top-level package, in which handlers and post-hooks must lie.

    Raises:
        ManifestError: names file, key path and the nearest known key.
    """
    if not path.is_file():
        raise ManifestError(f"{path}: there is no such file")
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > LARGEST:
        raise ManifestError(f"{path}: a manifest has at most {LARGEST // 1024} KiB")
    return parse_manifest(data, path, package=package)


def parse_manifest(data: bytes, path: Path, *, package: str | None = None) -> Manifest:
    """Check a manifest's bytes; `path` is for messages.

    Raises:
        ManifestError: as `read_manifest`.
    """
    raw = _parse(data, path)
    try:
        document = Document.model_validate(raw)
    except ValidationError as error:
        raise _refusal(error, raw, path) from None
    if newer := newer_remit(document.pack.requires_remit):
        raise ManifestError(f"{path}: pack.requires_remit: {newer}", remedy=_UPGRADE)
    manifest = _manifest(document, raw, data, path)
    _check(manifest, package)
    return manifest


def _parse(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path}: is no TOML in UTF-8 ({str(error)[:200]})") from None


def _refusal(error: ValidationError, raw: dict[str, Any], path: Path) -> ManifestError:
    pack = raw.get("pack")
    wants = pack.get("requires_remit") if isinstance(pack, dict) else None
    newer = newer_remit(wants) if isinstance(wants, str) else ""
    needs = f" (the pack {newer})" if newer else ""
    return ManifestError(f"{path}: {complaint(error, raw)}{needs}", remedy=_UPGRADE if newer else "")


def _manifest(document: Document, raw: dict[str, Any], data: bytes, path: Path) -> Manifest:
    tables = zip(document.skill, raw["skill"], strict=True)
    return Manifest(
        path=path,
        digest=digest(data),
        name=document.pack.name,
        summary=document.pack.summary,
        requires_remit=document.pack.requires_remit,
        settings=document.settings,
        permissions=document.permissions,
        skills={skill.name: skill for skill in document.skill},
        tables={skill.name: digest(_canonical(table, path)) for skill, table in tables},
    )


def _check(manifest: Manifest, package: str | None) -> None:
    manifest.permission()
    for name, skill in manifest.skills.items():
        manifest.skill_permission(name)
        for key, target in (("handler", skill.handler), ("after", skill.after)):
            if package and target and target.partition(":")[0].partition(".")[0] != package:
                raise ManifestError(
                    f"{manifest.path}: skill {name}: {key} = {target!r} lies outside the package {package}"
                )


def _canonical(table: Any, path: Path) -> bytes:
    try:
        return canonical(table).encode()
    except (TypeError, ValueError):
        raise ManifestError(f"{path}: dates, times, nan and inf are no values of a manifest") from None


def manifest_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `pack.toml`, for editors."""
    return Document.model_json_schema()
