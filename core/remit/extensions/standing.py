"""How each installed or named extension stands in a deployment, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from remit.extensions.extensions import Extensions
from remit.extensions.importing import Broken
from remit.extensions.installed import ExtensionInventory, find_extensions
from remit.extensions.load import digests_of
from remit.extensions.locking import changed
from remit.extensions.values import ExtensionProblem, Item
from remit.packs.folding import fold
from remit.packs.locked import LockedExtension

State = Literal[
    "disabled", "enabled", "blocked", "CANNOT BE USED", "NOT INSTALLED", "NOT LOCKED", "CHANGED", "FAILED", "not loaded"
]


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One extension in a listing.

    Attributes:
        extension: its name.
        distribution, version: empty where it is not installed.
        editable: a development install.
        state: how it stands here.
        required: nothing starts without it.
        gives: what it gives; empty unless it was loaded.
        problem: why it, or something that it gives, is left out.
    """

    extension: str
    distribution: str = ""
    version: str = ""
    editable: bool = False
    state: State = "disabled"
    required: bool = False
    gives: tuple[Item, ...] = ()
    problem: ExtensionProblem | None = None


def listed(
    *,
    enabled: Sequence[str],
    required: Sequence[str],
    blocked: Sequence[str],
    locked: Mapping[str, LockedExtension],
    loaded: Extensions | None,
    paths: Sequence[str] | None = None,
) -> list[Listed]:
    """Return installed extensions and those that a deployment names, by name; nothing is imported for it.

    Args:
        enabled, required, blocked: of the deployment.
        locked: what it accepted.
        loaded: what was loaded for it; None when nothing was.
        paths: site folders.
    """
    inventory = find_extensions(paths)
    names = {fold(name): name for name in (*enabled, *inventory.problems, *inventory.extensions)}
    return [
        _listed(
            name,
            inventory,
            enabled=_among(name, enabled),
            required=_among(name, required),
            blocked=_among(name, blocked),
            locked=next((one for known, one in locked.items() if fold(known) == fold(name)), None),
            loaded=loaded,
        )
        for _, name in sorted(names.items())
    ]


def _listed(
    name: str,
    inventory: ExtensionInventory,
    *,
    enabled: bool,
    required: bool,
    blocked: bool,
    locked: LockedExtension | None,
    loaded: Extensions | None,
) -> Listed:
    installed = inventory.named(name)
    problems = loaded.problems if loaded is not None else ()
    problem = next((one for one in problems if fold(one.extension) == fold(name)), None) or (
        inventory.problems.get(name) if installed is None else None
    )
    gives = tuple(item for item in loaded.items if item.extension == name) if loaded is not None else ()
    state = _state(name, inventory, enabled, blocked, locked, loaded)
    return Listed(
        extension=name,
        distribution=installed.distribution if installed else "",
        version=installed.version if installed else "",
        editable=installed.editable if installed else False,
        state=state,
        required=required,
        gives=gives,
        problem=problem,
    )


def _state(
    name: str,
    inventory: ExtensionInventory,
    enabled: bool,
    blocked: bool,
    locked: LockedExtension | None,
    loaded: Extensions | None,
) -> State:
    installed = inventory.named(name)
    if installed is None:
        return "CANNOT BE USED" if name in inventory.problems else "NOT INSTALLED"
    if blocked:
        return "blocked"
    if not enabled:
        return "disabled"
    if locked is None:
        return "NOT LOCKED"
    try:
        if changed(installed, locked, digests_of(installed)):
            return "CHANGED"
    except Broken:
        return "CANNOT BE USED"
    if loaded is None or loaded.off:
        return "not loaded"
    return "enabled" if installed.name in loaded.loaded else "FAILED"


def _among(name: str, names: Sequence[str]) -> bool:
    return fold(name) in map(fold, names)
