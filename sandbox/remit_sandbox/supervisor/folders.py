"""Temporary folders of cells. What lies in them was made by hostile code."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from itertools import count

_MOST_ENTRIES = 20_000

ENDLESS = 1 << 62
"""The size of a folder that cannot be told."""


def make_base(parent: str) -> str:
    """A folder of this supervisor alone, mode 0700, under `parent`; its real path."""
    return tempfile.mkdtemp(prefix="remit-cells-", dir=os.path.realpath(parent))


def make_private(base: str) -> str:
    """A folder for one cell, mode 0700."""
    return tempfile.mkdtemp(prefix="cell-", dir=base)


def remove(folder: str) -> None:
    """Remove a folder and all below it; links are not followed. What cannot be removed stays.

    What is found in a folder inside moves up to the top before it is emptied, so that neither a tree
    deeper than a path can be long nor one without permissions (`mkdir` with mode 0) stops it.
    """
    with suppress(OSError):
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder)


def _empty(top: int) -> None:
    """Remove everything in the folder behind a descriptor."""
    prefix, numbers = secrets.token_hex(8), count()
    waiting = _unlinked(top, ".")
    while waiting:
        one = waiting.pop()
        for inner in _unlinked(top, one):
            moved = f"{prefix}.{next(numbers)}"
            with suppress(OSError):
                os.rename(f"{one}/{inner}", moved, src_dir_fd=top, dst_dir_fd=top)
                waiting.append(moved)
        with suppress(OSError):
            os.rmdir(one, dir_fd=top)


def _unlinked(top: int, name: str) -> list[str]:
    """Remove what is no folder from a folder; return the folders in it, which may be opened and moved now."""
    folders: list[str] = []
    with suppress(OSError):
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
        try:
            with os.scandir(descriptor) as found:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
            for inner, is_folder in entries:
                with suppress(OSError):
                    if is_folder:
                        os.chmod(inner, 0o700, dir_fd=descriptor)
                        folders.append(inner)
                    else:
                        os.unlink(inner, dir_fd=descriptor)
        finally:
            os.close(descriptor)
    return folders


def size(folder: str, *, most: int = _MOST_ENTRIES) -> int:
    """Bytes in use below a folder.

    One with more than `most` entries counts as endless, and so does one in which something cannot be looked
    at (no permission to read, a path too long): a cell could hide there what it stores.
    """
    total, entries, waiting = 0, 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    if entries > most:
                        return ENDLESS
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return ENDLESS
    return total


def unlinked(pid: int) -> int:
    """Bytes in files that a process holds open although no folder has them any more; 0 where nobody can say."""
    found: dict[tuple[int, int], int] = {}
    with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
        for entry in descriptors:
            with suppress(OSError):
                facts = entry.stat()
                if stat.S_ISREG(facts.st_mode) and not facts.st_nlink:
                    found[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return sum(found.values())
