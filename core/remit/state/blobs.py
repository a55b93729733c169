"""Whole results and bytes, kept under handles that only their own session can read."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.state.database import Database

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, kw_only=True)
class Blob:
    """What a handle stands for.

    Attributes:
        handle: its name, such as `r-5f0c9a1b2c3d`.
        data: the bytes.
        media_type: such as `text/plain` or `image/png`.
        session: to which it belongs; empty for none.
        skill: that gave it.
        labels: of the result that it came from.
    """

    handle: str
    data: bytes
    media_type: str
    session: str
    skill: str
    labels: frozenset[str]


class Blobs:
    """Keeping and reading what is too large, or no text, for a model to read."""

    database: Database
    who: str

    def put_blob(
        self, data: bytes, media_type: str, *, session: str = "", skill: str = "", labels: Iterable[str] = ()
    ) -> str:
        """Keep `data` and return a new handle; equal data is stored once.

        Raises:
            StateError: it cannot be written.
        """
        handle = f"r-{secrets.token_hex(6)}"
        hashed = hashlib.sha256(data).hexdigest()
        row = (handle, hashed, session, skill, media_type, " ".join(sorted(labels)), time.time(), self.who)

        query = (
            "INSERT INTO blobs (handle, hash, session, skill, media_type, labels, created, who)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (hashed, data))
            connection.execute(query, row)

        self.database.write(work, durable=False)
        return handle

    def blob_hash(self, handle: str) -> str:
        """Return the SHA-256 of what `handle` stands for, 64 hexadecimal digits; empty when there is no such handle.

        Raises:
            StateError: it cannot be read.
        """
        query = "SELECT hash FROM blobs WHERE handle = ?"
        row = self.database.read(lambda connection: connection.execute(query, (handle,)).fetchone())
        return "" if row is None else str(row[0])

    def get_blob(self, handle: str, *, session: str | None = None) -> Blob | None:
        """Return what `handle` stands for, or None when there is no such handle.

        Args:
            handle: as `put_blob` returned it.
            session: when given, handles of other sessions do not exist.

        Raises:
            StateError: it cannot be read.
        """
        query = (
            "SELECT handle, data, media_type, session, skill, labels FROM blobs JOIN contents USING (hash)"
            " WHERE handle = ? AND (? IS NULL OR session = ?)"
        )
        row = self.database.read(lambda c: c.execute(query, (handle, session, session)).fetchone())
        if row is None:
            return None
        return Blob(
            handle=row[0],
            data=row[1],
            media_type=row[2],
            session=row[3],
            skill=row[4],
            labels=frozenset(row[5].split()),
        )
