"""Skills that are installed and that a deployment does not enable, for hints."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from remit.errors import RemitError
from remit.packs.installed import Inventory
from remit.packs.manifest import read_manifest
from remit.skills import Skill


def skills_not_enabled(inventory: Inventory, skills: Mapping[str, Skill]) -> tuple[str, ...]:
    """Return full names of skills of installed packs that are not among `skills`; manifests are read for it."""
    names: list[str] = []
    for pack in inventory.packs.values():
        with suppress(RemitError):
            manifest = read_manifest(pack.manifest, package=pack.package)
            names += (f"{pack.name}.{name}" for name in manifest.skills)
    return tuple(name for name in names if name not in skills)
