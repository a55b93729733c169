"""What `remit packs list` shows, from the index alone: as few imports as a listing can do with.

Data classes, `pathlib` and what they import would double its time. Where the index does not know, `discovery`
answers, and writes it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from remit import __version__
from remit.packs.site_paths import site_paths

_LARGEST = 16 * 1024 * 1024

Folders = Sequence[tuple[str, int]]


class ListedPack(NamedTuple):
    """A pack as a listing shows it; see `InstalledPack`."""

    name: str
    distribution: str
    version: str
    editable: bool


class ListedProblem(NamedTuple):
    """Why a pack is left out; see `PackProblem`."""

    pack: str
    distribution: str
    reason: str
    remedy: str


class Listing(NamedTuple):
    """What is installed, and what is left out. For display only: nothing that decides a right may use it."""

    packs: tuple[ListedPack, ...]
    problems: tuple[ListedProblem, ...]


def listing(index: str, paths: Sequence[str] | None = None) -> Listing:
    """List the packs on `paths` (default: `sys.path`); nothing is imported, no manifest is read.

    Args:
        index: folder of the index; when it cannot be read or written the answer is only slower.
        paths: site folders.
    """
    try:
        known = read_index(index, site_paths(paths), {})
        if known is not None:
            return Listing(_rows(ListedPack, known["packs"]), _rows(ListedProblem, known["problems"]))
    except (KeyError, TypeError):
        pass
    from pathlib import Path

    from remit.packs.discovery import list_packs

    found = list_packs(paths, index=Path(index))
    return Listing(_rows(ListedPack, map(vars, found.packs.values())), _rows(ListedProblem, map(vars, found.problems)))


def _rows(kind: Any, facts: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(*(one[field] for field in kind._fields)) for one in facts)


def read_index(index: str, folders: Folders, sources: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what was written about these folders, None when that is not known.

    Raises:
        KeyError, TypeError: it has not the known form.
    """
    try:
        with open(index_file(index, folders), "rb") as file:
            known: dict[str, Any] = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return known if known["key"] == index_key(folders, sources) else None


def index_file(index: str, folders: Folders) -> str:
    """Return the index's file for these folders."""
    name = zlib.crc32("\0".join(path for path, _ in folders).encode("utf-8", "surrogateescape"))
    return f"{index}/packs-{name:08x}.json"


def index_key(folders: Folders, sources: Mapping[str, str]) -> list[Any]:
    """Return what the index must have been written for."""
    return [__version__, [list(folder) for folder in folders], sorted(map(list, sources.items()))]
