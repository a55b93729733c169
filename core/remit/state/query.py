"""Which records: filters turned into a query that walks the narrowest index.

Each filter has an index (filter, seq). Which of them is walked is measured, not guessed: a filter that fits few
records goes first, and the others are checked on what it finds. Times are turned into bounds of the sequence, so that
they narrow every index; a clock that stepped back only makes the bounds wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

ENOUGH = 30_000
"""As soon as a filter fits so many, it is as good as any other; counting them takes some 2 ms."""

WIDE = 100_000
"""Records from which on a span of time is not walked to find its bounds, where that can be left out."""

_COLUMNS = ("call", "session", "trace", "status", "verdict", "skill", "effect", "who")
_PARTIAL = frozenset({"call", "trace", "status", "verdict", "effect"})
_DOUBTED = (
    "seq IN (SELECT r.seq FROM open_calls AS o JOIN records AS r"
    " ON r.call = o.call AND r.call <> '' AND r.session = o.session WHERE o.state = 'lost')"
)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which records; what is left empty does not count.

    Attributes:
        session, skill, call, who, effect, verdict, status, trace: exactly this value.
        events: one of these; a name that ends in `.` stands for all that start with it.
        since, until: seconds since 1970, from and up to (not with).
        after, before: sequence numbers, both left out themselves; 0 for no bound.
        in_doubt: only of calls that were started, never ended, and not settled yet.
    """

    session: str = ""
    skill: str = ""
    call: str = ""
    who: str = ""
    effect: str = ""
    verdict: str = ""
    status: str = ""
    trace: str = ""
    events: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    after: int = 0
    before: int = 0
    in_doubt: bool = False


@dataclass(kw_only=True)
class Terms:
    """A condition in the making: lines that all hold, and their values."""

    lines: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, line: str, *values: Any) -> None:
        """Add a line and its values."""
        self.lines.append(line)
        self.values += values

    @property
    def where(self) -> str:
        """The WHERE clause, empty for none."""
        return f" WHERE {' AND '.join(self.lines)}" if self.lines else ""


def newest(connection: sqlite3.Connection) -> int:
    """Return the number of the newest record, 0 for none."""
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM records").fetchone()[0])


def bounds_of(connection: sqlite3.Connection, wanted: Wanted, *, newest_first: bool = False) -> tuple[int, int]:
    """Return the lowest and highest sequence number that can fit.

    Times are turned into them by a walk over their index. That is left out where the few that are wanted are found
    without: the newest since a time, or the oldest until one, where very many fit.
    """
    low = wanted.after + 1
    high = wanted.before - 1 if wanted.before else newest(connection)
    terms = Terms()
    if wanted.since is not None:
        terms.add("time >= ?", wanted.since)
    if wanted.until is not None:
        terms.add("time < ?", wanted.until)
    needed = wanted.until if newest_first else wanted.since
    if terms.lines and (needed is not None or _few(connection, terms)):
        query = f"SELECT min(seq), max(seq) FROM records INDEXED BY records_by_time{terms.where}"
        first, last = connection.execute(query, terms.values).fetchone()
        if first is None:
            return 1, 0
        low, high = max(low, first), min(high, last)
    return low, high


def _few(connection: sqlite3.Connection, terms: Terms) -> bool:
    inner = f"SELECT 1 FROM records INDEXED BY records_by_time{terms.where} LIMIT {WIDE}"
    return bool(connection.execute(f"SELECT count(*) FROM ({inner})", terms.values).fetchone()[0] < WIDE)


def terms_of(connection: sqlite3.Connection, wanted: Wanted, bounds: tuple[int, int]) -> Terms:
    """Return the terms of `wanted` within bounds of the sequence, for a query over `records`."""
    events = _events(connection, wanted.events)
    chosen = _narrowest(connection, wanted, events, bounds)
    terms = Terms()
    for column in _COLUMNS:
        value = getattr(wanted, column)
        if value:
            terms.add(_equal(column, indexed=column == chosen), storable(value))
    if events is not None:
        plus = "" if chosen == "event" else "+"
        terms.add(f"{plus}records.event IN ({', '.join('?' * len(events))})", *events)
    if wanted.in_doubt:
        terms.add(f"records.{_DOUBTED}")
    if wanted.since is not None:
        terms.add("+records.time >= ?", wanted.since)
    if wanted.until is not None:
        terms.add("+records.time < ?", wanted.until)
    terms.add("records.seq BETWEEN ? AND ?", *bounds)
    return terms


def _equal(column: str, *, indexed: bool) -> str:
    """Return the term for a filter; the plus sign keeps SQLite from walking its index."""
    if not indexed:
        return f"+records.{column} = ?"
    partial = f" AND records.{column} <> ''" if column in _PARTIAL else ""
    return f"records.{column} = ?{partial}"


def _narrowest(
    connection: sqlite3.Connection, wanted: Wanted, events: Sequence[str] | None, bounds: tuple[int, int]
) -> str:
    """Return the filter whose index is walked; empty for the sequence itself.

    A single event has an index, too. Several would have to be sorted, which pays for few records only.
    """
    sizes = {
        column: _count(connection, column, [getattr(wanted, column)], bounds)
        for column in _COLUMNS
        if getattr(wanted, column)
    }
    if events is not None:
        found = _count(connection, "event", events, bounds)
        if found < ENOUGH or len(events) == 1:
            sizes["event"] = found
    if wanted.in_doubt or not sizes:
        return ""
    return min(sizes, key=lambda column: sizes[column])


def _count(connection: sqlite3.Connection, column: str, values: Sequence[str], bounds: tuple[int, int]) -> int:
    partial = f" AND {column} <> ''" if column in _PARTIAL else ""
    inner = f"SELECT 1 FROM records WHERE {column} = ?{partial} AND seq BETWEEN ? AND ? LIMIT {ENOUGH}"
    total = 0
    for value in values:
        row = connection.execute(f"SELECT count(*) FROM ({inner})", (storable(value), *bounds)).fetchone()
        total += row[0]
        if total >= ENOUGH:
            break
    return total


def _events(connection: sqlite3.Connection, wanted: Sequence[str]) -> list[str] | None:
    """Return the full names of the events that are wanted, None for all."""
    if not wanted:
        return None
    names: list[str] = []
    for name in map(storable, wanted):
        if not name.endswith("."):
            names.append(name)
            continue
        query = "SELECT min(event) FROM records WHERE event > ? AND event < ?"
        found = name
        while (row := connection.execute(query, (found, name[:-1] + "/")).fetchone())[0] is not None:
            found = row[0]
            names.append(found)
    return sorted(set(names))


def storable(text: str) -> str:
    """Return `text` as it stands in the tables: SQLite takes no lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
