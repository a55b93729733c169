"""What `remit packs list` shows, from the index alone: as few imports as a listing can do with.

Data classes, `pathlib` and what they import would double its time. Where the index does not know, `discovery`
answers, and writes it.
"""

from __future__ import annotations

import json
import os
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
    manifest: str


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
    except (KeyError, TypeError, ValueError):
        pass
    from pathlib import Path

    from remit.packs.discovery import list_packs

    found = list_packs(paths, index=Path(index))
    return Listing(_rows(ListedPack, map(vars, found.packs.values())), _rows(ListedProblem, map(vars, found.problems)))


def _rows(kind: Any, facts: Iterable[Mapping[str, Any]]) -> tuple[Any, ...]:
    return tuple(kind(*(_plain(one[field]) for field in kind._fields)) for one in facts)


def _plain(value: Any) -> Any:
    """Return a path as text, as an index has it; other values as they are."""
    return os.fspath(value) if hasattr(value, "__fspath__") else value


def read_index(index: str, folders: Folders, sources: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what was written about these folders, None when that is not known or no longer true.

    Raises:
        KeyError, TypeError: it has not the known form.
    """
    try:
        with open(index_file(index, folders), "rb") as file:
            known: dict[str, Any] = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if known["key"] != index_key(folders, sources) or known["stamps"] != stamps(known["seen"])[0]:
        return None
    return known


def stamps(seen: Iterable[Sequence[str]]) -> tuple[str, int]:
    """Return the sizes and times of every file that a survey depends on, as one text, and the latest time.

    A folder's own time tells what was added and removed in it, and nothing of a file that was written in place.

    Args:
        seen: `.dist-info` folders; after one that names a pack its package's folder, and further files.

    Raises:
        TypeError: it has not this form.
    """
    found: list[str] = []
    latest = 0
    for folder, *more in seen:
        paths = [folder, f"{folder}/entry_points.txt"]
        if more:
            paths += (f"{folder}/METADATA", f"{folder}/RECORD", *more)
        for path in paths:
            try:
                facts = os.stat(path)
            except (OSError, ValueError):
                found.append("-")
                continue
            found.append(f"{facts.st_mtime_ns:x}.{facts.st_size:x}")
            latest = max(latest, facts.st_mtime_ns)
    return " ".join(found), latest


def index_file(index: str, folders: Folders) -> str:
    """Return the index's file for these folders."""
    name = zlib.crc32("\0".join(path for path, _ in folders).encode("utf-8", "surrogateescape"))
    return f"{index}/packs-{name:08x}.json"


def index_key(folders: Folders, sources: Mapping[str, str]) -> list[Any]:
    """Return what the index must have been written for."""
    return [__version__, [list(folder) for folder in folders], sorted(map(list, sources.items()))]
