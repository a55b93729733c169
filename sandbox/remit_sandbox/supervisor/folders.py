"""Temporary folders of cells. What lies in them was made by hostile code."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

_MOST_ENTRIES = 20_000


def make_base(parent: str) -> str:
    """A folder of this supervisor alone, mode 0700, under `parent`; its real path."""
    return tempfile.mkdtemp(prefix="remit-cells-", dir=os.path.realpath(parent))


def make_private(base: str) -> str:
    """A folder for one cell, mode 0700."""
    return tempfile.mkdtemp(prefix="cell-", dir=base)


def remove(folder: str) -> None:
    """Remove a folder and all below it; links are not followed. What cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)
    if Path(folder).exists():
        _open_up(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _open_up(folder: str) -> None:
    """A folder made without permissions hides what is in it; its owner may give them back."""
    for place, names, _, descriptor in os.fwalk(folder, follow_symlinks=False):
        os.chmod(place, 0o700)
        for name in names:
            try:
                os.chmod(name, 0o700, dir_fd=descriptor)
            except OSError:
                continue


def size(folder: str) -> int:
    """Bytes in use below a folder; a folder with very many entries counts as endless."""
    total, entries, waiting = 0, 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > _MOST_ENTRIES:
                        return 1 << 62
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return total
