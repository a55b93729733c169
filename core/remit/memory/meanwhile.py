"""Two sessions and one fact: nothing that somebody else has written meanwhile is replaced or removed unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.errors import UsageError
from remit.extensions.values import ComparingStore
from remit.memory.fact import Fact, Origin

if TYPE_CHECKING:
    from remit.extensions.values import MemoryStore
    from remit.state.store import State

LOADED = "memory.loaded"
MEANWHILE = "memory.meanwhile"
"""A session was told that somebody else has changed a fact since it began."""

TICK = 1e-6
"""Seconds by which a fact is newer than what it replaces, whatever the clock says."""


def put(store: MemoryStore, who: str, fact: Fact, before: Fact | None) -> bool:
    """Keep a fact in the place of `before`; False where another one is there by now, if the store can tell."""
    if isinstance(store, ComparingStore):
        return store.replace(who, fact, before=before) is True
    store.put(who, fact)
    return True


def remove(store: MemoryStore, who: str, fact: Fact) -> bool:
    """Remove a fact as it was read; False where another one is there by now, if the store can tell."""
    if isinstance(store, ComparingStore):
        return store.remove(who, fact) is True
    store.forget(who, fact.name)
    return True


def check_seen(state: State, who: str, before: Fact | None, origin: Origin) -> None:
    """Refuse, once, what would change a fact that another session or the person wrote since this one began.

    Raises:
        UsageError: the session had not heard of it; now it has.
        StateError: the log cannot be read or written.
    """
    if before is None or origin.by == "person" or not origin.session:
        return
    root = state.root_of(origin.session)
    if before.origin.session and state.root_of(before.origin.session) == root:
        return
    if before.updated <= _heard(state, root, before.name):
        return
    told = {"updated": before.updated}
    state.append(MEANWHILE, session=root, call=origin.call, who=who, body=told, sealed={"name": before.name})
    now = f": it is {before.plain!r} now" if not before.labels else ""
    raise UsageError(
        f"{before.name} was changed elsewhere since this conversation began{now}. Nothing was done; call again if it "
        "is to be changed all the same",
        remedy=f"remit memory show {before.name}",
    )


def _heard(state: State, session: str, name: str) -> float:
    """Return when a session heard last what a fact is; what it was told of may come from a clock that is ahead."""
    for record in state.records(session=session, event="memory.", newest_first=True):
        if record.event == LOADED:
            return record.time
        if record.event == MEANWHILE and record.body.get("name") == name:
            return max(record.time, float(record.body.get("updated", 0.0)))
    return next((record.time for record in state.records(session=session)), 0.0)


def changed(name: str) -> UsageError:
    """Return the error that tells of a change at the same moment."""
    return UsageError(
        f"{name} was changed at the same moment by somebody else, so nothing was done; look at it, and try again if "
        "it is to be changed all the same",
        remedy=f"remit memory show {name}",
    )
