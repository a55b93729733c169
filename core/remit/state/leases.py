"""Which process has a session: two must never go on with one at the same time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from remit.errors import StateError, UsageError
from remit.state.database import Database
from remit.state.owner import Owner, is_alive

if TYPE_CHECKING:
    import sqlite3


class Leases:
    """Taking a session for the time of a run. A process that dies gives its sessions back."""

    database: Database
    folder: Path
    owner: Owner

    @contextmanager
    def leased(self, session: str) -> Iterator[None]:
        """Have a session for yourself as long as the block runs.

        Raises:
            UsageError: another living process has it.
            StateError: it cannot be written.
        """
        self._take(session, self.owner.id)
        try:
            yield
        finally:
            with suppress(StateError):
                self._give_back(session, self.owner.id)

    def leased_elsewhere(self, session: str) -> bool:
        """Tell whether another living process has a session now.

        Raises:
            StateError: it cannot be read.
        """
        query = "SELECT owner FROM leases WHERE session = ?"
        row = self.database.read(lambda connection: connection.execute(query, (session,)).fetchone())
        return row is not None and row[0] != self.owner.id and is_alive(self.folder, row[0])

    def _take(self, session: str, mine: str) -> None:
        def work(connection: sqlite3.Connection) -> str:
            row = connection.execute("SELECT owner FROM leases WHERE session = ?", (session,)).fetchone()
            if row is not None and row[0] != mine and is_alive(self.folder, row[0]):
                return str(row[0])
            connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (session, mine, time.time()))
            return mine

        if self.database.write(work, durable=False) != mine:
            raise UsageError(
                f"session {session} has a run going on in another process",
                remedy="wait for it, or use another session",
            )

    def _give_back(self, session: str, mine: str) -> None:
        query = "DELETE FROM leases WHERE session = ? AND owner = ?"
        self.database.write(lambda connection: connection.execute(query, (session, mine)), durable=False)
