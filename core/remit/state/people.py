"""Approvers with a token of their own: several people who share one machine, or who answer from another."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.state.chain import Chain, Entry, prepared
from remit.state.database import Database

if TYPE_CHECKING:
    import sqlite3

LONGEST = 64
"""Characters of a name."""


@dataclass(frozen=True, kw_only=True)
class ApproverToken:
    """Somebody who answers under a name that a token proves.

    Attributes:
        name: the name.
        created: seconds since 1970.
        by: who made the token.
    """

    name: str
    created: float
    by: str


class People:
    """Making and checking the tokens of approvers; only their hashes are kept."""

    database: Database

    def add_approver(self, name: str, *, by: str) -> str:
        """Make a token for `name`, in place of an earlier one, and return it; it cannot be shown again.

        Raises:
            UsageError: the name is none.
            StateError: it cannot be written.
        """
        plain = name.strip()
        if not plain or len(plain) > LONGEST or not plain.isprintable():
            raise UsageError(f"{name[:LONGEST]!r} is no name: write up to {LONGEST} printable characters")
        token = secrets.token_urlsafe(32)
        row = (plain, _hash(token), time.time(), by)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM approvers WHERE lower(name) = lower(?)", (plain,))
            connection.execute("INSERT INTO approvers (name, hash, created, who) VALUES (?, ?, ?, ?)", row)
            self._record(connection, "signoff.person_added", plain, by)

        self.database.write(work)
        return token

    def remove_approver(self, name: str, *, by: str) -> bool:
        """Make the token of `name` void; False when there is none.

        Raises:
            StateError: it cannot be written.
        """

        def work(connection: sqlite3.Connection) -> bool:
            query = "DELETE FROM approvers WHERE lower(name) = lower(?)"
            if not connection.execute(query, (name.strip(),)).rowcount:
                return False
            self._record(connection, "signoff.person_removed", name.strip(), by)
            return True

        return self.database.write(work)

    def approvers(self) -> tuple[ApproverToken, ...]:
        """Return who has a token, by name.

        Raises:
            StateError: they cannot be read.
        """
        query = "SELECT name, created, who FROM approvers ORDER BY name"
        rows = self.database.read(lambda c: c.execute(query).fetchall())
        return tuple(ApproverToken(name=name, created=created, by=by) for name, created, by in rows)

    def approver_of(self, token: str) -> str | None:
        """Return whose token this is, None when it is nobody's.

        Raises:
            StateError: they cannot be read.
        """
        query = "SELECT name FROM approvers WHERE hash = ?"
        row = self.database.read(lambda c: c.execute(query, (_hash(token.strip()),)).fetchone())
        return None if row is None else str(row[0])

    def _record(self, connection: sqlite3.Connection, event: str, name: str, by: str) -> None:
        entry = Entry(event=event, body={"name": name, "by": by})
        Chain(connection, self.database.scratch).add_all([prepared(entry)])


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
