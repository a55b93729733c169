"""Labels of files: what was written into one is known when it is read again, in any session."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from remit.state.database import Database

if TYPE_CHECKING:
    import sqlite3

_ABOVE_SLASH = chr(ord("/") + 1)
_HALF = re.compile("[\ud800-\udfff]")
_WRITTEN_HALF = re.compile("\0(....)")


class FileLabels:
    """Keeping labels under the real path of a file or folder."""

    database: Database

    def label_files(self, paths: Collection[str], labels: Collection[str]) -> None:
        """Add labels to files; those that they have stay. Raises StateError."""

        def work(connection: sqlite3.Connection) -> None:
            for path in map(_written, paths):
                row = connection.execute("SELECT labels FROM file_labels WHERE path = ?", (path,)).fetchone()
                both = " ".join(sorted({*labels, *(row[0].split() if row else ())}))
                connection.execute("INSERT OR REPLACE INTO file_labels VALUES (?, ?, ?)", (path, both, time.time()))

        self.database.write(work)

    def labels_of_files(self, paths: Collection[str]) -> frozenset[str]:
        """Return the labels of these files, of the folders that they lie in, and of everything below them.

        What is there no longer has no labels any more: another file may come to stand in its place.

        Raises:
            StateError: they cannot be read.
        """
        found = [row for path in paths for row in self._at(path)]
        gone = {path for path, _ in found if not os.path.lexists(_read(path))}
        if gone:
            self.database.write(
                lambda c: c.executemany("DELETE FROM file_labels WHERE path = ?", [(path,) for path in gone])
            )
        return frozenset(label for path, labels in found if path not in gone for label in labels.split())

    def _at(self, path: str) -> list[tuple[str, str]]:
        path = _written(path)
        below = path.rstrip("/") + "/"
        above = [str(one) for one in PurePosixPath(path).parents]
        query = (
            f"SELECT path, labels FROM file_labels WHERE path IN (?{', ?' * len(above)}) OR (path >= ? AND path < ?)"
        )
        values = (path, *above, below, below[:-1] + _ABOVE_SLASH)
        return self.database.read(lambda connection: connection.execute(query, values).fetchall())


def _written(path: str) -> str:
    """Return a path as the table has it: a name that is no UTF-8 holds what SQLite does not take."""
    return _HALF.sub(lambda half: f"\0{ord(half[0]):04x}", path)


def _read(written: str) -> str:
    return _WRITTEN_HALF.sub(lambda half: chr(int(half[1], 16)), written)
