"""Which cells there are, which of them are idle, and whether one more fits. Starts and ends nothing itself."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass

from remit_sandbox.cell import Cell, files_of
from remit_sandbox.values import CellSpec

IDLE_SECONDS = 600.0
"""An idle cell older than this is ended when room is next asked for."""


@dataclass(frozen=True, kw_only=True)
class _Idle:
    session: str
    cell: Cell
    since: float


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    spec: CellSpec
    session: str
    answer: Future[Cell | None]


class Pool:
    """Bookkeeping of cells; safe to use from many threads.

    Args:
        most: how many cells there should be at once.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.RLock()
        self._live: dict[int, Cell] = {}
        self._idle: list[_Idle] = []
        self._starting = 0
        self._over: list[Cell] = []
        self._waiting: list[_Waiting] = []

    def take(self, spec: CellSpec, session: str) -> Cell | None:
        """An idle cell of the same spec and session that still serves, None when there is none."""
        with self._lock:
            return self._fitting(spec, session)

    def ask(self, spec: CellSpec, session: str) -> Future[Cell | None]:
        """A cell that fits, now or when one comes back; None when the caller shall start one, which then counts.

        Whoever waits is served in order: by a cell of its own spec and session, or by room for a new one.
        """
        answer: Future[Cell | None] = Future()
        with self._lock:
            cell = self._fitting(spec, session) if spec.isolation == "warm" else None
            if cell is not None or self._has_room():
                self._starting += cell is None
                answer.set_result(cell)
            else:
                self._waiting.append(_Waiting(spec=spec, session=session, answer=answer))
        return answer

    def insist(self, answer: Future[Cell | None]) -> Cell | None:
        """End a wait: the pool grows beyond its size, as whoever asks may hold what another waits for."""
        with self._lock:
            if not answer.done():
                self._waiting = [waiting for waiting in self._waiting if waiting.answer is not answer]
                self._starting += 1
                answer.set_result(None)
        return answer.result()

    def enter(self) -> None:
        """Count one more cell that is about to start, whether or not there is room."""
        with self._lock:
            self._has_room()
            self._starting += 1

    def started(self, cell: Cell) -> None:
        """A cell that was counted is there."""
        with self._lock:
            self._starting -= 1
            self._live[cell.pid] = cell

    def failed(self) -> None:
        """A cell that was counted did not start."""
        with self._lock:
            self._starting -= 1
            self._serve()

    def keeps(self, cell: Cell) -> bool:
        """Whether a cell may go back, rather than be ended."""
        with self._lock:
            known = self._live.get(cell.pid) is cell
            return cell.spec.isolation == "warm" and not cell.broken and known and len(self._live) <= self.most

    def give_back(self, cell: Cell, session: str) -> bool:
        """Hand a cell to whoever waits for it, or make it idle; False when it must be ended instead."""
        with self._lock:
            if not self.keeps(cell):
                return False
            for waiting in self._waiting:
                if waiting.session == session and waiting.spec == cell.spec and cell.usable:
                    self._waiting.remove(waiting)
                    waiting.answer.set_result(cell)
                    return True
            self._idle.append(_Idle(session=session, cell=cell, since=time.monotonic()))
            self._serve()
            return True

    def gone(self, cell: Cell) -> None:
        """A cell has been ended."""
        with self._lock:
            if self._live.get(cell.pid) is cell:
                del self._live[cell.pid]
            self._serve()

    def _serve(self) -> None:
        """Give room to those who have waited longest."""
        while self._waiting and self._has_room():
            self._starting += 1
            self._waiting.pop(0).answer.set_result(None)

    def retire_session(self, session: str) -> None:
        """Put the idle cells of a session among those to end."""
        with self._lock:
            for idle in [idle for idle in self._idle if idle.session == session]:
                self._retire(idle)

    def over(self) -> list[Cell]:
        """Cells that the caller shall end now."""
        with self._lock:
            over, self._over = self._over, []
            return over

    def clear(self) -> list[Cell]:
        """Forget every cell and give all that were known."""
        with self._lock:
            known = [*self._live.values(), *self._over]
            self._live, self._idle, self._over = {}, [], []
            self._serve()
            return known

    def known(self) -> list[Cell]:
        """Every cell, read without waiting: for a fork, in which the lock may be held for ever."""
        return [*self._live.values(), *self._over]

    def _fitting(self, spec: CellSpec, session: str) -> Cell | None:
        for idle in reversed(self._idle):
            if idle.session == session and (idle.cell.spec is spec or idle.cell.spec == spec):
                if idle.cell.usable and files_of(spec) == idle.cell.files:
                    self._idle.remove(idle)
                    return idle.cell
                self._retire(idle)
                return self._fitting(spec, session)
        return None

    def _has_room(self) -> bool:
        """Whether one more fits once the idle ones that are old, or the oldest, have gone."""
        now = time.monotonic()
        for idle in list(self._idle):
            if now - idle.since > IDLE_SECONDS or len(self._live) + self._starting >= self.most:
                self._retire(idle)
        return len(self._live) + self._starting < self.most

    def _retire(self, idle: _Idle) -> None:
        self._idle.remove(idle)
        self._live.pop(idle.cell.pid, None)
        self._over.append(idle.cell)
