"""Which files a call changed beside those that it named: a new name need not be among its targets."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice

MOST = 2_000
"""Files that are looked at before and after one call, those beside the named ones first; of others nobody knows."""

_COARSE = 20_000_000
"""Nanoseconds that the clock of a file system may lag behind."""


class Before:
    """How the files stood that a call may change, when this was made.

    Two looks are compared. Of a file the kernel itself notes when it was changed or got its name (ctime); a skill
    cannot put that back.
    """

    def __init__(self, roots: Iterable[str], named: Collection[str]) -> None:
        """Look at the files.

        Args:
            roots: real paths of folders, and of files, that the skill may write.
            named: real paths that the call names, which are left out; the folders that they lie in are looked at first.
        """
        roots = tuple(roots)
        self._held = tuple(root.removesuffix("/**") for root in roots if root.endswith("/**"))
        self._single = tuple(root for root in roots if not root.endswith("/**"))
        self._named = frozenset(named)
        near = [folder for folder in map(os.path.dirname, sorted(named)) if _within(folder, self._held)]
        self._starts = [*near, *self._held]
        self._began = time.time_ns()
        self._files = dict(self._look())

    def touched(self) -> frozenset[str]:
        """Return the real paths of what the call changed by now, without what it named; a new folder as a whole."""
        new = {path for path, facts in self._look() if self._is_new(path, facts)}
        return frozenset(new - self._named - set(self._held))

    def _look(self) -> Iterator[tuple[str, os.stat_result]]:
        for path in self._single:
            with suppress(OSError):
                yield path, os.lstat(path)
        yield from _walk(self._starts)

    def _is_new(self, path: str, facts: os.stat_result) -> bool:
        before = self._files.get(path)
        if before is None:  # where there are more files than are looked at, it may only not have been seen
            seen_all = len(self._files) < MOST
            return seen_all or facts.st_ctime_ns >= self._began - _COARSE
        is_folder = stat.S_ISDIR(facts.st_mode) and before.st_ino == facts.st_ino
        return not is_folder and _mark(before) != _mark(facts)


def _mark(facts: os.stat_result) -> tuple[int, int, int]:
    """Return what changes with a file; the size tells where two changes fall into one tick of the clock."""
    return facts.st_ino, facts.st_ctime_ns, facts.st_size


def _within(folder: str, roots: Iterable[str]) -> bool:
    return any(folder == root or folder.startswith(f"{root}/") for root in roots)


def _walk(starts: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield at most `MOST` files and folders, nearest first; links are not followed."""
    folders, seen, left = deque(starts), set[str](), MOST
    while folders and left > 0:
        folder = folders.popleft()
        if folder in seen:
            continue
        seen.add(folder)
        for entry, facts in _entries(folder, left):
            left -= 1
            yield entry.path, facts
            if stat.S_ISDIR(facts.st_mode):
                folders.append(entry.path)


def _entries(folder: str, most: int) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in islice(entries, most):
            with suppress(OSError):
                yield entry, entry.stat(follow_symlinks=False)
