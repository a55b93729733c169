"""Reading the log with filters: over a million records the newest few that fit are found at once, in flat memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from remit.state.chain import COLUMNS
from remit.state.database import Database
from remit.state.query import Wanted, bounds_of, newest, storable, terms_of
from remit.state.records import READING, Record, record_of

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Read", "Wanted", "explain", "last_sequence", "read", "rows", "sessions_like"]

PAGE = 500
"""Records that one read transaction takes: readers never hold up the checkpoints of writers."""

PAGE_OF_ROWS = 20_000
"""The same for a few columns of each."""

_BODY = COLUMNS.split(", ").index("body")


@dataclass(frozen=True, kw_only=True)
class Read:
    """A record with what became of its payload.

    Attributes:
        record: the record; its body has the sealed fields in it.
        text: its body without them, as JSON.
        data: the sealed fields as JSON; None when there are none, or they were erased.
        size: bytes of the sealed fields, as they were written.
        erased: when they were erased, seconds since 1970; None when they were not.
        why: `age`, `size` or `person`.
    """

    record: Record
    text: bytes = b"{}"
    data: bytes | None = None
    size: int = 0
    erased: float | None = None
    why: str = ""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the record says for ever."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @cached_property
    def payload(self) -> dict[str, Any] | None:
        """The fields that can be erased; None when there are none."""
        return None if self.data is None else json.loads(self.data)


def read(database: Database, wanted: Wanted, *, limit: int | None = None, newest_first: bool = False) -> Iterator[Read]:
    """Yield the records that fit in the order of their sequence, in flat memory.

    Args:
        database: of the state.
        wanted: which.
        limit: at most so many.
        newest_first: the other way round.

    Raises:
        StateError: the log cannot be read.
    """
    low, high = database.read(partial(bounds_of, wanted=wanted, newest_first=newest_first))
    left = limit
    while low <= high and (left is None or left > 0):
        size = PAGE if left is None else min(PAGE, left)
        page = partial(_page, wanted=wanted, bounds=(low, high), size=size, newest_first=newest_first)
        rows = database.read(page)
        yield from map(_read, rows)
        if len(rows) < size:
            return
        left = None if left is None else left - len(rows)
        low, high = (low, rows[-1][0] - 1) if newest_first else (rows[-1][0] + 1, high)


def _read(row: Sequence[Any]) -> Read:
    *own, size, erased, why = row
    return Read(record=record_of(own), text=own[_BODY], data=own[-1], size=size or 0, erased=erased, why=why or "")


def last_sequence(database: Database) -> int:
    """Return the number of the newest record, 0 for an empty log. Raises StateError."""
    return database.read(newest)


def distinct(database: Database, column: Literal["skill", "event"]) -> list[str]:
    """Return every value of a column that any record has, in order. Raises StateError."""
    query = f"SELECT DISTINCT {column} FROM records WHERE {column} <> '' ORDER BY {column}"
    return database.read(lambda connection: [row[0] for row in connection.execute(query)])


def sessions_like(database: Database, start: str, *, most: int) -> list[str]:
    """Return the ids of at most `most` sessions on record that begin with `start`, in order. Raises StateError."""
    start = storable(start)

    def find(connection: sqlite3.Connection) -> list[str]:
        found: list[str] = []
        query = "SELECT min(session) FROM records WHERE session >= ?"
        row = connection.execute(query, (start,)).fetchone()
        while row[0] and row[0].startswith(start) and len(found) < most:
            found.append(row[0])
            row = connection.execute("SELECT min(session) FROM records WHERE session > ?", (row[0],)).fetchone()
        return found

    return database.read(find)


def explain(database: Database, wanted: Wanted, *, newest_first: bool = False) -> list[str]:
    """Return SQLite's plan for a page, one line a step: what the tests hold to the indexes. Raises StateError."""

    def plan(connection: sqlite3.Connection) -> list[str]:
        bounds = bounds_of(connection, wanted, newest_first=newest_first)
        query, values = _query(connection, wanted, bounds, PAGE, newest_first)
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", values)]

    return database.read(plan)


def _page(
    connection: sqlite3.Connection, wanted: Wanted, bounds: tuple[int, int], size: int, newest_first: bool
) -> list[tuple[Any, ...]]:
    query, values = _query(connection, wanted, bounds, size, newest_first)
    return connection.execute(query, values).fetchall()


def _query(
    connection: sqlite3.Connection, wanted: Wanted, bounds: tuple[int, int], size: int, newest_first: bool
) -> tuple[str, list[Any]]:
    terms = terms_of(connection, wanted, bounds)
    order = "DESC" if newest_first else "ASC"
    columns = f"{READING}, payloads.size, payloads.erased, payloads.why"
    source = "records LEFT JOIN payloads ON payloads.seq = records.seq"
    return f"SELECT {columns} FROM {source}{terms.where} ORDER BY records.seq {order} LIMIT ?", [*terms.values, size]


def rows(database: Database, wanted: Wanted, columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield columns of the records that fit, in order, without their payloads; for figures over many records.

    Args:
        database: of the state.
        wanted: which.
        columns: SQL over `records`; never text from outside.

    Raises:
        StateError: the log cannot be read.
    """
    low, high = database.read(lambda connection: bounds_of(connection, wanted))

    def page(connection: sqlite3.Connection, low: int) -> list[tuple[Any, ...]]:
        terms = terms_of(connection, wanted, (low, high))
        query = f"SELECT records.seq, {columns} FROM records{terms.where} ORDER BY records.seq LIMIT ?"
        return connection.execute(query, (*terms.values, PAGE_OF_ROWS)).fetchall()

    while low <= high:
        found = database.read(partial(page, low=low))
        yield from (row[1:] for row in found)
        if len(found) < PAGE_OF_ROWS:
            return
        low = found[-1][0] + 1
