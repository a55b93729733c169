"""The log: one record for everything that was asked, decided and done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from remit.errors import StateError
from remit.state.chain import COLUMNS, Chain, Entry, Prepared, prepared
from remit.state.database import Database
from remit.state.head import Head, write_head

if TYPE_CHECKING:
    import sqlite3

__all__ = ["READING", "Chain", "Entry", "Listener", "Record", "Records", "record_of"]

READING = f"records.{COLUMNS.replace(', ', ', records.')}, payloads.data"
"""The columns that `record_of` takes, FROM records LEFT JOIN payloads USING (seq)."""

_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record as it was written; what is not said here is as in `Entry`.

    Attributes:
        seq: rises by one a record, from 1.
        body: with the sealed fields in it, as long as they are there.
        sealed: the commitment to the sealed fields, hexadecimal; empty when there are none.
        erased: the sealed fields are gone.
        leaf: the record's hash, hexadecimal.
    """

    seq: int
    time: float
    session: str
    event: str
    skill: str
    call: str
    body: Mapping[str, Any] = field(default_factory=dict)
    who: str = ""
    effect: str = ""
    verdict: str = ""
    status: str = ""
    trace: str = ""
    sealed: str = ""
    erased: bool = False
    leaf: str = ""


class Listener(Protocol):
    """Hears of records once they are written."""

    def written(self, records: Sequence[Record]) -> None:
        """Take records of one transaction, in order. Raises StateError when what they announce must not happen."""
        ...

    def flush(self) -> None:
        """Finish what is still under way; nothing more will come."""
        ...


class Records:
    """Writing and reading the log."""

    database: Database
    folder: Path
    listener: Listener | None
    who: str
    wrote: bool

    def append(
        self,
        event: str,
        *,
        session: str = "",
        skill: str = "",
        call: str = "",
        body: Mapping[str, Any] | None = None,
        sealed: Mapping[str, Any] | None = None,
        durable: bool = True,
        who: str | None = None,
    ) -> int:
        """Write one record and return its sequence number.

        Raises:
            StateError: it cannot be written; then what it announces must not happen.
        """
        entry = Entry(
            event=event,
            session=session,
            skill=skill,
            call=call,
            body=body or {},
            sealed=sealed or {},
            who=self.who if who is None else who,
        )
        return self.append_all((entry,), durable=durable)

    def append_all(self, entries: Iterable[Entry], *, durable: bool = True) -> int:
        """Write records in one transaction and return the last sequence number (0 for none).

        Raises:
            StateError: they cannot be written; then none of them is.
        """
        rows = [prepared(entry) for entry in entries]
        if not rows:
            return 0
        last = self.database.write(lambda connection: self.chain(connection).add_all(rows), durable=durable)
        self._tell(rows, last)
        return last

    async def aappend_all(self, entries: Iterable[Entry], *, durable: bool = True) -> int:
        """Do what `append_all` does, without holding up the event loop while the disk works.

        Raises:
            StateError: they cannot be written; then none of them is.
        """
        rows = [prepared(entry) for entry in entries]
        if not rows:
            return 0
        last = await self.database.awrite(lambda connection: self.chain(connection).add_all(rows), durable=durable)
        self._tell(rows, last)
        return last

    def chain(self, connection: sqlite3.Connection) -> Chain:
        """Return the chain for a transaction of `database`."""
        return Chain(connection, self.database.scratch)

    def _tell(self, rows: Sequence[Prepared], last: int) -> None:
        """Tell the listener of rows that were written in one transaction, the last one under the number `last`."""
        self.wrote = True
        if self.listener is not None:
            first = last - len(rows) + 1
            self.listener.written([_told(first + place, row) for place, row in enumerate(rows)])

    def keep_head(self) -> None:
        """Keep number and leaf of the last record in a file of its own, once they are on the disk."""
        query = "SELECT seq, leaf, (SELECT leaf FROM records WHERE seq = 1) FROM records ORDER BY seq DESC LIMIT 1"

        def work(connection: sqlite3.Connection) -> Any:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            return connection.execute(query).fetchone()

        with suppress(StateError):
            seq, leaf, first = self.database.read(work) or (0, b"", None)
            self.wrote = False
            if first is not None:
                write_head(self.folder, Head(first=first.hex(), seq=seq, leaf=leaf.hex()))

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
            yield from map(record_of, page)
            if len(page) < size:
                return
            after = page[-1][0]
            left = None if left is None else left - len(page)

    def _page(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self.database.read(lambda connection: connection.execute(query, values).fetchall())


def record_of(row: Sequence[Any]) -> Record:
    """Return a row of the columns `READING` as a record."""
    seq, moment, session, event, skill, call, who, effect, verdict, status, trace, body, sealed, _, leaf, data = row
    facts = json.loads(body)
    if data is not None:
        facts |= json.loads(data)
    return Record(
        seq=seq,
        time=moment,
        session=session,
        event=event,
        skill=skill,
        call=call,
        body=facts,
        who=who,
        effect=effect,
        verdict=verdict,
        status=status,
        trace=trace,
        sealed=sealed.hex() if sealed is not None else "",
        erased=sealed is not None and data is None,
        leaf=leaf.hex(),
    )


def _told(seq: int, row: Prepared) -> Record:
    data = None if row.payload is None else row.payload[1]
    return record_of((seq, *row.names, row.body, row.sealed, b"", b"", data))


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
            terms.append(f"{column} = ?" + (" AND call <> ''" if column == "call" and value else ""))
            values.append(value.encode("utf-8", "backslashreplace").decode("utf-8"))
    if after or not newest_first:
        terms.append("seq < ?" if newest_first else "seq > ?")
        values.append(after)
    where = f"WHERE {' AND '.join(terms)} " if terms else ""
    order = "DESC" if newest_first else "ASC"
    return f"SELECT {READING} FROM records LEFT JOIN payloads USING (seq) {where}ORDER BY seq {order} LIMIT ?", values
