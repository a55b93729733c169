"""Finds installed packs without running a line of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from remit.packs.installed import InstalledPack, Inventory, PackProblem, fold
from remit.packs.site_paths import site_paths

__all__ = ["InstalledPack", "Inventory", "PackProblem", "discover", "fold", "list_packs"]


def discover(paths: Sequence[str] | None = None, *, sources: Mapping[str, str] | None = None) -> Inventory:
    """Find every pack on `paths`; nothing is imported, no manifest is read.

    Args:
        paths: site folders in the order of import (default: `sys.path` without the working directory).
        sources: pack to distribution, for two distributions with one pack name (`from = "..."`).
    """
    from remit.packs.survey import survey

    return survey(site_paths(paths), sources or {})


def list_packs(
    paths: Sequence[str] | None = None, *, index: Path, sources: Mapping[str, str] | None = None
) -> Inventory:
    """The same as `discover`, answered from an index where nothing that it depends on has changed.

    For listings only: nothing that decides a right may use it, and `files` is empty.

    Args:
        index: folder of the index; when it cannot be read or written the answer is only slower.
    """
    from remit.packs.index import recall, remember

    folders = site_paths(paths)
    known = recall(index, folders, sources or {})
    if known is None:
        from remit.packs.survey import survey

        seen: list[list[str]] = []
        known = survey(folders, sources or {}, seen=seen)
        remember(index, folders, sources or {}, known, seen)
    return known
