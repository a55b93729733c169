"""Which cells there are, which of them are free, and whether one more fits. Starts and ends nothing itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from remit_sandbox.cell import Cell
from remit_sandbox.demand import REPEATED, Demand
from remit_sandbox.granted_files import files_of
from remit_sandbox.members import TYPICAL, Member
from remit_sandbox.values import CellSpec, Retirement

MiB = 1024 * 1024

LEAST_SHARED = 8
"""So many cells of a spec that sessions share there may be, or a quarter of the pool; whoever comes then waits for one
of them, as for room in a full pool."""

RESTED = 2.0
"""Seconds without a call after which an idle cell makes way for one that has just been used: most often its session
has come to its end. Cells that sessions take in turn are not ended for each other."""


@dataclass(frozen=True, kw_only=True)
class Caps:
    """How much a pool holds, and for how long.

    Attributes:
        cells: how many cells there should be at once.
        memory: bytes that they should hold together, beside what they share.
        spares: cells to have ready for a spec that is asked for again and again; 0 for none.
        retirement: when a cell is replaced although it would serve on.
    """

    cells: int = 64
    memory: int = 2048 * MiB
    spares: int = 2
    retirement: Retirement = field(default_factory=Retirement)


@dataclass(frozen=True, kw_only=True)
class Order:
    """A spare to start: its spec, what it shall make ready, and a number by which the pool knows it again."""

    spec: CellSpec
    handlers: Sequence[str]
    number: int


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    spec: CellSpec
    session: str
    answer: Future[Cell | None]


class Pool:
    """Bookkeeping of cells; safe to use from many threads.

    A cell is in use, or idle and bound to a session, or a spare: bound to a spec, so to one pack, its rights
    and its secrets, but to no session yet, and never used before. Spares go first when room is needed, then
    the cells that have been idle longest.

    Attributes:
        untidy: whether there are cells to end, or spares to start.
    """

    def __init__(self, caps: Caps) -> None:
        self.untidy = False
        self._caps = caps
        self._most_spares = max(1, caps.cells // 4) if caps.spares else 0
        self._most_shared = max(LEAST_SHARED, caps.cells // 4)
        self._lock = threading.RLock()
        self._live: dict[int, Member] = {}
        self._idle: list[Member] = []
        self._spares: list[Member] = []
        self._starting: list[CellSpec] = []
        self._preparing: list[CellSpec] = []
        self._overdrawn: list[CellSpec] = []
        self._demand = Demand(caps.spares, caps.retirement.idle)
        self._cleared = 0
        self._over: list[Cell] = []
        self._waiting: list[_Waiting] = []

    def take(self, spec: CellSpec, session: str) -> Cell | None:
        """An idle cell of the same spec and session, or a spare of the spec; None when there is neither."""
        with self._lock:
            cell = self._of_session(spec, session)
            if cell is None:
                self._demand.note(spec, time.monotonic())
                cell = self._of_spares(spec)
                self._look_around()
            return cell

    def ask(self, spec: CellSpec, session: str) -> Future[Cell | None]:
        """A cell that fits, now or when one comes back; None when the caller shall start one, which then counts.

        Whoever waits is served in order: by a cell of its own spec and session, or by room for a new one.
        """
        answer: Future[Cell | None] = Future()
        with self._lock:
            cell = self._of_session(spec, session) or self._of_spares(spec)
            if cell is not None:
                answer.set_result(cell)
            else:
                self._waiting.append(_Waiting(spec=spec, session=session, answer=answer))
                self._serve()
        return answer

    def insist(self, answer: Future[Cell | None]) -> Cell | None:
        """End a wait: the pool grows beyond its size, as whoever asks may hold what another waits for."""
        with self._lock:
            for waiting in self._waiting:
                if waiting.answer is answer:
                    self._let_start(waiting)
                    if waiting.spec.shared and waiting.spec not in self._overdrawn:
                        self._overdrawn.append(waiting.spec)
                    break
        return answer.result()

    def enter(self, spec: CellSpec) -> None:
        """Count one more cell that is about to start, whether or not there is room."""
        with self._lock:
            self._has_room()
            self._starting.append(spec)

    def started(self, cell: Cell) -> None:
        """A cell that was counted is there."""
        with self._lock:
            self._starting.remove(cell.spec)
            self._live[cell.pid] = Member(cell)
            self._serve()  # it may hold less than it was taken to

    def failed(self, spec: CellSpec) -> None:
        """A cell that was counted did not start."""
        with self._lock:
            self._starting.remove(spec)
            self._serve()

    def expect(self, spec: CellSpec, handlers: Sequence[str] = ()) -> None:
        """Have spares of a spec although nobody asked for it so far."""
        with self._lock:
            self._demand.note(spec, time.monotonic(), times=REPEATED)
            for handler in handlers:
                self._demand.learn(spec, handler)
            self._look_around()

    def spares(self, spec: CellSpec) -> int:
        """How many spares of a spec are ready."""
        with self._lock:
            return sum(member.fits(spec) for member in self._spares)

    def next_spare(self) -> Order | None:
        """What shall be started ahead, which then counts; None when nothing is lacking."""
        with self._lock:
            spec = next(self._lacking(), None)
            if spec is None:
                self.untidy = bool(self._over)
                return None
            self._starting.append(spec)
            self._preparing.append(spec)
            return Order(spec=spec, handlers=self._demand.handlers(spec), number=self._cleared)

    def prepared(self, order: Order, cell: Cell | None) -> bool:
        """A spare is there, or could not be started; False when it must be ended, as all are by now."""
        with self._lock:
            self._starting.remove(order.spec)
            self._preparing.remove(order.spec)
            wanted = cell is not None and order.number == self._cleared
            if cell is None:
                self._demand.forget(order.spec)
            elif wanted:
                self._live[cell.pid] = member = Member(cell)
                self._spares.append(member)
                self._hand_on(member)
            self._serve()
            return wanted

    def keeps(self, cell: Cell, session: str) -> bool:
        """Whether a cell may go back, rather than be ended: it would serve on, and is wanted or not one too many."""
        with self._lock:
            member = self._live.get(cell.pid)
            if member is None or member.cell is not cell or cell.broken or cell.spec.single_use:
                return False
            if member.worn(self._caps.retirement):
                return False
            if self._awaiting(member, session) is not None:
                return True
            return not self._shared_too_many(cell.spec) and (not self._crowded(cell.spec) or self._rested())

    def give_back(self, cell: Cell, session: str) -> bool:
        """Hand a cell to whoever waits for it, or make it idle; False when it must be ended instead."""
        with self._lock:
            self._learn(cell)
            if not self.keeps(cell, session):
                return False
            if self._crowded(cell.spec) and self._rested():
                self._retire(self._idle[0])
            member = self._live[cell.pid]
            member.used(session)
            self._idle.append(member)
            if not self._hand_on(member):
                self._serve()
            self._retire_old()
            return True

    def gone(self, cell: Cell) -> None:
        """A cell has been ended."""
        with self._lock:
            member = self._live.get(cell.pid)
            if member is not None and member.cell is cell:
                del self._live[cell.pid]
            self._serve()
            self._look_around()

    def retire_session(self, session: str) -> None:
        """Put the idle cells of a session among those to end."""
        with self._lock:
            for member in [member for member in self._idle if member.session == session]:
                self._retire(member)

    def over(self) -> list[Cell]:
        """Cells that the caller shall end now."""
        with self._lock:
            over, self._over = self._over, []
            return over

    def clear(self) -> list[Cell]:
        """Forget every cell and give all that were known."""
        with self._lock:
            known = self.known()
            self._cleared += 1
            self._live, self._idle, self._spares, self._over = {}, [], [], []
            self._serve()
            return known

    def known(self) -> list[Cell]:
        """Every cell, read without waiting: for a fork, in which the lock may be held for ever."""
        return [*(member.cell for member in self._live.values()), *self._over]

    def _of_session(self, spec: CellSpec, session: str) -> Cell | None:
        if spec.single_use:
            return None
        for member in reversed(self._idle):
            if member.session == session and member.fits(spec):
                if self._serves(member):
                    self._idle.remove(member)
                    return member.cell
                return self._of_session(spec, session)
        return None

    def _of_spares(self, spec: CellSpec) -> Cell | None:
        for member in self._spares:
            if member.fits(spec):
                if self._serves(member):
                    self._spares.remove(member)
                    return member.cell
                return self._of_spares(spec)
        return None

    def _serves(self, member: Member) -> bool:
        """Whether a free cell may still be used: it lives, is not too old, and its granted files are the same."""
        fresh = time.monotonic() - member.since < self._caps.retirement.idle
        if fresh and member.cell.usable and (not member.cell.files or files_of(member.cell.spec) == member.cell.files):
            return True
        self._retire(member)
        return False

    def _awaiting(self, member: Member, session: str | None) -> _Waiting | None:
        """The first who waits for a cell like this one, of this session."""
        for waiting in self._waiting:
            if session in (None, waiting.session) and member.fits(waiting.spec):
                return waiting
        return None

    def _hand_on(self, member: Member) -> bool:
        """Give a free cell to the first who waits for its like; one that would serve nobody goes."""
        waiting = self._awaiting(member, member.session)
        if waiting is None or not self._serves(member):
            return False
        self._free_like(member).remove(member)
        self._waiting.remove(waiting)
        waiting.answer.set_result(member.cell)
        return True

    def _serve(self) -> None:
        """Give room to those who have waited longest."""
        enough: list[CellSpec] = []
        for waiting in tuple(self._waiting):
            if waiting.spec in enough:
                continue
            if self._has_room_for(waiting.spec):
                self._let_start(waiting)
            elif waiting.spec.shared:
                enough.append(waiting.spec)
            else:
                return

    def _let_start(self, waiting: _Waiting) -> None:
        self._starting.append(waiting.spec)
        self._waiting.remove(waiting)
        waiting.answer.set_result(None)

    def _has_room_for(self, spec: CellSpec) -> bool:
        """Whether one more cell of this spec fits: of a shared one, a part of the pool is enough."""
        return not self._shared_enough(spec) and self._has_room()

    def _shared_enough(self, spec: CellSpec) -> bool:
        """Whether there are, or will be, as many cells of a shared spec as there may be."""
        return spec.shared and self._like(spec) >= self._most_shared

    def _shared_too_many(self, spec: CellSpec) -> bool:
        """Whether there are more, because somebody would not wait any longer."""
        if spec not in self._overdrawn:
            return False
        if self._like(spec) > self._most_shared:
            return True
        self._overdrawn.remove(spec)
        return False

    def _like(self, spec: CellSpec) -> int:
        there = sum(member.fits(spec) and not member.cell.broken for member in self._live.values())
        return there + self._starting.count(spec)

    def _has_room(self) -> bool:
        """Whether one more fits, once those that are in the way have gone."""
        self._live = {pid: member for pid, member in self._live.items() if not member.cell.broken}
        self._retire_old()
        while self._full():
            if not (free := self._spares or self._idle):
                return False
            self._retire(free[0])
        return True

    def _full(self) -> bool:
        if len(self._live) + len(self._starting) >= self._caps.cells:
            return True
        held = sum(member.private for member in self._live.values())
        return held + (len(self._starting) + 1) * TYPICAL > self._caps.memory

    def _retire_old(self) -> None:
        oldest = time.monotonic() - self._caps.retirement.idle
        for free in (self._spares, self._idle):
            while free and free[0].since < oldest:
                self._retire(free[0])

    def _retire(self, member: Member) -> None:
        self._free_like(member).remove(member)
        if self._live.get(member.cell.pid) is member:
            del self._live[member.cell.pid]
        self._over.append(member.cell)
        self.untidy = True

    def _free_like(self, member: Member) -> list[Member]:
        return self._spares if member.session is None else self._idle

    def _crowded(self, spec: CellSpec) -> bool:
        """Whether a cell of this spec is one too many; `auto` leaves room for spares, from which others are served."""
        if spec.isolation != "auto":
            return len(self._live) > self._caps.cells
        count = len(self._live) + len(self._starting)
        if count + self._most_spares > self._caps.cells:
            count += sum(1 for _ in self._unready())
        return count > self._caps.cells

    def _rested(self) -> bool:
        """Whether the cell that has been idle longest makes way for another."""
        return bool(self._idle) and time.monotonic() - self._idle[0].since > RESTED

    def _learn(self, cell: Cell) -> None:
        """Remember which handler it ran, where that is news."""
        member = self._live.get(cell.pid)
        if member is not None and member.handler != cell.handler:
            member.handler = cell.handler
            self._demand.learn(cell.spec, cell.handler)

    def _look_around(self) -> None:
        self.untidy = self.untidy or next(self._lacking(), None) is not None

    def _unready(self) -> Iterator[CellSpec]:
        """The spec of each spare that is deserved and neither ready nor about to be."""
        room = self._most_spares - len(self._spares) - len(self._preparing)
        for spec, number in self._demand.wanted(time.monotonic()):
            ready = sum(member.fits(spec) for member in self._spares) + self._preparing.count(spec)
            for _ in range(min(room, number - ready)):
                room -= 1
                yield spec

    def _lacking(self) -> Iterator[CellSpec]:
        """The same, as far as there is room for it that nobody else has or waits for.

        Who waits although the pool is not full waits for a turn with a shared cell, not for room.
        """
        if not self._full():
            yield from (spec for spec in self._unready() if not self._shared_enough(spec))
