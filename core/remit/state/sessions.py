"""Sessions: the transcript and status of each conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from remit.errors import StateError, UsageError
from remit.state.chain import Entry, prepared
from remit.state.records import Records

if TYPE_CHECKING:
    import sqlite3

SHORTEST_ID = 4
"""Characters of a session's id that a person types at least."""


@dataclass(frozen=True, kw_only=True)
class SavedSession:
    """One session as it was saved.

    Attributes:
        id: the session's id.
        status: of its last run: `answered`, `stopped`, `parked`, `failed`, or `running`.
        transcript: its messages.
        created, updated: seconds since 1970.
        parent: id of the session whose agent gave the task that this one is about; empty where a person asked.
    """

    id: str
    status: str
    transcript: tuple[Mapping[str, Any], ...]
    created: float
    updated: float
    parent: str = ""


EVALUATION = "evaluation:"
"""How the name begins of the one for whom an attempt of an evaluation is made."""

_SELECT = "SELECT id, status, created, updated, parent FROM sessions"
_SAVE = (
    "INSERT INTO sessions (id, created, updated, status, who) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, status = excluded.status"
)
_COUNT = "SELECT coalesce(max(place) + 1, 0) FROM messages WHERE session = ?"
BELOW = (
    "WITH RECURSIVE below (id) AS (SELECT ?"
    " UNION SELECT s.id FROM sessions s JOIN below b ON s.parent = b.id AND s.parent <> '')"
)
"""Before a query: `below` has the ids of a session and of all the tasks that were given in it."""


class Sessions(Records):
    """Saving and loading sessions."""

    def save_session(
        self,
        session: str,
        transcript: Sequence[Mapping[str, Any]],
        *,
        status: str,
        durable: bool = True,
        same: int = 0,
        records: Sequence[Entry] = (),
    ) -> None:
        """Save a session, replacing what was saved under the same id, and write records in the same transaction.

        Args:
            session: the session's id.
            transcript: its messages, plain JSON data.
            status: see `SavedSession`.
            durable: on return it is on the disk, not only with the operating system.
            same: how many messages at the beginning are those that the caller saved last; they are not written
                again, unless somebody removed them meanwhile.
            records: what happened since, in its order; who is not named in them did it as usual.

        Raises:
            StateError: it cannot be written.
        """
        now = time.time()
        written = [json.dumps(message) for message in transcript[same:]]
        rows = [prepared(entry if entry.who else replace(entry, who=self.who)) for entry in records]

        def work(connection: sqlite3.Connection) -> int:
            connection.execute(_SAVE, (session, now, now, status, self.who))
            there = connection.execute(_COUNT, (session,)).fetchone()[0]
            at = same
            texts = written
            if there < same:
                at, texts = 0, [json.dumps(message) for message in transcript]
            if there > at:
                connection.execute("DELETE FROM messages WHERE session = ? AND place >= ?", (session, at))
            connection.executemany(
                "INSERT INTO messages (session, place, body) VALUES (?, ?, ?)",
                [(session, place, text) for place, text in enumerate(texts, at)],
            )
            return self.chain(connection).add_all(rows) if rows else 0

        last = self.database.write(work, durable=durable)
        if rows:
            self._tell(rows, last)

    def load_session(self, session: str) -> SavedSession | None:
        """Return the session, or None when it was never saved.

        Raises:
            StateError: it cannot be read.
        """
        found = self.database.read(lambda connection: _loaded(connection, f"{_SELECT} WHERE id = ?", (session,)))
        return found[0] if found else None

    def session_id(self, start: str) -> str:
        """Return the id of the one session whose id is `start` or begins with it.

        Raises:
            UsageError: there is none, or more than one.
            StateError: they cannot be read.
        """
        query = "SELECT id FROM sessions WHERE id = ? OR (length(?) >= ? AND substr(id, 1, length(?)) = ?) LIMIT 100"
        values = (start, start, SHORTEST_ID, start, start)
        found = [str(row[0]) for row in self.database.read(lambda c: c.execute(query, values).fetchall())]
        if start in found:
            return start
        if len(found) != 1:
            what = "more than one session begins with" if found else "there is no session"
            raise UsageError(f"{what} {start[:100]}", remedy="remit sessions list")
        return found[0]

    def sessions(self, *, limit: int = 100, status: str | None = None, but: str = "") -> tuple[SavedSession, ...]:
        """Return the sessions changed last, newest first.

        Args:
            limit: so many.
            status: those with this one; None for all.
            but: leaves out those that are for somebody whose name begins so; empty for none.

        Raises:
            StateError: they cannot be read.
        """
        query = (
            f"{_SELECT} WHERE (? IS NULL OR status = ?) AND (? = '' OR substr(who, 1, length(?)) <> ?)"
            " ORDER BY updated DESC LIMIT ?"
        )
        values = (status, status, but, but, but, limit)
        return self.database.read(lambda connection: _loaded(connection, query, values))

    def count_sessions(self, *, of: str) -> int:
        """Return how many sessions are for somebody whose name begins so.

        Raises:
            StateError: they cannot be read.
        """
        query = "SELECT count(*) FROM sessions WHERE substr(who, 1, length(?)) = ?"
        return int(self.database.read(lambda connection: connection.execute(query, (of, of)).fetchone())[0])

    def begin_child(self, session: str, *, parent: str) -> None:
        """Begin a session that belongs to the run of another one; nothing happens where it was begun before.

        Raises:
            StateError: it cannot be written.
        """
        query = (
            "INSERT OR IGNORE INTO sessions (id, created, updated, status, who, parent)"
            " VALUES (?, ?, ?, 'running', ?, ?)"
        )
        now = time.time()
        self.database.write(lambda c: c.execute(query, (session, now, now, self.who, parent)), durable=False)

    def owner_of(self, session: str) -> str:
        """Return for whom a session is; empty where there is none, or one of before that was noted.

        Raises:
            StateError: it cannot be read.
        """
        query = "SELECT who FROM sessions WHERE id = ?"
        row = self.database.read(lambda connection: connection.execute(query, (session,)).fetchone())
        return "" if row is None else str(row[0])

    def root_of(self, session: str) -> str:
        """Return the session in which a person asked: the session itself, or the first of those that led to it.

        Raises:
            StateError: it cannot be read.
        """
        query = (
            "WITH RECURSIVE above (id, parent) AS ("
            " SELECT id, parent FROM sessions WHERE id = ?"
            " UNION SELECT s.id, s.parent FROM sessions s JOIN above a ON s.id = a.parent)"
            " SELECT id FROM above WHERE parent = '' OR parent NOT IN (SELECT id FROM sessions) LIMIT 1"
        )
        row = self.database.read(lambda connection: connection.execute(query, (session,)).fetchone())
        return session if row is None else str(row[0])

    def children_of(self, session: str) -> tuple[SavedSession, ...]:
        """Return the sessions of the tasks that were given in a session, the first one first.

        Raises:
            StateError: they cannot be read.
        """
        query = f"{_SELECT} WHERE parent = ? AND parent <> '' ORDER BY created, id"
        return self.database.read(lambda connection: _loaded(connection, query, (session,)))

    def fork_session(self, session: str, new: str) -> None:
        """Copy a session under a new id, as it is now; the calls in it belong to the old one.

        The record `session.copied` says of which one: a run that goes on with the copy is bound to what that one was.

        Raises:
            UsageError: there is no such session, the new id is taken, or it is the session of a task: a copy would be
                nobody's task.
            StateError: it cannot be written.
        """
        query = (
            "INSERT OR IGNORE INTO sessions (id, created, updated, status, who)"
            " SELECT ?, ?, ?, status, who FROM sessions WHERE id = ? AND parent = ''"
        )
        summaries = (
            "INSERT OR IGNORE INTO summaries SELECT ?, digest, text, labels, created FROM summaries WHERE session = ?"
        )
        copied = "INSERT INTO messages (session, place, body) SELECT ?, place, body FROM messages WHERE session = ?"
        now = time.time()
        rows = [prepared(Entry(event="session.copied", session=new, body={"of": session}, who=self.who))]

        def work(connection: sqlite3.Connection) -> int:
            made = connection.execute(query, (new, now, now, session)).rowcount > 0
            if made:
                connection.execute(copied, (new, session))
                connection.execute(summaries, (new, session))
            return self.chain(connection).add_all(rows) if made else 0

        last = self.database.write(work)
        if last:
            self._tell(rows, last)
        else:
            known = self.load_session(session)
            if known is not None and known.parent:
                raise UsageError(
                    f"session {session} is a task that an agent gave in session {known.parent}",
                    remedy=f"copy session {self.root_of(session)}",
                )
            if known is None:
                raise UsageError(f"there is no session {session}", remedy="remit sessions list")
            raise UsageError(f"there is a session {new} already", remedy="choose another id for the copy")

    def delete_session(self, session: str) -> bool:
        """Remove a session's transcript, its summaries and what a person answered in it; its records stay.

        The sessions of the tasks that were given in it go with it.

        Returns:
            Whether there was one.

        Raises:
            StateError: it cannot be written.
        """

        def work(connection: sqlite3.Connection) -> bool:
            known = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone()
            for (one,) in connection.execute(f"{BELOW} SELECT id FROM below", (session,)).fetchall():
                for table in ("answers", "summaries", "messages"):
                    connection.execute(f"DELETE FROM {table} WHERE session = ?", (one,))
                waiting = "UPDATE signoffs SET state = 'denied' WHERE session = ? AND state IN ('pending', 'approved')"
                connection.execute(waiting, (one,))
                connection.execute("DELETE FROM sessions WHERE id = ?", (one,))
            return known is not None

        return self.database.write(work)


def _loaded(connection: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> tuple[SavedSession, ...]:
    found = []
    for id_, status, created, updated, parent in connection.execute(query, values).fetchall():
        rows = connection.execute("SELECT body FROM messages WHERE session = ? ORDER BY place", (id_,))
        try:
            transcript = tuple(json.loads(text) for (text,) in rows)
        except (TypeError, ValueError, RecursionError) as error:
            raise StateError(f"the session {id_} cannot be read: {error}") from error
        found.append(
            SavedSession(id=id_, status=status, transcript=transcript, created=created, updated=updated, parent=parent)
        )
    return tuple(found)
