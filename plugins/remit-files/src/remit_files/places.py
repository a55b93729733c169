"""Where a path of a call lies. The kernel holds the border; this only gives clear messages early."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def root_of(ctx: Any) -> Path:
    """Return the folder that relative paths start from: the workspace.

    Raises:
        PermissionError: this deployment grants nothing in it.
    """
    if ctx.workspace is None:
        raise PermissionError("nothing in the workspace is granted to this skill")
    return Path(ctx.workspace)


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


def granted_below(ctx: Any, folder: Path) -> list[Path]:
    """Return the files and folders inside `folder` that are granted although `folder` is not, sorted."""
    places = {Path(entry.removesuffix("/**")) for entry in ctx.readable}
    return sorted(place for place in places if folder in place.parents and place.exists())


@contextmanager
def granted(ctx: Any, path: str, what: str) -> Iterator[None]:
    """Say in words that the kernel refused `path`: what is granted is named, so that the next try can fit."""
    try:
        yield
    except PermissionError as error:
        if error.errno is None:
            raise
        places = [shown(ctx, place) for place in granted_below(ctx, root_of(ctx).parent)]
        may = f"; granted are: {', '.join(places)}" if what == "reading" and places else ""
        raise PermissionError(f"{path!r} is not granted for {what}{may}") from None
