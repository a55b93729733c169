"""Handlers of the pack `files` that change something."""

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from remit_files.places import granted, located, shown


def write_file(
    path: str,
    content: Annotated[str, Field(max_length=8_000_000)],
    ctx,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write a text file. Use it to save something that the user asked to keep.

    Args:
        path: file inside the workspace; missing folders are made.
        content: the whole text of the file.
        overwrite: replace the file if it exists already.

    Returns:
        The path and its size in bytes.
    """
    place = located(ctx, path)
    if place.is_dir():
        raise IsADirectoryError(f"{path!r} is a folder")
    data = content.encode("utf-8", errors="replace")
    with granted(ctx, path, "writing"):
        place.parent.mkdir(parents=True, exist_ok=True)
        if overwrite:
            replace(place, data)
        else:
            create(place, data, path)
    return {"path": shown(ctx, place), "bytes": len(data)}


def move_file(source: str, destination: str, ctx) -> dict[str, str]:
    """Move or rename a file. Use it when the user asks to put a file somewhere else.

    Args:
        source: file inside the workspace.
        destination: new path inside the workspace; it must not exist yet.

    Returns:
        The old and the new path.
    """
    old, new = located(ctx, source), located(ctx, destination)
    if not old.is_file():
        raise FileNotFoundError(f"there is no file {source!r}")
    with granted(ctx, destination, "writing"):
        new.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(old, new, follow_symlinks=False)
        except FileExistsError:
            raise FileExistsError(f"{destination!r} exists already; choose another name") from None
    try:
        with granted(ctx, source, "writing"):
            old.unlink()
    except PermissionError:
        new.unlink()
        raise
    return {"from": shown(ctx, old), "to": shown(ctx, new)}


def delete_file(path: str, ctx) -> dict[str, str]:
    """Delete a file for good. Use it only when the user asks for exactly this file to be deleted.

    Args:
        path: file inside the workspace.

    Returns:
        The path that was deleted.
    """
    place = located(ctx, path)
    if place.is_dir() and not place.is_symlink():
        raise IsADirectoryError(f"{path!r} is a folder; only single files can be deleted")
    try:
        with granted(ctx, path, "writing"):
            place.unlink()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path!r}") from None
    return {"deleted": shown(ctx, place)}


def create(place: Path, data: bytes, path: str) -> None:
    """Write a file that must not exist yet."""
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except FileExistsError:
        raise FileExistsError(f"{path!r} exists already; set overwrite to true to replace it") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def replace(place: Path, data: bytes) -> None:
    """Replace a file as a whole: readers see the old or the new one, never half of it."""
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".writing-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
