"""Limits that the kernel does not hold: looked at again and again, and said to be polled."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from remit_sandbox.limit_words import amount
from remit_sandbox.supervisor import folders, tree
from remit_sandbox.supervisor.cells import Child
from remit_sandbox.usage import processor_time

EVERY = 0.4
"""Seconds between two looks at a cell that works."""

MOST_THREADS = 512
"""Threads that a cell may have: without end they use up the machine's process ids."""

_IDLE_ROUNDS = 10
_MOST_ENTRIES = 5_000


class Rounds:
    """Looks at every cell that has worked since the last round, and at all of them every few rounds."""

    def __init__(self) -> None:
        self._last = 0.0
        self._count = 0
        self._sizes: dict[str, tuple[str, int]] = {}

    def remember(self, child: Child) -> None:
        """What the write roots of a new cell hold before it works."""
        self._sizes.clear()
        child.before = {root: self._size(root) for root in child.roots}

    def go(self, children: Iterable[Child]) -> None:
        """Kill the cells that outgrew a limit, unless the last round was a moment ago."""
        if time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        self._count += 1
        self._sizes.clear()
        for child in children:
            if child.status is None and not child.reason and self._due(child):
                child.reason = self._excess(child)
                if child.reason:
                    child.kill()

    def _due(self, child: Child) -> bool:
        """Whether it may have changed anything; what a process did that it started is not known."""
        before, child.worked = child.worked, processor_time(child.pid)
        return child.worked != before or child.processes is not None or self._count % _IDLE_ROUNDS == 0

    def _excess(self, child: Child) -> str:
        if folders.size(child.tmp) + folders.unlinked(child.pid) > child.disk:
            return f"it used more than {amount(child.disk)} of its temporary folder (limits.disk)"
        child.grown = self._growth(child)
        if child.grown > child.disk:
            return f"its write roots grew by more than {amount(child.disk)} (limits.disk)"
        if child.processes is not None and tree.count(child.pid) > child.processes + 1:
            return f"it had more than {child.processes} processes (limits.processes)"
        threads = tree.threads(child.pid) if child.processes is None else tree.count_threads(child.pid)
        return f"it had more than {MOST_THREADS} threads" if threads > MOST_THREADS else ""

    def _growth(self, child: Child) -> int:
        """By how much its write roots have grown together; one that has just become too large to walk starts anew."""
        total = 0
        for root, (kind, before) in child.before.items():
            now = self._size(root)
            if now[0] == kind:
                total += now[1] - before
            else:
                child.before = {**child.before, root: now}
        return total

    def _size(self, root: str) -> tuple[str, int]:
        """Bytes below a folder, looked at once a round; of its whole file system where there are too many files."""
        if root not in self._sizes:
            walked = folders.size(root, most=_MOST_ENTRIES)
            self._sizes[root] = ("folder", walked) if walked < folders.ENDLESS else ("file system", _used(root))
        return self._sizes[root]


def _used(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return (found.f_blocks - found.f_bfree) * found.f_frsize
