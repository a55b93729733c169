"""The folders that cells put on `sys.path`, as plain paths: never the working directory."""

from __future__ import annotations

from collections.abc import Sequence

from remit.packs.sites import import_paths


def site_folders(given: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return absolute real paths in import order, without repeats.

    Args:
        given: folders in which packs are looked for; those of this interpreter follow, because what
            a pack imports is usually installed there. None for this interpreter's alone.
    """
    own = import_paths()
    return tuple(dict.fromkeys([*(import_paths(given) if given is not None else ()), *own]))
