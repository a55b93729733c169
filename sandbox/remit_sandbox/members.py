"""What a pool knows of one of its cells: whose it is, how long it has been free, how worn it is."""

from __future__ import annotations

import time

from remit_sandbox.cell import Cell
from remit_sandbox.usage import private_memory
from remit_sandbox.values import CellSpec, Retirement

TYPICAL = 6 * 1024 * 1024
"""Bytes that a cell is taken to hold until it has been looked at."""

_LOOK_EVERY = 1.0


class Member:
    """One cell of a pool.

    Attributes:
        cell: the cell.
        session: whose it is; None for a spare, which has served nobody.
        since: when it became free, on the monotonic clock.
        handler: the last one that it is known to have run.
        private: bytes that it alone holds, as last looked at.
    """

    __slots__ = ("_born", "_calls", "_first", "_looked", "_written", "cell", "handler", "private", "session", "since")

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.session: str | None = None
        self.handler = ""
        self.since = self._born = time.monotonic()
        self._calls = 0
        self._written = 0
        self._looked = self._born
        self.private = self._first = private_memory(cell.pid) or TYPICAL

    def fits(self, spec: CellSpec) -> bool:
        """Whether it is a cell for this spec."""
        return self.cell.spec is spec or self.cell.spec == spec

    def used(self, session: str) -> None:
        """It has served a call of this session and is free now."""
        self.session = session
        self.since = time.monotonic()
        self._calls += 1

    def worn(self, retirement: Retirement) -> bool:
        """Whether it shall serve no further call."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self.private = private_memory(self.cell.pid) or TYPICAL
            self._written = self.cell.grown() if self.cell.spec.rights.write else 0
        limits = self.cell.spec.rights.limits
        used = max((self.private - self._first) / (limits.memory or 1), self._written / (limits.disk or 1))
        return self._calls + 1 >= retirement.calls or now - self._born >= retirement.age or used > retirement.growth
