"""The log: one record for everything that was asked, decided and done."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from remit.state.database import Database
from remit_sandbox.canonical import canonical

if TYPE_CHECKING:
    import sqlite3

_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A record to be written.

    Attributes:
        event: `call.proposed`, `call.decided`, `call.started`, `call.finished`, `signoff.asked`, ...
        session: id of the session; empty for what belongs to none.
        skill: full name of the skill; empty where there is none.
        call: id of the call; empty where there is none.
        body: everything else, written as canonical JSON.
        time: seconds since 1970.
    """

    event: str
    session: str = ""
    skill: str = ""
    call: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record as it was written; `seq` rises by one a record. The rest is as in `Entry`."""

    seq: int
    time: float
    session: str
    event: str
    skill: str
    call: str
    body: Mapping[str, Any]


class Records:
    """Writing and reading the log."""

    database: Database

    def append(
        self,
        event: str,
        *,
        session: str = "",
        skill: str = "",
        call: str = "",
        body: Mapping[str, Any] | None = None,
        durable: bool = True,
    ) -> int:
        """Write one record and return its sequence number.

        Raises:
            StateError: it cannot be written; then what it announces must not happen.
        """
        entry = Entry(event=event, session=session, skill=skill, call=call, body=body or {})
        return self.append_all((entry,), durable=durable)

    def append_all(self, entries: Iterable[Entry], *, durable: bool = True) -> int:
        """Write records in one transaction and return the last sequence number (0 for none).

        Raises:
            StateError: they cannot be written; then none of them is.
        """
        rows = [row_of(entry) for entry in entries]
        if not rows:
            return 0
        return self.database.write(lambda connection: insert(connection, rows), durable=durable)

    def records(
        self,
        *,
        session: str | None = None,
        event: str | None = None,
        skill: str | None = None,
        call: str | None = None,
        limit: int | None = None,
        after: int = 0,
        newest_first: bool = False,
    ) -> Iterator[Record]:
        """Yield records in order of their sequence, read in pages so that writers are never held up.

        Args:
            session, event, skill, call: only those with this value; an event that ends in `.` stands
                for all that start with it.
            limit: at most so many.
            after: only those with a higher sequence number (a lower one with `newest_first`, unless 0).
            newest_first: the other way round.

        Raises:
            StateError: the log cannot be read.
        """
        left = limit
        while left is None or left > 0:
            filters = {"session": session, "event": event, "skill": skill, "call": call}
            query, values = _query(filters, after, newest_first)
            size = _PAGE if left is None else min(_PAGE, left)
            page = self._page(query, (*values, size))
            yield from map(_record, page)
            if len(page) < size:
                return
            after = page[-1][0]
            left = None if left is None else left - len(page)

    def _page(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self.database.read(lambda connection: connection.execute(query, values).fetchall())


def insert(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> int:
    """Insert prepared rows inside a transaction and return the last sequence number."""
    last = 0
    for row in rows:
        cursor = connection.execute(
            "INSERT INTO records (time, session, event, skill, call, body) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        last = cursor.lastrowid or last
    return last


def row_of(entry: Entry) -> tuple[Any, ...]:
    """Return `entry` as a row for `insert`."""
    names = (entry.session, entry.event, entry.skill, entry.call)
    return (entry.time, *(_storable(name) for name in names), canonical(entry.body))


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _query(filters: Mapping[str, str | None], after: int, newest_first: bool) -> tuple[str, list[Any]]:
    terms: list[str] = []
    values: list[Any] = []
    for column, value in filters.items():
        if value is None:
            continue
        if column == "event" and value.endswith("."):
            terms.append("event >= ? AND event < ?")
            values += [value, value[:-1] + "/"]
        else:
            terms.append(f"{column} = ?")
            values.append(_storable(value))
    if after or not newest_first:
        terms.append("seq < ?" if newest_first else "seq > ?")
        values.append(after)
    where = f"WHERE {' AND '.join(terms)} " if terms else ""
    order = "DESC" if newest_first else "ASC"
    columns = "seq, time, session, event, skill, call, body"
    return f"SELECT {columns} FROM records {where}ORDER BY seq {order} LIMIT ?", values


def _record(row: tuple[Any, ...]) -> Record:
    seq, moment, session, event, skill, call, body = row
    return Record(seq=seq, time=moment, session=session, event=event, skill=skill, call=call, body=json.loads(body))
