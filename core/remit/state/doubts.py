"""Calls that were started and never finished: lost with their process, in doubt until somebody settles them.

`open_calls` follows from the records: `call.started` opens a call and `call.finished` closes it, each in the
transaction of its record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from remit.state.chain import Chain, Entry, prepared
from remit.state.database import Database
from remit.state.owner import Owner, is_alive

if TYPE_CHECKING:
    import sqlite3

_COLUMNS = "seq, session, call, skill, who, effect, action, key, owner, time"


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """A call of which nobody knows whether it was done.

    Attributes:
        seq: number of its record `call.started`.
        session, call, skill, who, effect: of the call.
        action: digest of what it was to do; the same call asked again has the same.
        key: its idempotency key.
        owner: the process that started it.
        time: when it was started, seconds since 1970.
    """

    seq: int
    session: str
    call: str
    skill: str
    who: str
    effect: str
    action: str
    key: str
    owner: str
    time: float


class Doubts:
    """Finding lost calls, and settling them."""

    database: Database
    folder: Path
    owner: Owner

    def find_lost(self) -> tuple[Doubt, ...]:
        """Write `call.lost` for every started call whose process is gone; return those.

        Calls of a live process are left alone. A lost call that only read is in no doubt.

        Raises:
            StateError: it cannot be read or written.
        """
        gone = [doubt for doubt in self._open("running") if not is_alive(self.folder, doubt.owner)]
        if not gone:
            return ()

        def work(connection: sqlite3.Connection) -> list[Doubt]:
            chain = Chain(connection, self.database.scratch)
            return [doubt for doubt in gone if _lose(connection, chain, doubt)]

        return tuple(self.database.write(work))

    def in_doubt(self) -> tuple[Doubt, ...]:
        """Return the lost calls that nobody has settled, oldest first.

        Raises:
            StateError: they cannot be read.
        """
        return self._open("lost")

    def doubt_about(self, action: str) -> Doubt | None:
        """Return a lost call that was to do exactly this, or None.

        Raises:
            StateError: it cannot be read.
        """
        return next(iter(self._open("lost", action)), None)

    def settle(
        self, doubt: Doubt, *, done: bool | None, by: str, how: Literal["person", "retry"] = "person", note: str = ""
    ) -> bool:
        """Write `call.settled`; False when somebody else was first.

        Args:
            doubt: the call.
            done: whether it had been done; None where a retry makes that of no matter.
            by: who says so.
            how: a person looked, or the call was made again with the same key.
            note: the person's words.

        Raises:
            StateError: it cannot be written.
        """
        entry = prepared(
            _entry(doubt, "call.settled", {"started": doubt.seq, "done": done, "by": by, "how": how}, note)
        )

        def work(connection: sqlite3.Connection) -> bool:
            gone = connection.execute("DELETE FROM open_calls WHERE seq = ? AND state = 'lost'", (doubt.seq,))
            if not gone.rowcount:
                return False
            Chain(connection, self.database.scratch).add(entry)
            return True

        return self.database.write(work)

    def _open(self, state: str, action: str | None = None) -> tuple[Doubt, ...]:
        query = f"SELECT {_COLUMNS} FROM open_calls WHERE state = ? AND (? IS NULL OR action = ?) ORDER BY seq"
        rows = self.database.read(lambda connection: connection.execute(query, (state, action, action)).fetchall())
        return tuple(map(_doubt, rows))


def _lose(connection: sqlite3.Connection, chain: Chain, doubt: Doubt) -> bool:
    if doubt.effect == "read":
        change = connection.execute("DELETE FROM open_calls WHERE seq = ? AND state = 'running'", (doubt.seq,))
    else:
        query = "UPDATE open_calls SET state = 'lost' WHERE seq = ? AND state = 'running'"
        change = connection.execute(query, (doubt.seq,))
    if not change.rowcount:
        return False
    chain.add(prepared(_entry(doubt, "call.lost", {"started": doubt.seq, "key": doubt.key, "owner": doubt.owner})))
    return True


def _entry(doubt: Doubt, event: str, body: dict[str, Any], note: str = "") -> Entry:
    return Entry(
        event=event,
        session=doubt.session,
        skill=doubt.skill,
        call=doubt.call,
        who=doubt.who,
        effect=doubt.effect,
        status="lost" if event == "call.lost" else "",
        body=body,
        sealed={"note": note} if note else {},
    )


def _doubt(row: Sequence[Any]) -> Doubt:
    seq, session, call, skill, who, effect, action, key, owner, time = row
    return Doubt(
        seq=seq,
        session=session,
        call=call,
        skill=skill,
        who=who,
        effect=effect,
        action=action,
        key=key,
        owner=owner,
        time=time,
    )
