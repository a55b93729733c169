"""Requests that a run would go on with: finding them in a session and its tasks, and taking them back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from remit.state.answering import COLUMNS, StoredSignoff, request_entry, stored
from remit.state.chain import Chain, Prepared, prepared
from remit.state.database import Database
from remit.state.sessions import BELOW
from remit_sandbox.canonical import canonical
from remit_sandbox.signoff import SignoffDecision

if TYPE_CHECKING:
    import sqlite3

WITHDRAWN = "taken back: another question was asked in the session instead"
"""Reason of a request that was taken back for another question."""


class Withdrawing:
    """Requests that are not settled yet, and taking them back."""

    database: Database
    _tell: Callable[[Sequence[Prepared], int], None]

    def live_signoffs(self, session: str) -> tuple[StoredSignoff, ...]:
        """Return the requests of a session, and of the tasks given in it, that wait for a person or for their call.

        Those wait for their call that are approved and were not used; what has lapsed is not among them.

        Raises:
            StateError: they cannot be read.
        """
        query = (
            f"{BELOW} SELECT {COLUMNS} FROM signoffs WHERE session IN below"
            " AND state IN ('pending', 'approved') AND expires > ? ORDER BY created, nonce"
        )
        rows = self.database.read(lambda c: c.execute(query, (session, time.time())).fetchall())
        return tuple(map(stored, rows))

    def asked_about(self, session: str, call: str) -> StoredSignoff | None:
        """Return the last question about a call as its model wrote it, whatever was answered, or None.

        Raises:
            StateError: it cannot be read.
        """
        query = (
            f"SELECT {COLUMNS} FROM signoffs WHERE session = ? AND call = ? AND edits = ''"
            " ORDER BY created DESC, rowid DESC LIMIT 1"
        )
        row = self.database.read(lambda c: c.execute(query, (session, call)).fetchone())
        return None if row is None else stored(row)

    def withdraw_signoffs(self, asked: Sequence[StoredSignoff], *, by: str) -> None:
        """Take requests back, answered or not, in one transaction; one that was used meanwhile stays as it is.

        That is no refusal of the action: it may be asked about again. The record `signoff.revoked` says by whom.

        Raises:
            StateError: it cannot be written.
        """
        entries = [
            prepared(request_entry("signoff.revoked", one, {"nonce": one.nonce, "by": by}, {"reason": WITHDRAWN}))
            for one in asked
        ]

        def work(connection: sqlite3.Connection) -> tuple[list[Prepared], int]:
            rows = []
            for one, entry in zip(asked, entries, strict=True):
                given = SignoffDecision(answer="deny", digest=one.digest, reason=WITHDRAWN, by="Remit")
                query = (
                    "UPDATE signoffs SET state = 'denied', decision = ?"
                    " WHERE nonce = ? AND state IN ('pending', 'approved')"
                )
                if connection.execute(query, (canonical(vars(given)), one.nonce)).rowcount:
                    rows.append(entry)
            return rows, Chain(connection, self.database.scratch).add_all(rows) if rows else 0

        rows, last = self.database.write(work)
        if rows:
            self._tell(rows, last)

    def stop_tasks(self, session: str) -> None:
        """Have the tasks stopped that were given in a session and not brought to an end: nobody goes on with them.

        Raises:
            StateError: it cannot be written.
        """
        query = f"{BELOW} SELECT id FROM sessions WHERE status IN ('parked', 'running') AND id <> ? AND id IN below"
        found = self.database.read(lambda c: c.execute(query, (session, session)).fetchall())
        stop = "UPDATE sessions SET status = 'stopped' WHERE id = ?"
        if found:
            self.database.write(lambda c: c.executemany(stop, found))
