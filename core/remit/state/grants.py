"""What a session was granted: kept with the session and gone with it; every change is a record of the log."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from remit.state.records import Record
from remit.state.store import State

How = Literal["chosen", "confirmed"]
"""`chosen`: a person named the skills. `confirmed`: the model proposed them, and a person agreed."""

_GRANTED, _PROPOSED = "session.granted", "session.proposed"


@dataclass(frozen=True, kw_only=True)
class Grants:
    """How far the grants of a session have come.

    Attributes:
        granted: full names, None where nobody chose or confirmed any.
        proposed: what the model proposed, None where it was not asked.
    """

    granted: frozenset[str] | None = None
    proposed: frozenset[str] | None = None


def grants_of(state: State, session: str) -> Grants:
    """Return what a session was granted. Raises StateError."""
    return Grants(granted=_kept(state, session, _GRANTED), proposed=_kept(state, session, _PROPOSED))


def copies_granted(state: State, session: str) -> bool:
    """Tell whether a session is a copy of one that was granted some skills, and so had no others. Raises StateError."""
    before = 0
    while True:
        copied = _newest(state, session, "session.copied", before)
        if copied is None:
            return False
        session, before = str(copied.body.get("of", "")), copied.seq
        if _newest(state, session, _GRANTED, before) is not None:
            return True


def _newest(state: State, session: str, event: str, before: int) -> Record | None:
    return next(iter(state.records(session=session, event=event, newest_first=True, limit=1, after=before)), None)


def grant(state: State, session: str, skills: Collection[str], *, how: How) -> None:
    """Give a session these skills from now on, of those that do more than read.

    Raises:
        StateError: it cannot be written; then the session has no more than before.
    """
    _keep(state, session, _GRANTED, skills, how=how)


def propose(state: State, session: str, skills: Collection[str]) -> None:
    """Keep what the model proposed, so that a run that goes on asks for the very same. Raises StateError."""
    _keep(state, session, _PROPOSED, skills)


def _keep(state: State, session: str, event: str, skills: Collection[str], **also: str) -> None:
    names = sorted(skills)
    state.append(event, session=session, body={"skills": names, **also})
    state.remember_answer(session, event, "allowed", json.dumps({"who": state.who, "skills": names}))


def _kept(state: State, session: str, event: str) -> frozenset[str] | None:
    """Return what was kept; nothing of what somebody else had under the same id, where no session came of it."""
    known = state.remembered_answer(session, event)
    kept = json.loads(known[1]) if known is not None else None
    if kept is None or (kept["who"] and state.who and kept["who"] != state.who):
        return None
    return frozenset(kept["skills"])
