"""Sessions: the transcript and status of each conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remit.errors import UsageError
from remit.state.database import Database

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, kw_only=True)
class SavedSession:
    """One session as it was saved.

    Attributes:
        id: the session's id.
        status: of its last run: `answered`, `stopped`, `parked`, `failed`, or `running`.
        transcript: its messages.
        created, updated: seconds since 1970.
    """

    id: str
    status: str
    transcript: tuple[Mapping[str, Any], ...]
    created: float
    updated: float


class Sessions:
    """Saving and loading sessions."""

    database: Database
    who: str

    def save_session(
        self, session: str, transcript: Sequence[Mapping[str, Any]], *, status: str, durable: bool = True
    ) -> None:
        """Save a session, replacing what was saved under the same id.

        Args:
            session: the session's id.
            transcript: its messages, plain JSON data.
            status: see `SavedSession`.
            durable: on return it is on the disk, not only with the operating system.

        Raises:
            StateError: it cannot be written.
        """
        text = json.dumps(list(transcript)).encode()
        now = time.time()
        self.database.write(
            lambda connection: connection.execute(
                "INSERT INTO sessions (id, created, updated, status, transcript, who) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET"
                " updated = excluded.updated, status = excluded.status, transcript = excluded.transcript",
                (session, now, now, status, text, self.who),
            ),
            durable=durable,
        )

    def load_session(self, session: str) -> SavedSession | None:
        """Return the session, or None when it was never saved.

        Raises:
            StateError: it cannot be read.
        """
        query = "SELECT id, status, transcript, created, updated FROM sessions WHERE id = ?"
        row = self.database.read(lambda connection: connection.execute(query, (session,)).fetchone())
        return None if row is None else _session(row)

    def sessions(self, *, limit: int = 100, status: str | None = None) -> tuple[SavedSession, ...]:
        """Return the sessions changed last, newest first.

        Raises:
            StateError: they cannot be read.
        """
        query = (
            "SELECT id, status, transcript, created, updated FROM sessions"
            " WHERE ? IS NULL OR status = ? ORDER BY updated DESC LIMIT ?"
        )
        rows = self.database.read(lambda c: c.execute(query, (status, status, limit)).fetchall())
        return tuple(map(_session, rows))

    def fork_session(self, session: str, new: str) -> None:
        """Copy a session under a new id, as it is now; the calls in it belong to the old one.

        Raises:
            UsageError: there is no such session, or the new id is taken.
            StateError: it cannot be written.
        """
        query = (
            "INSERT OR IGNORE INTO sessions (id, created, updated, status, transcript, who)"
            " SELECT ?, ?, ?, status, transcript, who FROM sessions WHERE id = ?"
        )
        now = time.time()
        made = self.database.write(lambda c: c.execute(query, (new, now, now, session)).rowcount)
        if not made:
            known = self.load_session(session) is not None
            raise UsageError(f"there is a session {new} already" if known else f"there is no session {session}")

    def delete_session(self, session: str) -> bool:
        """Remove a session's transcript and what a person answered in it; its records stay.

        Returns:
            Whether there was one.

        Raises:
            StateError: it cannot be written.
        """

        def work(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM answers WHERE session = ?", (session,))
            waiting = "UPDATE signoffs SET state = 'denied' WHERE session = ? AND state IN ('pending', 'approved')"
            connection.execute(waiting, (session,))
            return connection.execute("DELETE FROM sessions WHERE id = ?", (session,)).rowcount > 0

        return self.database.write(work)


def _session(row: tuple[Any, ...]) -> SavedSession:
    id_, status, text, created, updated = row
    transcript = tuple(json.loads(text))
    return SavedSession(id=id_, status=status, transcript=transcript, created=created, updated=updated)
