"""Reading a log file for verification: read-only, in short transactions, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from remit.errors import EvidenceError
from remit.state.chain import COLUMNS, Row
from remit.state.tables import APPLICATION, VERSION

if TYPE_CHECKING:
    import sqlite3

PAGE = 2_000
"""Records that are read in one transaction; together they take a fraction of a second."""

_QUERY = (
    f"SELECT records.{COLUMNS.replace(', ', ', records.')}, payloads.salt, payloads.data, payloads.erased, payloads.seq"
    " FROM records LEFT JOIN payloads USING (seq) WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)


class Stored(NamedTuple):
    """A record with what lies apart from it.

    Attributes:
        row: the record.
        salt, data: of its payload; None when there is none or it was erased.
        erased: when it was erased, seconds since 1970.
        kept: there is a row for its payload.
    """

    row: Row
    salt: bytes | None
    data: bytes | None
    erased: float | None
    kept: bool


class LogFile:
    """An open log file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Take a connection; use `opened`."""
        self._connection = connection

    def one(self, query: str, *values: Any) -> Any:
        """Return the first row of a query, or None."""
        return self._connection.execute(query, values).fetchone()

    @property
    def last(self) -> int:
        """Number of the last record."""
        return int(self.one("SELECT coalesce(max(seq), 0) FROM records")[0])

    @property
    def given(self) -> int:
        """The highest number that was ever given to a record."""
        row = self.one("SELECT seq FROM sqlite_sequence WHERE name = 'records'")
        return int(row[0]) if row is not None else 0

    def stored(self, last: int) -> Iterator[Stored]:
        """Yield the records up to number `last`, in order."""
        after = -(2**62)
        while page := self._connection.execute(_QUERY, (after, last, PAGE)).fetchall():
            for row in page:
                yield Stored(Row(*row[:15]), row[15], row[16], row[17], row[18] is not None)
            after = page[-1][0]

    def of(self, events: Sequence[str], last: int) -> Iterator[Row]:
        """Yield the records of some events up to number `last`, in order."""
        marks = ", ".join("?" * len(events))
        query = f"SELECT {COLUMNS} FROM records WHERE event IN ({marks}) AND seq <= ? ORDER BY seq"
        return (Row(*row) for row in self._connection.execute(query, (*events, last)))

    def row(self, seq: int) -> Row | None:
        """Return one record."""
        found = self.one(f"SELECT {COLUMNS} FROM records WHERE seq = ?", seq)
        return None if found is None else Row(*found)


_DAMAGED = (
    "end servers and runs that use it, and verify a copy that remit log backup made: "
    "remit log verify --file COPY --key log.pub"
)


@contextmanager
def opened(path: Path) -> Iterator[LogFile]:
    """Open a log file to read it; nothing is written, and others may go on writing.

    Raises:
        EvidenceError: there is none, it is damaged, or of another version.
    """
    import sqlite3

    if not path.is_file():
        raise EvidenceError(f"there is no log at {path}")
    try:
        connection = _connect(path)
    except sqlite3.Error as error:
        raise EvidenceError(f"{path} cannot be read: {error}", remedy=_DAMAGED) from error
    try:
        _check(connection, path)
        yield LogFile(connection)
    except sqlite3.Error as error:
        raise EvidenceError(f"{path} cannot be read: {error}", remedy=_DAMAGED) from error
    finally:
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    import sqlite3

    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:  # on a medium that nobody can write there is no place for a shared index
        connection.close()
        connection = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, isolation_level=None)
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise EvidenceError(f"{path} is no log of Remit")
    if version != VERSION:
        older = version < VERSION
        raise EvidenceError(
            f"{path} is of version {version}, and this Remit reads {VERSION}",
            remedy="any command that writes to it brings it up to date" if older else "upgrade Remit",
        )
