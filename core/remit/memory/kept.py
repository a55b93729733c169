"""Facts in `state.db`: the store that is used unless the deployment names another one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from remit.errors import StateError
from remit.memory.fact import Fact

if TYPE_CHECKING:
    from remit.state.store import State

_COLUMNS = "name, kind, value, labels, origin, created, updated"


class StateFacts:
    """The table `facts` of a state, as a `remit.extensions.values.MemoryStore`."""

    def __init__(self, state: State) -> None:
        """Name the state; nothing is opened yet."""
        self._database = state.database

    def facts(self, who: str) -> Sequence[Fact]:
        """Return what is remembered of one person. Raises StateError."""
        query = f"SELECT {_COLUMNS} FROM facts WHERE who = ? ORDER BY name"
        return tuple(map(_fact, self._database.read(lambda c: c.execute(query, (who,)).fetchall())))

    def people(self) -> Sequence[str]:
        """Return of whom something is remembered. Raises StateError."""
        query = "SELECT DISTINCT who FROM facts ORDER BY who"
        return tuple(row[0] for row in self._database.read(lambda c: c.execute(query).fetchall()))

    def put(self, who: str, fact: Fact) -> None:
        """Keep a fact, in place of one of its name. Raises StateError."""
        query = f"INSERT OR REPLACE INTO facts (who, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._database.write(lambda c: c.execute(query, _row(who, fact)))

    def replace(self, who: str, fact: Fact, *, before: Fact | None) -> bool:
        """Keep a fact where `before` is still what is there, in one transaction. Raises StateError."""
        row = _row(who, fact)
        if before is None:
            query = f"INSERT INTO facts (who, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        else:
            columns = " = ?, ".join(("who", *_COLUMNS.split(", ")))
            query = f"UPDATE facts SET {columns} = ? WHERE who = ? AND name = ? AND updated = ?"
            row = (*row, who, fact.name, before.updated)
        return self._database.write(lambda c: c.execute(query, row).rowcount) == 1

    def forget(self, who: str, name: str) -> None:
        """Remove a fact; what it said is overwritten on the disk. Raises StateError."""
        self._erase("who = ? AND name = ?", (who, name))

    def remove(self, who: str, fact: Fact) -> bool:
        """Remove a fact as `forget` does, if it is still there as it was read. Raises StateError."""
        gone = self._erase("who = ? AND name = ? AND updated = ?", (who, fact.name, fact.updated))
        return gone or all(one.name != fact.name for one in self.facts(who))

    def _erase(self, which: str, values: tuple[str | float, ...]) -> bool:
        self._database.read(lambda c: c.execute("PRAGMA secure_delete = ON").fetchone())
        return self._database.write(lambda c: c.execute(f"DELETE FROM facts WHERE {which}", values).rowcount) > 0


def _row(who: str, fact: Fact) -> tuple[Any, ...]:
    body = fact.to_json()
    value = json.dumps(body["value"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    labels, origin = " ".join(body["labels"]), json.dumps(body["origin"]).encode()
    return (who, fact.name, fact.kind, value, labels, origin, fact.created, fact.updated)


def _fact(row: tuple[Any, ...]) -> Fact:
    name, kind, value, labels, origin, created, updated = row
    try:
        return Fact.from_json(
            {
                "name": name,
                "kind": kind,
                "value": json.loads(value.decode("utf-8", "surrogatepass")),
                "labels": labels.split(),
                "origin": json.loads(origin),
                "created": created,
                "updated": updated,
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"the fact {name} in state.db cannot be read: {error}") from error
