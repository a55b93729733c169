"""Handlers of the pack `files` that change nothing."""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from remit_files.places import granted, granted_below, located, shown

LARGEST = 16 * 1024 * 1024
"""Bytes of the largest file that is searched or read in one go."""

LONGEST_LINE = 400
"""Characters of a line that a search shows."""


def list_files(
    ctx,
    folder: str = ".",
    pattern: str = "*",
    recursive: bool = False,
    limit: Annotated[int, Field(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """List the files and folders of a folder. Use it to find out what there is before reading.

    Args:
        folder: folder inside the workspace, "." for the workspace itself.
        pattern: names to show, with * and ?, for example "*.csv".
        recursive: also list what is in subfolders.
        limit: most entries to return.

    Returns:
        Entries with path, kind (file or folder) and size in bytes, and whether the list was cut.
    """
    place = located(ctx, folder)
    if not place.is_dir():
        raise NotADirectoryError(f"{folder!r} is not a folder")
    with granted(ctx, folder, "reading"):
        found = (entry for entry in walk(ctx, place, recursive) if fnmatch(entry.name, pattern))
        entries = [described(ctx, entry) for entry in islice(found, limit + 1)]
    return {"entries": entries[:limit], "cut": len(entries) > limit}


def read_file(
    path: str,
    ctx,
    start_line: Annotated[int, Field(ge=1)] = 1,
    lines: Annotated[int, Field(ge=1, le=5000)] = 500,
) -> dict[str, Any]:
    """Read a text file, or some of its lines. Use it when the content of a known file is needed.

    Args:
        path: file inside the workspace.
        start_line: first line to return, counted from 1.
        lines: most lines to return.

    Returns:
        The text, the numbers of its first line and of the lines in the whole file.
    """
    place = located(ctx, path)
    with granted(ctx, path, "reading"):
        content = text_of(place, path).splitlines()
    part = content[start_line - 1 : start_line - 1 + lines]
    return {
        "text": "\n".join(part),
        "start_line": start_line,
        "lines": len(part),
        "total_lines": len(content),
    }


def search(
    text: Annotated[str, Field(min_length=1, max_length=500)],
    ctx,
    folder: str = ".",
    pattern: str = "*",
    case_sensitive: bool = False,
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """Find the lines that contain a text, in all files of a folder. Use it to find where something is written.

    Args:
        text: the words to look for, exactly as written (no wildcards).
        folder: folder inside the workspace, or one file.
        pattern: names of files to search, with * and ?, for example "*.csv".
        case_sensitive: tell upper from lower case.
        limit: most lines to return.

    Returns:
        Matches with path, line number and line, and whether there were more.
    """
    place = located(ctx, folder)
    wanted = text if case_sensitive else text.casefold()
    with granted(ctx, folder, "reading"):
        if place.is_file():
            os.close(os.open(place, os.O_RDONLY))
        files = [place] if place.is_file() else walk(ctx, place, recursive=True)
        lines = (
            {"path": shown(ctx, file), "line": number, "text": line[:LONGEST_LINE]}
            for file in files
            if fnmatch(file.name, pattern)
            for number, line in searchable_lines(file)
            if wanted in (line if case_sensitive else line.casefold())
        )
        matches = list(islice(lines, limit + 1))
    return {"matches": matches[:limit], "cut": len(matches) > limit}


def walk(ctx: Any, folder: Path, recursive: bool) -> Iterator[Path]:
    """Yield what is in `folder`, sorted by name; links are not followed.

    Of a folder that is not granted as a whole, what is granted inside it stands for its content.
    """
    for entry in inside(ctx, folder):
        yield entry
        if recursive and entry.is_dir() and not entry.is_symlink():
            yield from walk(ctx, entry, recursive)


def inside(ctx: Any, folder: Path) -> list[Path]:
    """Return the entries of `folder` that may be listed."""
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder))
    except PermissionError:
        below = granted_below(ctx, folder)
        if not below:
            raise
        return below


def described(ctx: Any, entry: Path) -> dict[str, Any]:
    """Return one entry of a listing."""
    kind = "folder" if entry.is_dir() else "file"
    return {"path": shown(ctx, entry), "kind": kind, "bytes": entry.lstat().st_size if kind == "file" else 0}


def text_of(place: Path, path: str) -> str:
    """Return the text of a file; an error says when it is missing, too large, or no text."""
    if place.is_dir():
        raise IsADirectoryError(f"{path!r} is a folder; list it with list_files")
    if place.stat().st_size > LARGEST:
        raise ValueError(f"{path!r} is larger than {LARGEST} bytes; search it instead")
    data = place.read_bytes()
    if b"\x00" in data[:8192]:
        raise ValueError(f"{path!r} is not a text file")
    return data.decode("utf-8-sig", errors="replace")


def searchable_lines(place: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file; nothing for what is no readable text."""
    try:
        if not place.is_file() or place.is_symlink():
            return
        content = text_of(place, place.name)
    except (OSError, ValueError):
        return
    yield from enumerate(content.splitlines(), start=1)
