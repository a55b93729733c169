"""The pool of cells of one process: started late, kept warm, never shared between specs or sessions."""

from __future__ import annotations

import atexit
import os
import socket
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from remit_sandbox.background import Caretaker, end_all, in_thread
from remit_sandbox.cell import Cell
from remit_sandbox.connection import pair
from remit_sandbox.denials import Denials
from remit_sandbox.errors import CannotConfine, SandboxError, SupervisorError
from remit_sandbox.granted_files import files_of
from remit_sandbox.masking import Masks
from remit_sandbox.pool import Caps, Pool
from remit_sandbox.supervisor import orders
from remit_sandbox.values import CellSpec, Retirement

if TYPE_CHECKING:
    from remit_sandbox.broker import Broker, NetworkEvent
    from remit_sandbox.broker.jobs import Connect
    from remit_sandbox.supervisor.client import Client

WAIT_FOR_ROOM = 5.0
"""Seconds that a borrower waits for room in a full pool before the pool grows beyond its size."""

_HIGHEST_ABI = 7
_GRACE = 30.0


class Sandbox:
    """Makes, keeps and ends the cells of one process. Safe to use from many threads.

    Nothing is started before the first cell. A fork of the process starts a supervisor of its own.

    Args:
        on_network: gets each connection that a cell asked for, allowed or not; called in the broker's thread.
        max_cells: how many cells there should be at once; spares and idle ones go first. With all of them busy
            a borrower waits up to `WAIT_FOR_ROOM` seconds, and then gets one that lives for one call only.
        max_memory: bytes that all cells should hold together, beside what they share; counted in the same way.
        spares: cells to have ready for a spec of single use that is asked for again and again (one for others,
            so that a further session does not wait); 0 for none.
        retirement: when a cell is replaced although it would serve on.
        connect: makes the connections that grants allow, instead of `remit_sandbox.broker.dial.dial`; for tests.
    """

    def __init__(
        self,
        *,
        on_network: Callable[[NetworkEvent], None] | None = None,
        max_cells: int = 64,
        max_memory: int = 2 << 30,
        spares: int = 2,
        retirement: Retirement | None = None,
        connect: Connect | None = None,
    ) -> None:
        self._caps = Caps(cells=max_cells, memory=max_memory, spares=spares, retirement=retirement or Retirement())
        self._on_network = on_network
        self._connect = connect
        self._highest_abi = _HIGHEST_ABI
        self._start_anew()
        _sandboxes.add(self)
        atexit.register(_close, weakref.ref(self))

    def _start_anew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._broker: Broker | None = None
        self._pool = Pool(self._caps)
        self._caretaker = Caretaker(self._pool, self._spare)

    def cell(self, spec: CellSpec) -> Cell:
        """Start a new cell: confined, its pack imported. The caller ends it.

        Raises:
            CannotConfine: when the spec asks for `kernel` and the machine lacks it.
            CellStartError: when the pack's import fails, or a granted path is not there.
            SupervisorError: when the supervisor cannot be started.
        """
        self._supervisor_is_ours()
        pool = self._pool
        pool.enter(spec)
        cell = self._counted_cell(spec, borrowed=False)
        cell.on_end = lambda: pool.gone(cell)
        return cell

    def _counted_cell(self, spec: CellSpec, *, borrowed: bool = True) -> Cell:
        """Start a cell that the pool has counted already."""
        pool = self._pool
        try:
            end_all(pool)
            cell = self._try_twice(spec, borrowed)
        except BaseException:
            pool.failed(spec)
            raise
        pool.started(cell)
        return cell

    def _try_twice(self, spec: CellSpec, borrowed: bool) -> Cell:
        """The supervisor may have died since its last order; a new one is worth one try."""
        try:
            return self._new_cell(spec, self._supervisor(), borrowed=borrowed)
        except SupervisorError:
            return self._new_cell(spec, self._supervisor(), borrowed=borrowed)

    def _spare(self, spec: CellSpec) -> Cell:
        """Start a cell ahead: nobody waits for it, so no supervisor is started for it."""
        client = self._client
        if client is None or client.broken:
            raise SupervisorError("the supervisor is gone")
        return self._new_cell(spec, client)

    def _new_cell(self, spec: CellSpec, client: Client, *, borrowed: bool = True) -> Cell:
        if spec.enforcement == "kernel" and client.missing:
            raise CannotConfine(client.missing)
        broker_end = None
        files = files_of(spec)  # before the cell opens them: what is changed in between is noticed later
        denials = Denials(self._on_network, mask=Masks(spec.secrets).text) if spec.rights.net else None
        ours, theirs = _ends(spec, self._caps.retirement.idle + _GRACE if borrowed else None)
        try:
            with theirs:
                descriptors = [theirs.fileno()]
                if denials is not None:
                    broker_end = self._attach(spec, denials)
                    descriptors.append(broker_end.fileno())
                answer = client.order(orders.spawn(spec), descriptors)
        except BaseException:
            ours.close()
            raise
        finally:
            if broker_end is not None:
                broker_end.close()
        cell = Cell(spec, ours, pid=answer["pid"], tmp=answer["tmp"], client=client, denials=denials, files=files)
        cell.open()
        return cell

    def _attach(self, spec: CellSpec, denials: Denials) -> Any:
        from remit_sandbox.broker import Broker

        with self._lock:
            if self._broker is None:
                self._broker = Broker() if self._connect is None else Broker(connect=self._connect)
        ours, theirs = _ends(spec)
        self._broker.attach(
            ours, pack=spec.pack, allow=spec.rights.net, private=spec.rights.private_net, on_event=denials.hear
        )
        return theirs

    @contextmanager
    def borrow(self, spec: CellSpec, session: str) -> Iterator[Cell]:
        """A cell for one call: an idle one of the same spec and session, a spare of the spec, else a new one.

        Cells go back to the pool unless they broke, are worn, or are for single use; others are ended. One that
        is held without a request for longer than `Retirement.idle` seconds ends by itself.

        Raises:
            SandboxError: as `cell`.
        """
        session = "" if spec.shared else session
        cell = self._take(spec, session) or self._take_or_start(spec, session)
        try:
            yield cell
        finally:
            self._give_back(cell, session)

    @asynccontextmanager
    async def aborrow(self, spec: CellSpec, session: str) -> AsyncIterator[Cell]:
        """As `borrow`, without blocking the event loop while a cell starts or ends.

        Raises:
            SandboxError: as `cell`.
        """
        session = "" if spec.shared else session
        cell = self._take(spec, session) or await self._take_or_start_aside(spec, session)
        try:
            yield cell
        finally:
            if self._pool.keeps(cell, session):
                self._give_back(cell, session)
            else:
                await self._end_aside(cell, session)

    async def _take_or_start_aside(self, spec: CellSpec, session: str) -> Cell:
        import asyncio

        answer = self._pool.ask(spec, session)
        try:
            await asyncio.wait([asyncio.wrap_future(answer)], timeout=WAIT_FOR_ROOM)
        except BaseException:
            self._not_needed(spec, self._pool.insist(answer), session)
            raise
        return self._pool.insist(answer) or await self._start_aside(spec, session)

    def _not_needed(self, spec: CellSpec, cell: Cell | None, session: str) -> None:
        if cell is None:
            self._pool.failed(spec)
        else:
            self._give_back(cell, session)

    async def _start_aside(self, spec: CellSpec, session: str) -> Cell:
        import asyncio

        def give_back(started: Future[Cell]) -> None:
            if started.exception() is None:
                self._give_back(started.result(), session)

        try:
            started = in_thread(self._counted_cell, spec)
        except BaseException:
            self._pool.failed(spec)
            raise
        try:
            return await asyncio.shield(asyncio.wrap_future(started))
        except (asyncio.CancelledError, GeneratorExit):
            started.add_done_callback(give_back)
            raise

    async def _end_aside(self, cell: Cell, session: str) -> None:
        import asyncio

        try:
            ended = in_thread(self._give_back, cell, session)
        except RuntimeError:  # no thread is to be had now
            self._give_back(cell, session)
        else:
            await asyncio.shield(asyncio.wrap_future(ended))

    def _take(self, spec: CellSpec, session: str) -> Cell | None:
        self._supervisor_is_ours()
        cell = self._pool.take(spec, session)
        if self._pool.untidy:
            self._caretaker.nudge()
        return cell

    def _take_or_start(self, spec: CellSpec, session: str) -> Cell:
        answer = self._pool.ask(spec, session)
        try:
            wait([answer], timeout=WAIT_FOR_ROOM)
        except BaseException:
            self._not_needed(spec, self._pool.insist(answer), session)
            raise
        return self._pool.insist(answer) or self._counted_cell(spec)

    def _give_back(self, cell: Cell, session: str) -> None:
        if not self._pool.give_back(cell, session):
            cell.drop()
            self._pool.gone(cell)
        if self._pool.untidy:
            self._caretaker.nudge()

    def prepare(self, spec: CellSpec, handlers: Sequence[str] = ()) -> None:
        """Have spares of a spec started in the background, so that its first call need not wait.

        Without it, spares are started once a spec has been asked for again. Starts the supervisor.

        Args:
            spec: what they are for.
            handlers: as `package.module:function`; they are imported and their arguments looked at ahead, as is
                done with those of earlier calls.

        Raises:
            SupervisorError: when it cannot be started.
        """
        self._supervisor()
        self._pool.expect(spec, handlers)
        self._caretaker.nudge()

    def spares(self, spec: CellSpec) -> int:
        """How many cells of a spec are ready and belong to no session yet."""
        return self._pool.spares(spec)

    def end_session(self, session: str) -> None:
        """End the idle cells of a session, which will not come back."""
        self._pool.retire_session(session)
        for cell in self._pool.over():
            cell.kill()

    def missing(self) -> tuple[str, ...]:
        """What this machine lacks for `enforcement = "kernel"`, in words; starts the supervisor.

        Raises:
            SupervisorError: when it cannot be started.
        """
        return self._supervisor().missing

    def _supervisor(self) -> Client:
        from remit_sandbox.supervisor.client import Client

        self._supervisor_is_ours()
        with self._lock:
            if self._client is not None and self._client.broken:
                self._abandon()
            if self._client is None:
                self._client = Client(highest_abi=self._highest_abi)
            return self._client

    def _abandon(self) -> None:
        client, cells = self._client, self._pool.clear()
        self._client = None
        if client is not None:
            client.abandon([cell.pid for cell in cells])
        for cell in cells:
            cell.abandon()

    def _supervisor_is_ours(self) -> None:
        if self._pid != os.getpid():
            self._forget()

    def _forget(self) -> None:
        """In a fork: let go of what belongs to the parent."""
        client, cells = self._client, self._pool.known()
        self._start_anew()
        if client is not None:
            client.forget()
        for cell in cells:
            cell.abandon()

    def close(self) -> None:
        """End every cell and the supervisor, and remove their folders. May be called again."""
        self._supervisor_is_ours()
        with self._lock:
            client, cells, broker = self._client, self._pool.clear(), self._broker
            self._client, self._broker = None, None
        if client is not None:
            client.stop()
        for cell in cells:
            cell.abandon()
        if broker is not None:
            broker.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ends(spec: CellSpec, patience: float | None = None) -> tuple[socket.socket, socket.socket]:
    try:
        return pair(patience)
    except OSError as error:
        raise SandboxError(f"pack {spec.pack}: this program cannot connect to a cell: {error.strerror}") from None


_sandboxes: weakref.WeakSet[Sandbox] = weakref.WeakSet()


def _close(reference: weakref.ref[Sandbox]) -> None:
    if (sandbox := reference()) is not None:
        sandbox.close()


def _after_fork() -> None:
    for sandbox in list(_sandboxes):
        sandbox._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
