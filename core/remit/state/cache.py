"""Results of reads that may be reused for a while."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.state.database import Database

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, kw_only=True)
class Cached:
    """A result's JSON text with the labels that it had."""

    text: bytes
    labels: frozenset[str]


class Cache:
    """Keeping `ok` results under a key that the pipeline makes."""

    database: Database
    who: str

    def cache_get(self, key: str) -> Cached | None:
        """Return the result under `key`, or None when there is none or it has expired.

        Raises:
            StateError: it cannot be read.
        """
        query = "SELECT text, labels FROM cache WHERE key = ? AND expires > ?"
        row = self.database.read(lambda c: c.execute(query, (key, time.time())).fetchone())
        return None if row is None else Cached(text=row[0], labels=frozenset(row[1].split()))

    def cache_put(self, key: str, text: bytes, *, seconds: float, labels: Iterable[str] = ()) -> None:
        """Keep a result for `seconds`; what has expired is thrown away.

        Raises:
            StateError: it cannot be written.
        """
        now = time.time()
        row = (key, text, " ".join(sorted(labels)), now + seconds, self.who)
        query = "INSERT OR REPLACE INTO cache (key, text, labels, expires, who) VALUES (?, ?, ?, ?, ?)"

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM cache WHERE expires <= ?", (now,))
            connection.execute(query, row)

        self.database.write(work, durable=False)
