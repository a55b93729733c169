"""The search by meaning, by sqlite-vec: loaded where this Python can load it, through APSW where it cannot."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Rows = list[tuple[int, float]]
Search = Callable[[Path, str, tuple[Any, ...]], Rows]

_NEAREST = (
    "SELECT id, 1 - vec_distance_cosine(vector, ?1) AS near FROM memories"
    " WHERE model = ?2 AND length(vector) = length(?1) AND near >= ?3 ORDER BY near DESC LIMIT ?4"
)


class NoVectors(Exception):
    """This Python cannot search by meaning; the message says what is missing."""


def by_meaning(file: Path, vector: bytes, *, model: str, floor: float, most: int) -> list[int]:
    """Return the numbers of the memories nearest in meaning, nearest first.

    Args:
        file: of the store; nothing else in this process may have it open.
        vector: what is looked for.
        model: that made the vectors to compare with.
        floor: similarity below which nothing is found.
        most: how many at most.

    Raises:
        NoVectors: sqlite-vec cannot be loaded.
    """
    return [number for number, _ in _search()(file, _NEAREST, (vector, model, floor, most))]


def require_vectors() -> None:
    """Raise NoVectors where sqlite-vec cannot be loaded."""
    _search()


def _search() -> Search:
    found = find_spec("sqlite_vec")
    if found is None or found.origin is None:
        raise NoVectors("sqlite-vec is not installed (pip install 'remit-memory[vectors]')")
    library = str(Path(found.origin).parent / "vec0")
    failed = []
    for load in _loaders():
        try:
            return load(library)
        except Exception as error:  # whatever a foreign library raises when it is loaded
            failed.append(str(error))
    missing = failed[-1] if failed else "this Python cannot load SQLite extensions, and APSW is not installed"
    raise NoVectors(f"sqlite-vec cannot be loaded: {missing} (pip install 'remit-memory[vectors]')")


def _loaders() -> Iterator[Callable[[str], Search]]:
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        yield _with_sqlite3
    if find_spec("apsw") is not None:
        yield _with_apsw


def _with_sqlite3(library: str) -> Search:
    def connected(file: Path | str) -> sqlite3.Connection:
        connection = sqlite3.connect(file)
        connection.enable_load_extension(True)
        connection.load_extension(library)
        connection.enable_load_extension(False)
        return connection

    def search(file: Path, query: str, values: tuple[Any, ...]) -> Rows:
        with closing(connected(file)) as connection:
            return connection.execute(query, values).fetchall()

    connected(":memory:").close()
    return search


def _with_apsw(library: str) -> Search:
    import apsw

    def connected(file: Path | str) -> Any:
        connection = apsw.Connection(str(file))
        connection.enable_load_extension(True)
        connection.load_extension(library)
        connection.enable_load_extension(False)
        return connection

    def search(file: Path, query: str, values: tuple[Any, ...]) -> Rows:
        with closing(connected(file)) as connection:
            return list(connection.execute(query, values))

    connected(":memory:").close()
    return search
