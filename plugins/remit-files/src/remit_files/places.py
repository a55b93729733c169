"""Where a path of a call lies. The kernel holds the border; this only gives clear messages early."""

import os
from pathlib import Path
from typing import Any


def root_of(ctx: Any) -> Path:
    """Return the folder that relative paths start from: the workspace."""
    return Path(ctx.workspace or Path.cwd())


def located(ctx: Any, path: str) -> Path:
    """Return the absolute path that `path` means; a PermissionError says when it is outside the workspace."""
    if not path or "\x00" in path:
        raise ValueError("the path is empty, or holds a zero character")
    root = root_of(ctx)
    place = Path(os.path.normpath(root / path))
    if place != root and root not in place.parents:
        raise PermissionError(f"{path!r} is outside the workspace; use a path relative to it")
    return place


def shown(ctx: Any, place: Path) -> str:
    """Return `place` relative to the workspace, with forward slashes."""
    root = root_of(ctx)
    return place.relative_to(root).as_posix() if place == root or root in place.parents else place.name
