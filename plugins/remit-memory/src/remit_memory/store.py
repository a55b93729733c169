"""The memories of one person in one SQLite file, and the search by words."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from remit_memory.words import indexed, terms

FILE = "memory.db"
MOST_FOUND = 200
"""Memories that one search looks at, best first."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    created REAL NOT NULL,
    model TEXT NOT NULL DEFAULT '',
    vector BLOB
);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2');
"""
_FORM = 1
"""Form of the index, the file's `user_version`: it is made anew where it has an older one."""

_LARGEST = 2**63 - 1
_BUSY = 5.0


@dataclass(frozen=True)
class Memory:
    """One memory.

    Attributes:
        id: its number; a number is not used again.
        text: as it was given.
        session: id of the session in which it was given.
        created: seconds since 1970.
    """

    id: int
    text: str
    session: str
    created: float


class Store:
    """The file in the pack's own folder. Use it in a `with`; each such block is one transaction."""

    def __init__(self, folder: str | Path) -> None:
        """Name the folder; the file is made at first use."""
        self.path = Path(folder) / FILE

    @contextmanager
    def opened(self, *, reading: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file; what was changed is kept where nothing raises.

        It is closed afterwards: nothing else in this process may hold it while another SQLite reads it. To read, none
        is made: read-only mode lets nobody.
        """
        place = ":memory:" if reading and not self.path.exists() else self.path
        connection = sqlite3.connect(place, timeout=_BUSY)
        try:
            connection.executescript(_SCHEMA)
            connection.execute("PRAGMA secure_delete = ON")
            _bring_up_to_date(connection)
            with connection:
                yield connection
        finally:
            connection.close()

    def add(self, text: str, *, session: str, most: int) -> tuple[int, bool]:
        """Keep a text and return its number, and whether it is new; the same text is not kept twice.

        Raises:
            ValueError: there is no room.
        """
        with self.opened() as connection:
            known = connection.execute("SELECT id FROM memories WHERE text = ?", (text,)).fetchone()
            if known is not None:
                connection.execute("UPDATE memories SET created = ? WHERE id = ?", (time.time(), known[0]))
                return int(known[0]), False
            (count,) = connection.execute("SELECT count(*) FROM memories").fetchone()
            if count >= most:
                raise ValueError(f"there is no room: {most} memories are kept already; forget old ones first")
            row = (text, session, time.time())
            number = connection.execute("INSERT INTO memories (text, session, created) VALUES (?, ?, ?)", row).lastrowid
            connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, indexed(text)))
            return int(number or 0), True

    def newest(self, most: int, *, skip: int = 0) -> tuple[list[Memory], int]:
        """Return the newest memories but for the first so many, and how many there are."""
        with self.opened(reading=True) as connection:
            query = "SELECT id, text, session, created FROM memories ORDER BY created DESC, id DESC LIMIT ? OFFSET ?"
            found = [Memory(*row) for row in connection.execute(query, (most, min(skip, _LARGEST)))]
            (count,) = connection.execute("SELECT count(*) FROM memories").fetchone()
        return found, int(count)

    def with_ids(self, ids: Iterable[int]) -> list[Memory]:
        """Return these memories in this order; one that is not there is left out."""
        with self.opened(reading=True) as connection:
            query = "SELECT id, text, session, created FROM memories WHERE id = ?"
            rows = (connection.execute(query, (one,)).fetchone() for one in ids)
            return [Memory(*row) for row in rows if row is not None]

    def forget(self, *, ids: Sequence[int] = (), before: float | None = None, everything: bool = False) -> list[int]:
        """Remove memories and return their numbers; what they said is overwritten in the file."""
        with self.opened() as connection:
            found = set[int]()
            if everything:
                found |= {row[0] for row in connection.execute("SELECT id FROM memories")}
            elif before is not None:
                found |= {row[0] for row in connection.execute("SELECT id FROM memories WHERE created < ?", (before,))}
            for one in (one for one in ids if 0 < one <= _LARGEST):
                found |= {row[0] for row in connection.execute("SELECT id FROM memories WHERE id = ?", (one,))}
            gone = [(one,) for one in sorted(found)]
            connection.executemany("DELETE FROM memories WHERE id = ?", gone)
            connection.executemany("DELETE FROM words WHERE rowid = ?", gone)
            if gone:  # the index forgets only when its parts are merged
                connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        return sorted(found)

    def by_words(self, query: str) -> list[int]:
        """Return the numbers of memories that hold enough of the query's words, best first.

        Enough is a third of them, at least one; words such as `the` do not count.
        """
        wanted = terms(query)
        if not wanted:
            return []
        with self.opened(reading=True) as connection:
            held: dict[int, int] = {}
            for term in wanted:
                for (number,) in connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (f'"{term}"',)):
                    held[number] = held.get(number, 0) + 1
            either = " OR ".join(f'"{term}"' for term in wanted)
            ranked = connection.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (either, MOST_FOUND)
            )
            return [number for (number,) in ranked if 3 * held.get(number, 0) >= len(wanted)]

    def without_vector(self, model: str, most: int) -> list[Memory]:
        """Return memories that this model has not embedded yet, newest first."""
        with self.opened(reading=True) as connection:
            query = (
                "SELECT id, text, session, created FROM memories WHERE model <> ? OR vector IS NULL"
                " ORDER BY id DESC LIMIT ?"
            )
            return [Memory(*row) for row in connection.execute(query, (model, most))]

    def keep_vectors(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Keep what the model made of memories, by number; in read-only mode nothing is kept."""
        rows = [(model, vector, number) for number, vector in vectors]
        try:
            with self.opened() as connection:
                connection.executemany("UPDATE memories SET model = ?, vector = ? WHERE id = ?", rows)
        except sqlite3.OperationalError as error:
            if not _may_not_write(error):
                raise


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Index what is kept in the form in which it is searched now; in read-only mode it stays as it is."""
    if _form(connection) == _FORM:
        return
    try:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if _form(connection) == _FORM:  # another process came first
                return
            kept = connection.execute("SELECT id, text FROM memories").fetchall()
            connection.execute("DELETE FROM words")
            rows = ((number, indexed(text)) for number, text in kept)
            connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", rows)
            connection.execute(f"PRAGMA user_version = {_FORM}")
    except sqlite3.OperationalError as error:
        if not _may_not_write(error):
            raise


def _form(connection: sqlite3.Connection) -> int:
    (form,) = connection.execute("PRAGMA user_version").fetchone()
    return int(form)


def _may_not_write(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorname.startswith("SQLITE_READONLY")
