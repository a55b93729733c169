"""A workspace of its own for each attempt, with the files that its case wants to find there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from remit.errors import UsageError
from remit.evaluation.case import Case, Workspace

LARGEST = 256 * 1024 * 1024
"""Bytes that are copied for one attempt."""

MOST_FILES = 20_000

LONGEST_PATH = 1_000
"""Characters of a path."""

LONGEST_NAME = 255
"""Bytes of one name in it."""


@contextmanager
def workspace_for(case: Case, beside: Path) -> Iterator[Path | None]:
    """Yield a new folder with the case's files, gone afterwards; None for a case that wants none.

    Args:
        case: whose workspace it is.
        beside: folder of the suite, from which `folder` is found.

    Raises:
        UsageError: a file cannot be put there.
    """
    if case.workspace is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="remit-eval-", ignore_cleanup_errors=True) as made:
        place = Path(os.path.realpath(made), "workspace")
        place.mkdir()
        try:
            _fill(place, case.workspace, beside)
        except (OSError, shutil.Error) as error:
            raise UsageError(f"case {case.id}: its workspace cannot be made: {error}") from error
        yield place


def require_workspaces(cases: tuple[Case, ...], beside: Path) -> None:
    """Raise UsageError where a case's folder is not there, or a file would lie outside its workspace."""
    for case in cases:
        wanted = case.workspace
        if wanted is None:
            continue
        if wanted.folder:
            _require_beside(case.id, beside, wanted.folder)
        for name in wanted.files:
            _require_inside(case.id, name)
        folders = {folder for name in wanted.files for folder in PurePosixPath(name).parents}
        for name in wanted.files:
            if PurePosixPath(name) in folders:
                raise UsageError(f"case {case.id}: {name} is a file, and other files shall lie in it")


def _fill(place: Path, wanted: Workspace, beside: Path) -> None:
    if wanted.folder:
        source = beside / wanted.folder
        _require_small(source)
        shutil.copytree(source, place, dirs_exist_ok=True, ignore=_links)
    for name, text in wanted.files.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def _links(folder: str, names: list[str]) -> list[str]:
    """Leave links out: what one leads to does not belong to the copy."""
    return [name for name in names if Path(folder, name).is_symlink()]


def _require_small(source: Path) -> None:
    size = number = 0
    for folder, _, names in os.walk(source):
        for name in names:
            file = Path(folder, name)
            if not file.is_symlink():
                size += file.stat().st_size
                number += 1
        if size > LARGEST or number > MOST_FILES:
            raise UsageError(
                f"{source} is too large to be copied for each case",
                remedy=f"at most {LARGEST // 1024 // 1024} MiB in {MOST_FILES} files",
            )


def _require_beside(case: str, beside: Path, folder: str) -> None:
    """Raise UsageError for a folder that is not there, or that a link or `..` leads to from elsewhere."""
    if "\0" in folder or not (beside / folder).is_dir():
        raise UsageError(
            f"case {case}: there is no folder {folder} beside the suite",
            remedy="name a folder, or write files = {NAME: TEXT}",
        )
    if not (beside / folder).resolve().is_relative_to(beside.resolve()):
        raise UsageError(
            f"case {case}: the folder {folder} does not lie below that of the suite",
            remedy="what a suite gives to a model lies beside it: copy the files there",
        )


def _require_inside(case: str, name: str) -> None:
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts or "\\" in name or "\0" in name:
        raise UsageError(
            f"case {case}: {name!r} is no file below the workspace", remedy="write such as notes/today.txt"
        )
    if len(name) > LONGEST_PATH or any(len(part.encode("utf-8", "replace")) > LONGEST_NAME for part in parts):
        raise UsageError(f"case {case}: the path {name[:60]}... is too long")
