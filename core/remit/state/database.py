"""One SQLite file, opened late, used by many threads and processes, with errors in plain words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from remit.errors import StateError
from remit.state.commits import Commits, Ticket
from remit.state_folder import place_once

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

BUSY = 10.0
"""Seconds that a transaction waits for another process."""

WAL_TOO_LONG = 128 * 1024 * 1024
"""Bytes of the write-ahead file from which on a warning is logged."""

_LOOK = 256

_left_to_parent: list[object] = []
_opened: WeakSet[Database] = WeakSet()
_resting: list[Database] = []

_DAMAGED = (
    "end servers and runs that use it, and move it away with state.db-wal and state.db-shm: a new one is made, without "
    "the sessions, sign-offs and log of this one; or put a copy in its place that remit log backup made"
)
_WORDS = {
    "SQLITE_FULL": ("the disk is full", "make room, then go on"),
    "SQLITE_BUSY": ("another process keeps it locked", "end the other process, or wait and try again"),
    "SQLITE_LOCKED": ("another process keeps it locked", "end the other process, or wait and try again"),
    "SQLITE_READONLY": ("it may not be written", "make the state folder writable, or set REMIT_STATE"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "make the state folder writable, or set REMIT_STATE"),
    "SQLITE_PERM": ("it may not be opened", "make the state folder writable, or set REMIT_STATE"),
    "SQLITE_NOTADB": ("it is damaged or no database", _DAMAGED),
    "SQLITE_CORRUPT": ("it is damaged", _DAMAGED),
    "SQLITE_IOERR": ("the disk reports an error", "check the disk and the free space"),
}


class Database:
    """The file `state.db` in `folder`.

    The folder is made with mode 0700, the file and what SQLite puts beside it with 0600. Opening happens at first use.
    One connection a process, guarded by a lock; it is closed for a fork, as SQLite in the child would count on locks
    that only the parent has, and then each opens its own. Writers that come at the same time share a transaction (see
    `remit.state.commits`).

    Attributes:
        path: the file.
        scratch: what one transaction remembers for itself; empty when it begins.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.db"
        self.scratch: dict[str, Any] = {}
        self._new_process()

    def _new_process(self) -> None:
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._full: bool | None = None
        self._groups = 0
        self._told = WAL_TOO_LONG
        self._commits = Commits(self._run_group)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` returns for the connection.

        Raises:
            StateError: the file cannot be read.
        """
        self._after_fork()
        with self._lock:
            return self._guarded(lambda: work(self._open()))

    def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Run `work` in one transaction: all of it is kept, or nothing.

        Args:
            work: gets the connection; what it raises undoes all that it did. It may run more than
                once, so it does nothing but read and write there, and never calls this database.
            durable: on return it is on the disk, not only with the operating system.

        Raises:
            StateError: the file cannot be written.
        """
        self._after_fork()
        return self._commits.run(work, durable=durable)

    async def awrite(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Do what `write` does, without holding up the event loop while the disk works."""
        self._after_fork()
        return await self._commits.arun(work, durable=durable)

    def close(self) -> None:
        """Close the connection; the next use opens it again. Idempotent."""
        self._after_fork()
        self._commits.close()
        with self._lock:
            connection, self._connection, self._full = self._connection, None, None
            if connection is not None:
                self._guarded(connection.close)

    def rest(self, seconds: float) -> bool:
        """Hold everybody up and close the connection, until `go_on`; False where that is not possible.

        It is not in the middle of a transaction, nor where another thread needs longer than `seconds`.
        """
        if not self._lock.acquire(timeout=seconds):
            return False
        connection = self._connection
        if connection is not None and not connection.in_transaction:
            self._connection = self._full = None
            with suppress(Exception):  # whoever uses it next is told
                connection.close()
        return True

    def go_on(self) -> None:
        """Let everybody go on whom `rest` held up."""
        self._lock.release()

    def _after_fork(self) -> None:
        if self._owner != os.getpid():
            _left_to_parent.append(self._connection)
            self._new_process()

    def _run_group(self, group: list[Ticket]) -> None:
        """Run tickets in one transaction; where that fails as a whole, each in one of its own."""
        with self._lock:
            durable = any(ticket.durable for ticket in group)
            if len(group) > 1 and self._tried(group, durable):
                return
            for ticket in group:
                if not ticket.settled:
                    self._tried([ticket], ticket.durable)

    def _tried(self, group: list[Ticket], durable: bool) -> bool:
        """Run a group; True when every ticket is settled. One that cannot even begin settles them all."""
        began = False
        try:
            connection = self._guarded(lambda: self._begin(durable))
            began = True
            self._guarded(lambda: self._transact(connection, group))
        except Exception as error:
            if began and len(group) > 1:
                return False
            for ticket in group:
                ticket.settle(error=error)
        return True

    def _begin(self, durable: bool) -> sqlite3.Connection:
        connection = self._open()
        if self._full is not durable:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._full = durable
        self.scratch.clear()
        connection.execute("BEGIN IMMEDIATE")
        return connection

    def _transact(self, connection: sqlite3.Connection, group: list[Ticket]) -> None:
        committing = False
        try:
            outcomes = [self._step(connection, ticket, alone=len(group) == 1) for ticket in group]
            committing = True
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:  # a full disk ends the transaction by itself
                connection.execute("ROLLBACK")
            elif committing and not isinstance(error, Exception):  # interrupted after it was committed
                _settle(group, outcomes)
            raise
        _settle(group, outcomes)
        self._groups += 1
        if self._groups % _LOOK == 0:
            self._look_at_wal()

    def _look_at_wal(self) -> None:
        """Say so when the write-ahead file grows: somebody keeps a transaction open, and SQLite must keep its pages."""
        size = os.stat(f"{self.path}-wal").st_size
        if size > self._told:
            import logging

            logging.getLogger("remit.state").warning(
                "%s-wal has grown to %d MB: a program keeps a transaction on it open; find it (lsof) and end it."
                " Writing goes on.",
                self.path,
                size // 1_000_000,
            )
            self._told = 2 * size

    def _step(self, connection: sqlite3.Connection, ticket: Ticket, *, alone: bool) -> tuple[Any, Exception | None]:
        """Run one ticket's work; in a group under a savepoint, so that its failure is its own."""
        if alone:
            return ticket.work(connection), None
        connection.execute("SAVEPOINT one")
        try:
            answer = ticket.work(connection)
        except Exception as error:
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            self.scratch.clear()
            return None, error
        connection.execute("RELEASE one")
        return answer, None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            import sqlite3

            from remit.state.migrate import prepare

            self._make_private()
            connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            try:
                prepare(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            _opened.add(self)
        return self._connection

    def _make_private(self) -> None:
        """Make the file where there is none; one that is there is never opened here.

        POSIX locks belong to a process: closing any descriptor of the file drops those of each connection that the
        process has. The next process to close then takes itself for the last one, and removes the write-ahead file.
        """
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _narrow(folder, 0o700)
        if not self.path.exists():
            place_once(self.path, b"")
        _narrow(self.path, 0o600)

    def _guarded(self, work: Callable[[], T]) -> T:
        import sqlite3

        try:
            return work()
        except sqlite3.Error as error:
            raise _plain(error, self.path) from error
        except OSError as error:
            raise StateError(
                f"{self.path} cannot be used: {error.strerror or error}",
                remedy="make the state folder writable, or set REMIT_STATE",
            ) from error


def _before_fork() -> None:
    _resting[:] = [database for database in list(_opened) if database.rest(BUSY)]


def _after_fork_here() -> None:
    while _resting:
        _resting.pop().go_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_here, after_in_child=_resting.clear)


def _narrow(path: Path, mode: int) -> None:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(mode)


def _settle(group: list[Ticket], outcomes: list[tuple[Any, Exception | None]]) -> None:
    for ticket, (answer, error) in zip(group, outcomes, strict=True):
        ticket.settle(answer, error)


def _plain(error: sqlite3.Error, path: Path) -> StateError:
    name = str(getattr(error, "sqlite_errorname", ""))
    for start, (what, remedy) in _WORDS.items():
        if name.startswith(start):
            return StateError(f"{path} cannot be used: {what}", remedy=remedy)
    return StateError(f"{path} cannot be used: {error}")
