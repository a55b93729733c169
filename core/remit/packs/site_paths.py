"""Which site folders of an environment count."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_SITES = ("site-packages", "dist-packages")


def site_paths(paths: Sequence[str] | None = None) -> list[tuple[str, int]]:
    """Return each folder once, as (real path, modification time in ns), in order.

    By default those of `sys.path`, without the working directory: whoever stands in a cloned
    repository does not install what lies there.
    """
    here = os.path.realpath(os.curdir) if paths is None else ""
    found: dict[tuple[int, int], tuple[str, int]] = {}
    for path in sys.path if paths is None else paths:
        if not path:
            continue
        try:
            real = os.path.realpath(path)
            facts = os.stat(real)
        except (OSError, ValueError):
            continue
        if real == here and os.path.basename(real) not in _SITES:
            continue
        found.setdefault((facts.st_dev, facts.st_ino), (real, facts.st_mtime_ns))
    return list(found.values())
