"""How long a run took that was left, as far as the log says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.state.records import Record
    from remit.state.store import State

_GOING_ON = frozenset({"call.started", "call.finished"})


def elapsed(state: State, session: str) -> float:
    """Return the seconds that the last run of a session took, without those in which it waited to be gone on with.

    Each record of a run says what it had taken until then. Calls that came after the last one, and turns in tasks
    that they gave, were made by a process that died before it could say more: their time is added.

    Raises:
        StateError: the log cannot be read.
    """
    last = max(_own(state, session), key=lambda record: record.seq, default=None)
    if last is None:
        return 0.0
    seconds = float(last.body["seconds"])
    if last.event == "run.ended":
        return seconds
    times = [record.time for record in _later(state, session, last.seq)]
    return seconds + max(0.0, max(times, default=last.time) - last.time)


def _own(state: State, session: str) -> Iterator[Record]:
    for event in ("turn.", "run."):
        found = state.records(session=session, event=event, newest_first=True)
        yield from (record for record in [next((one for one in found if "seconds" in one.body), None)] if record)


def _later(state: State, session: str, after: int) -> Iterator[Record]:
    """Yield what runs recorded after a record, in a session and in the tasks that were given in it."""
    calls = state.records(session=session, event="call.", after=after)
    yield from (record for record in calls if record.event in _GOING_ON)
    for task in state.children_of(session):
        turns = (state.records(session=task.id, event=event, after=after) for event in ("turn.", "run."))
        yield from chain(_later(state, task.id, after), *turns)
