"""Remembers what discovery found, so that listing packs costs next to nothing.

Only an optimisation: keyed by the path and time of every site folder and of every file that the answer depends on,
silent when it cannot be read or written, and never asked where a right is decided.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from remit.packs.installed import InstalledPack, Inventory, PackProblem
from remit.packs.listing import Folders, index_file, index_key, read_index, stamps

_SETTLED = 2 * 10**9
_PATHS = ("root", "manifest", "metadata", "source")


def recall(index: Path, folders: Folders, sources: Mapping[str, str]) -> Inventory | None:
    """Return what was found in these folders, None when that is not known."""
    try:
        known = read_index(str(index), folders, sources)
        if known is None:
            return None
        packs = [_pack(facts) for facts in known["packs"]]
        problems = tuple(PackProblem(**facts) for facts in known["problems"])
    except (KeyError, TypeError, ValueError):
        return None
    return Inventory(packs={pack.name: pack for pack in packs}, problems=problems)


def remember(
    index: Path, folders: Folders, sources: Mapping[str, str], found: Inventory, seen: Sequence[Sequence[str]]
) -> None:
    """Write down what was found; nothing happens when that is not possible.

    What changed within the last two seconds is not remembered: another change could carry the same time.

    Args:
        index: the index's folder.
        folders: the site folders, as they were before they were looked through.
        sources: pack to distribution.
        found: what was found.
        seen: what it depends on, as `survey` gives it.
    """
    text, latest = stamps(seen)
    if max(latest, *(stamp for _, stamp in folders), 0) > time.time_ns() - _SETTLED:
        return
    facts = {
        "key": index_key(folders, sources),
        "seen": seen,
        "stamps": text,
        "packs": [_facts(pack) for pack in found.packs.values()],
        "problems": [vars(problem) for problem in found.problems],
    }
    target = Path(index_file(str(index), folders))
    draft = target.with_suffix(f".{os.getpid()}")
    try:
        index.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_text(json.dumps(facts), encoding="utf-8")
        draft.replace(target)
    except OSError:
        with suppress(OSError):
            draft.unlink()


def _facts(pack: InstalledPack) -> dict[str, Any]:
    facts = {**vars(pack), "files": []}
    return {key: str(value) if isinstance(value, Path) else value for key, value in facts.items()}


def _pack(facts: dict[str, Any]) -> InstalledPack:
    paths = {key: None if facts[key] is None else Path(facts[key]) for key in _PATHS}
    return InstalledPack(**{**facts, **paths, "files": ()})
