"""What was used: calls by skill since a moment, counted from the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from remit.state.store import State

_STARTED = "call.started"
_DENIED = "sandbox.denied"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """How a skill was used.

    Attributes:
        calls: that ran since the moment asked for.
        denied: times that its cell was refused something since then.
        last: when it last ran, seconds since 1970, however long ago; None when the log knows of no time.
    """

    calls: int = 0
    denied: int = 0
    last: float | None = None


def usage_since(state: State, moment: float) -> dict[str, Usage]:
    """Return full name of each skill that ever ran to its usage.

    Args:
        state: of the deployment.
        moment: seconds since 1970; what happened before counts only for `last`.

    Raises:
        StateError: the log cannot be read.
    """

    def read(connection: sqlite3.Connection) -> dict[str, Usage]:
        query = (
            "SELECT skill, SUM(event = ? AND time >= ?), SUM(event = ? AND time >= ?), "
            "MAX(CASE WHEN event = ? THEN time END) FROM records WHERE event IN (?, ?) GROUP BY skill"
        )
        values = (_STARTED, moment, _DENIED, moment, _STARTED, _STARTED, _DENIED)
        rows = connection.execute(query, values).fetchall()
        return {skill: Usage(calls=calls, denied=denied, last=last) for skill, calls, denied, last in rows}

    return state.database.read(read)


def first_record(state: State) -> float | None:
    """Return when the log begins, seconds since 1970; None for an empty one."""

    def read(connection: sqlite3.Connection) -> float | None:
        row = connection.execute("SELECT time FROM records ORDER BY seq LIMIT 1").fetchone()
        return None if row is None else float(row[0])

    return state.database.read(read)
