"""A permission table as `pack.toml` writes it, and adding one to a manifest without losing what stands there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remit.deployment.try_pack import development_pack
from remit.errors import ManifestError
from remit.packs.entries import reduced
from remit.packs.manifest import read_manifest

Table = Mapping[str, Sequence[str]]
"""Permission key to entries; `shm` is there or not."""


def as_toml(skill: str, table: Table) -> str:
    """Return the lines for `pack.toml`: the pack's ceiling, and what the skill uses of it."""
    lines = ["[permissions]", *(f"{key} = {_value(key, entries)}" for key, entries in table.items())]
    uses = json.dumps(list(table), ensure_ascii=False)
    return "\n".join([*lines, "", f"# in the [[skill]] table of {skill}", f"uses = {uses}"])


def _value(key: str, entries: Sequence[str]) -> str:
    return "true" if key == "shm" else json.dumps(list(entries), ensure_ascii=False)


def add_to_manifest(folder: Path, skill: str, table: Table) -> Path:
    """Widen `[permissions]` by the table, and let the skill use exactly the table; return the file that was changed.

    Args:
        folder: of the pack's project.
        skill: its name within the pack.
        table: what it needs.

    Raises:
        ManifestError: the manifest cannot be edited, or would be wrong afterwards; nothing is changed.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    installed = development_pack(folder)
    path = installed.manifest
    before = path.read_text("utf-8")
    try:
        document = tomlkit.parse(before)
        _widen(document, table)
        _use(document, skill, table)
        text = tomlkit.dumps(document)
    except (TOMLKitError, KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"{path} cannot be edited without loss", remedy="add the printed lines by hand") from error
    path.write_text(text, "utf-8")
    try:
        read_manifest(path, package=installed.package)
    except ManifestError:
        path.write_text(before, "utf-8")
        raise
    return path


def _widen(document: Any, table: Table) -> None:
    import tomlkit

    asked = document.setdefault("permissions", tomlkit.table())
    for key, entries in table.items():
        if key == "shm":
            asked["shm"] = True
            continue
        place, name = (asked.setdefault("fs", tomlkit.table()), key[3:]) if key.startswith("fs.") else (asked, key)
        place[name] = sorted(reduced(key, [*place.get(name, []), *entries]))


def _use(document: Any, skill: str, table: Table) -> None:
    """Name single entries only where the pack asks for more than this skill needs."""
    asked = document.get("permissions", {})
    for one in document["skill"]:
        if one["name"] == skill:
            one["uses"] = [use for key, entries in table.items() for use in _uses(asked, key, entries)]


def _uses(asked: Any, key: str, entries: Sequence[str]) -> list[str]:
    if key == "shm":
        return [key]
    all_of_it = asked["fs"][key[3:]] if key.startswith("fs.") else asked[key]
    return [key] if set(all_of_it) == set(entries) else [f"{key}:{entry}" for entry in entries]
