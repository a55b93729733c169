"""Summaries of what a session no longer shows its model; the transcript itself stays whole."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.state.database import Database

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, kw_only=True)
class KeptSummary:
    """A summary that a model wrote.

    Attributes:
        text: of it, redacted.
        labels: of everything that it covers.
    """

    text: str
    labels: frozenset[str]


class Summaries:
    """Keeping and finding summaries, each under a digest of what it covers."""

    database: Database

    def keep_summary(self, session: str, digest: str, text: str, labels: Iterable[str]) -> None:
        """Keep a summary, in place of one of the same messages.

        Args:
            session: whose messages it covers.
            digest: of these messages.
            text: as a model wrote it, without what must not be stored.
            labels: of all that it covers.

        Raises:
            StateError: it cannot be written.
        """
        row = (session, digest, text, " ".join(sorted(labels)), time.time())

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?)", row)

        self.database.write(work, durable=False)

    def summaries(self, session: str) -> dict[str, KeptSummary]:
        """Return the summaries of a session by digest. Raises StateError when they cannot be read."""
        query = "SELECT digest, text, labels FROM summaries WHERE session = ?"
        rows = self.database.read(lambda connection: connection.execute(query, (session,)).fetchall())
        return {digest: KeptSummary(text=text, labels=frozenset(labels.split())) for digest, text, labels in rows}
