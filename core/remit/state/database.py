"""One SQLite file, opened late, used by many threads and processes, with errors in plain words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from remit.errors import StateError
from remit.state.tables import APPLICATION, TABLES, VERSION

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

BUSY = 10.0
"""Seconds that a transaction waits for another process."""

_left_to_parent: list[object] = []

_WORDS = {
    "SQLITE_FULL": ("the disk is full", "make room, then go on"),
    "SQLITE_BUSY": ("another process keeps it locked", "end the other process, or wait and try again"),
    "SQLITE_LOCKED": ("another process keeps it locked", "end the other process, or wait and try again"),
    "SQLITE_READONLY": ("it may not be written", "make the state folder writable, or set REMIT_STATE"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "make the state folder writable, or set REMIT_STATE"),
    "SQLITE_PERM": ("it may not be opened", "make the state folder writable, or set REMIT_STATE"),
    "SQLITE_NOTADB": ("it is damaged or no database", "move it away; a new one is made"),
    "SQLITE_CORRUPT": ("it is damaged", "move it away; a new one is made"),
    "SQLITE_IOERR": ("the disk reports an error", "check the disk and the free space"),
}


class Database:
    """The file `state.db` in `folder`.

    The folder is made with mode 0700, the file and what SQLite puts beside it with 0600. Opening
    happens at first use. One connection a process, guarded by a lock; a forked child opens its own.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.db"
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._full: bool | None = None

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
            work: gets the connection; what it raises undoes everything.
            durable: on return it is on the disk, not only with the operating system.

        Raises:
            StateError: the file cannot be written.
        """
        self._after_fork()
        with self._lock:
            return self._guarded(lambda: self._transact(work, durable))

    def close(self) -> None:
        """Close the connection; the next use opens it again. Idempotent."""
        self._after_fork()
        with self._lock:
            connection, self._connection, self._full = self._connection, None, None
            if connection is not None:
                self._guarded(connection.close)

    def _after_fork(self) -> None:
        if self._owner != os.getpid():
            _left_to_parent.append(self._connection)
            self._lock, self._owner = threading.RLock(), os.getpid()
            self._connection, self._full = None, None

    def _transact(self, work: Callable[[sqlite3.Connection], T], durable: bool) -> T:
        connection = self._open()
        if self._full is not durable:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._full = durable
        connection.execute("BEGIN IMMEDIATE")
        try:
            answer = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return answer

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            import sqlite3

            self._make_private()
            connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            try:
                _prepare(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _make_private(self) -> None:
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _narrow(folder, 0o700)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
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


def _narrow(path: Path, mode: int) -> None:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(mode)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StateError(
            f"{path} was written by a newer Remit (tables {version}, this one knows {VERSION})",
            remedy="upgrade Remit, or set REMIT_STATE to another folder",
        )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    if version == 0:
        _create(connection, path)


def _create(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                raise StateError(f"{path} is another program's database", remedy="set REMIT_STATE to another folder")
            for statement in filter(str.strip, TABLES.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends the transaction by itself
            connection.execute("ROLLBACK")
        raise


def _plain(error: sqlite3.Error, path: Path) -> StateError:
    name = str(getattr(error, "sqlite_errorname", ""))
    for start, (what, remedy) in _WORDS.items():
        if name.startswith(start):
            return StateError(f"{path} cannot be used: {what}", remedy=remedy)
    return StateError(f"{path} cannot be used: {error}")
