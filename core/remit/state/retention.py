"""How long what people said is kept: removal by age, by size and by person.

The records stay, and so does the proof: a record holds only a commitment to its payload. What goes is the payload with
its salt (without the salt not even a guess can be checked against the commitment), the transcripts, whole results,
cached results, and what settled sign-off requests showed. SQLite overwrites what it frees then (`secure_delete`), and
the write-ahead log is emptied afterwards. Pages that were freed earlier can hold older versions of a transcript until
they are used again: only `rewrite` takes those away.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from remit.state.database import Database
from remit_sandbox.canonical import canonical

if TYPE_CHECKING:
    import sqlite3

Why = Literal["age", "size", "person"]
"""Why a payload is gone."""

BATCH = 2_000
"""Payloads that one transaction removes, so that nobody has to wait for long."""

DAY = 86_400.0
MEGABYTE = 1_000_000

_COVERS_NOTHING = "(uses <= 0 OR revoked IS NOT NULL OR expires < CAST(strftime('%s', 'now') AS REAL))"
_SETTLED = "(state IN ('denied', 'expired', 'consumed') OR expires < CAST(strftime('%s', 'now') AS REAL))"
_PARKED = "status <> 'parked'"


@dataclass(frozen=True, kw_only=True)
class Removal:
    """What is, or would be, removed.

    Attributes:
        payloads: of records.
        bytes: that they, the transcripts and the results take.
        sessions: transcripts.
        results: whole results kept under handles.
        cached: cached results.
        requests: sign-off requests whose shown arguments go.
        facts: what is remembered of a person; only a person's own removal takes it, never age or size.
    """

    payloads: int = 0
    bytes: int = 0
    sessions: int = 0
    results: int = 0
    cached: int = 0
    requests: int = 0
    facts: int = 0

    @property
    def nothing(self) -> bool:
        """Nothing is left to remove."""
        return not any(vars(self).values())


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What goes: everything older than a time, or everything of one person, in one session or all.

    A transcript that is parked is not old: somebody may still answer. A person's goes all the same, and what was
    parked is refused then.
    """

    before: float | None = None
    who: str = ""
    session: str = ""

    def announced(self) -> dict[str, Any]:
        """Return what the record that announces the removal says of it: `remit log verify` goes by that."""
        return {"before": self.before} if self.before is not None else {"who": self.who, "session": self.session}

    def records(self, below: int | None = None) -> tuple[str, list[Any]]:
        """Return the term over `records` and its values; only those with a number below `below`, when it is given."""
        term, values = self._term("time", "records.")
        return (term, values) if below is None else (f"{term} AND records.seq < ?", [*values, below])

    def rows(self, clock: str, extra: str = "") -> tuple[str, list[Any]]:
        """Return the term over a table with `who` and `session`; `extra` counts only for what is removed by age."""
        term, values = self._term(clock, "")
        return (f"{term} AND {extra}" if extra and self.before is not None else term), values

    def cached(self) -> tuple[str, list[Any]]:
        """Return the term over `cache`, which knows no sessions: all of the person's goes."""
        return replace(self, session="").rows("expires") if self.who else self.rows("expires")

    def facts(self) -> tuple[str, list[Any]]:
        """Return the term over `facts`: a person's, with those that one session wrote where only that is meant."""
        if not self.who:
            return "0", []
        if not self.session:
            return "who = ?", [self.who]
        return "who = ? AND json_extract(CAST(origin AS TEXT), '$.session') = ?", [self.who, self.session]

    def _term(self, clock: str, table: str) -> tuple[str, list[Any]]:
        terms: dict[str, Any] = {}
        if self.before is not None:
            terms[f"{table}{clock} < ?"] = self.before
        if self.who:
            terms[f"{table}who = ?"] = self.who
        if self.session:
            terms[f"{table}session = ?"] = self.session
        if not terms:
            raise ValueError("a selection without a bound would be everything")
        return " AND ".join(terms), list(terms.values())


def before_size(database: Database, megabytes: float) -> float | None:
    """Return the time before which everything must go so that at most `megabytes` are left; None when it fits.

    Raises:
        StateError: the state cannot be read.
    """
    kept = (
        "SELECT r.time AS time, p.size AS size FROM payloads AS p JOIN records AS r USING (seq)"
        " WHERE p.data IS NOT NULL"
        " UNION ALL SELECT updated, (SELECT sum(length(body)) FROM messages WHERE session = id) FROM sessions"
        " UNION ALL SELECT max(b.created), length(c.data) FROM contents AS c JOIN blobs AS b USING (hash) GROUP BY hash"
    )
    running = f"SELECT time, sum(size) OVER (ORDER BY time DESC ROWS UNBOUNDED PRECEDING) AS total FROM ({kept})"
    query = f"SELECT max(time) FROM ({running}) WHERE total > ?"
    found = database.read(lambda c: c.execute(query, (megabytes * MEGABYTE,)).fetchone()[0])
    return None if found is None else float(found) + 1e-6


def would_remove(database: Database, selection: Selection) -> Removal:
    """Return what `remove` would remove now. Raises StateError."""
    return database.read(partial(_planned, selection=selection))


def remove(database: Database, selection: Selection, *, why: Why, announced: int | None = None) -> Removal:
    """Remove what `selection` says and return what was there.

    Write the record that announces it first (see `Selection.announced`): what is removed does not come back, and a
    payload that is gone without such a record is found by `remit log verify`.

    Args:
        database: of the state.
        selection: what goes.
        why: kept with each payload.
        announced: number of the record that announces it; payloads of later records stay.

    Raises:
        StateError: the state cannot be written; calling it again goes on.
    """
    planned = would_remove(database, selection)
    database.read(lambda connection: connection.execute("PRAGMA secure_delete = ON").fetchone())
    now = time.time()
    last: int | None = 0
    while last is not None:
        last = database.write(
            partial(_erase_payloads, selection=selection, after=last, now=now, why=why, below=announced)
        )
    database.write(partial(_remove_rest, selection=selection, now=now))
    return planned


def empty_wal(database: Database) -> bool:
    """Bring everything into the database file and empty the write-ahead log, which holds older pages.

    Returns:
        False when somebody reads at the moment; then the log is emptied after they have ended.

    Raises:
        StateError: the state cannot be written.
    """
    row = database.read(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
    return bool(row[0] == 0)


def rewrite(database: Database) -> None:
    """Rewrite the whole file, without what was ever freed in it; others wait meanwhile. Raises StateError."""
    database.read(lambda connection: connection.execute("VACUUM"))


def _planned(connection: sqlite3.Connection, *, selection: Selection) -> Removal:
    def count(query: str, term: tuple[str, Sequence[Any]]) -> tuple[int, int]:
        found = connection.execute(f"{query} WHERE {term[0]}", term[1]).fetchone()
        return int(found[0]), int(found[1] or 0)

    term, values = selection.records()
    payloads = count(
        "SELECT count(*), sum(size) FROM payloads JOIN records USING (seq)", (f"{term} AND data IS NOT NULL", values)
    )
    transcripts = "SELECT count(*), sum((SELECT sum(length(body)) FROM messages WHERE session = id)) FROM sessions"
    sessions = count(transcripts, _of_sessions(selection))
    results = count(
        "SELECT count(*), sum(length(data)) FROM blobs JOIN contents USING (hash)", selection.rows("created")
    )
    cached = count("SELECT count(*), 0 FROM cache", selection.cached())
    requests = count("SELECT count(*), 0 FROM signoffs", _of_requests(selection))
    facts = count("SELECT count(*), 0 FROM facts", selection.facts())
    return Removal(
        payloads=payloads[0],
        bytes=payloads[1] + sessions[1] + results[1],
        sessions=sessions[0],
        results=results[0],
        cached=cached[0],
        requests=requests[0],
        facts=facts[0],
    )


def _of_sessions(selection: Selection) -> tuple[str, list[Any]]:
    term, values = selection.rows("updated", _PARKED)
    return term.replace("session = ?", "id = ?"), values


def _of_requests(selection: Selection) -> tuple[str, list[Any]]:
    term, values = selection.rows("created", _SETTLED)
    return f"{term} AND json_extract(CAST(request AS TEXT), '$.erased') IS NULL", values


def _erase_payloads(
    connection: sqlite3.Connection, *, selection: Selection, after: int, now: float, why: Why, below: int | None
) -> int | None:
    """Erase the next payloads after a sequence number; return the last one, None when there are none left."""
    term, values = selection.records(below)
    query = (
        f"SELECT seq FROM payloads JOIN records USING (seq) WHERE seq > ? AND data IS NOT NULL AND {term}"
        f" ORDER BY seq LIMIT {BATCH}"
    )
    found = [row[0] for row in connection.execute(query, (after, *values))]
    erase = "UPDATE payloads SET data = NULL, salt = NULL, erased = ?, why = ? WHERE seq = ?"
    connection.executemany(erase, [(now, why, seq) for seq in found])
    return found[-1] if found else None


def _remove_rest(connection: sqlite3.Connection, *, selection: Selection, now: float) -> None:
    term, values = _of_sessions(selection)
    connection.execute(f"DELETE FROM messages WHERE session IN (SELECT id FROM sessions WHERE {term})", values)
    for table, (term, values) in {
        "answers": _of_answers(selection),
        "summaries": _of_answers(selection),
        "sessions": _of_sessions(selection),
        "blobs": selection.rows("created"),
    }.items():
        connection.execute(f"DELETE FROM {table} WHERE {term}", values)
    if not selection.session:
        term, values = selection.rows("created", _COVERS_NOTHING)
        connection.execute(f"DELETE FROM standing WHERE {term}", values)
    term, values = selection.facts()
    connection.execute(f"DELETE FROM facts WHERE {term}", values)
    connection.execute("DELETE FROM contents WHERE hash NOT IN (SELECT hash FROM blobs)")
    term, values = selection.cached()
    connection.execute(f"DELETE FROM cache WHERE {term}", values)
    term, values = _of_requests(selection)
    gone = canonical({"erased": now})
    state = "CASE WHEN state IN ('pending', 'approved') THEN 'expired' ELSE state END"
    connection.execute(f"UPDATE signoffs SET request = ?, state = {state} WHERE {term}", (gone, *values))


def _of_answers(selection: Selection) -> tuple[str, list[Any]]:
    """Answers that hold for a session go with the session, and so do summaries of it."""
    term, values = _of_sessions(selection)
    return f"session IN (SELECT id FROM sessions WHERE {term})", values
