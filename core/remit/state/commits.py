"""Group commit: callers that come while the disk is busy share the next transaction and its flush.

The first caller leads: it runs what waits in one transaction and commits once; whoever came meanwhile is
the next group, and one of them leads it. Each caller's work has a savepoint of its own, so one that fails
undoes nothing of the others. Nobody is told of success before the shared commit. Threads wait; tasks of an
event loop are led by a thread of their own, so that the loop never waits for the disk.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
Work = Callable[["sqlite3.Connection"], Any]

MOST = 256
"""Callers that share one transaction."""


class Ticket:
    """One caller's work, and what came of it."""

    __slots__ = ("answer", "durable", "error", "future", "leads", "settled", "wake", "work")

    def __init__(self, work: Work, durable: bool, future: asyncio.Future[Any] | None = None) -> None:
        self.work, self.durable = work, durable
        self.answer: Any = None
        self.error: BaseException | None = None
        self.settled = self.leads = False
        self.future = future
        self.wake = threading.Lock() if future is None else None
        if self.wake is not None:
            self.wake.acquire()

    def settle(self, answer: Any = None, error: BaseException | None = None) -> None:
        """Keep what came of the work; the caller is told later."""
        self.answer, self.error, self.settled = answer, error, True

    def outcome(self) -> Any:
        """Return the answer, or raise what the work raised."""
        if self.error is not None:
            raise self.error
        return self.answer


class Transactor(Protocol):
    """Runs a group in one transaction and settles every ticket of it, or leaves those that may be tried again."""

    def __call__(self, group: list[Ticket]) -> None: ...


class Commits:
    """The queue before one connection."""

    def __init__(self, transact: Transactor) -> None:
        """Name what runs a group; see `Transactor`."""
        self._transact = transact
        self._gate = threading.Lock()
        self._queue: deque[Ticket] = deque()
        self._led = False
        self._thread: ThreadPoolExecutor | None = None

    def run(self, work: Callable[[sqlite3.Connection], T], *, durable: bool) -> T:
        """Run `work` in a transaction that others may share; return when it is committed."""
        ticket = Ticket(work, durable)
        if not self._join(ticket):
            self._wait(ticket)
        if not ticket.settled:
            self._lead(ticket)
        answer: T = ticket.outcome()
        return answer

    async def arun(self, work: Callable[[sqlite3.Connection], T], *, durable: bool) -> T:
        """Run `work` as `run` does, without holding up the event loop.

        A caller that is cancelled meanwhile hears of it when the work is done or refused, so that it
        always knows what is in the log.
        """
        import asyncio

        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        ticket = Ticket(work, durable, future)
        if self._join(ticket):
            self._lead_elsewhere(ticket)
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.shield(future)
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled
        answer: T = ticket.outcome()
        return answer

    def close(self) -> None:
        """End the thread that leads for tasks; the next task starts another."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown()

    def _join(self, ticket: Ticket) -> bool:
        """Queue up; True when nobody leads, and the caller has to."""
        with self._gate:
            self._queue.append(ticket)
            leads, self._led = not self._led, True
            ticket.leads = leads
        return leads

    def _wait(self, ticket: Ticket) -> None:
        """Wait to be told or to lead; one that is interrupted leaves the queue, or passes the lead on."""
        assert ticket.wake is not None
        try:
            ticket.wake.acquire()
        except BaseException:
            with self._gate:
                if not ticket.leads and ticket in self._queue:
                    self._queue.remove(ticket)
            if ticket.leads and not ticket.settled:
                self._lead(ticket)
            raise

    def _lead(self, own: Ticket) -> None:
        """Run the waiting group, pass the lead on, and wake the group."""
        group: list[Ticket] = []
        try:
            with self._gate:
                while self._queue and len(group) < MOST:
                    group.append(self._queue.popleft())
            self._transact(group)
        except BaseException as error:
            if not own.settled:
                own.settle(error=error)
            raise
        finally:
            self._pass_on(group)
            _tell([ticket for ticket in group if ticket.settled and (ticket is not own or own.future is not None)])

    def _pass_on(self, group: list[Ticket]) -> None:
        with self._gate:
            self._queue.extendleft(ticket for ticket in reversed(group) if not ticket.settled)
            follower = self._queue[0] if self._queue else None
            self._led = follower is not None
            if follower is not None:
                follower.leads = True
        if follower is None:
            return
        if follower.wake is not None:
            follower.wake.release()
        else:
            self._lead_elsewhere(follower)

    def _lead_elsewhere(self, ticket: Ticket) -> None:
        from concurrent.futures import ThreadPoolExecutor

        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="remit-log")
        self._thread.submit(self._lead, ticket)


def _tell(tickets: Iterable[Ticket]) -> None:
    """Wake those who wait: threads one by one, tasks with one call for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[Any]]] = {}
    for ticket in tickets:
        if ticket.wake is not None:
            ticket.wake.release()
        elif ticket.future is not None:
            by_loop.setdefault(ticket.future.get_loop(), []).append(ticket.future)
    for loop, futures in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(_wake, futures)


def _wake(futures: list[asyncio.Future[Any]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
