"""What a session was granted: kept with the session and gone with it; every change is a record of the log."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from remit.skills import Skill
from remit.state.records import Record
from remit.state.store import State

How = Literal["chosen", "confirmed"]
"""`chosen`: a person named the skills. `confirmed`: the model proposed them, and a person agreed.

The log also has `void`: skills became others, and the session has only the rest."""

_GRANTED, _PROPOSED = "session.granted", "session.proposed"


@dataclass(frozen=True, kw_only=True)
class Grants:
    """How far the grants of a session have come.

    Attributes:
        granted: full names, None where nobody chose or confirmed any.
        proposed: what the model proposed, None where it was not asked.
        void: full names of what was granted and is no longer, because the skill became another.
    """

    granted: frozenset[str] | None = None
    proposed: frozenset[str] | None = None
    void: frozenset[str] = frozenset()
    _bound: Mapping[str, str] = field(default_factory=dict, repr=False)

    def changed(self, skills: Mapping[str, Skill]) -> frozenset[str]:
        """Return what was granted and is another skill by now; one that is not here is still the same.

        Args:
            skills: full name to skill, as they are now.
        """
        held = self.granted or frozenset()
        return frozenset(name for name in held if name in skills and self._bound.get(name) != _identity(skills[name]))


def grants_of(state: State, session: str) -> Grants:
    """Return what a session was granted. Raises StateError."""
    granted, proposed = _kept(state, session, _GRANTED), _kept(state, session, _PROPOSED)
    return Grants(
        granted=_names(granted),
        proposed=_names(proposed),
        void=frozenset((granted or {}).get("void", ())),
        _bound=(granted or {}).get("bound", {}),
    )


def _identity(skill: Skill) -> str:
    """Return what a grant is bound to: an upgrade or a change of the skill gives another."""
    impact = ",".join(sorted(skill.impact))
    return " ".join((skill.version, skill.hash, skill.effect, impact))


def _names(kept: Mapping[str, Any] | None) -> frozenset[str] | None:
    return None if kept is None else frozenset(kept["skills"])


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


def grant(state: State, session: str, skills: Iterable[Skill], *, how: How) -> None:
    """Give a session these skills, as they are now, beside those that it was granted before.

    Raises:
        StateError: it cannot be written; then the session has no more than before.
    """
    before, new = grants_of(state, session), {skill.full: _identity(skill) for skill in skills}
    bound = {**{name: before._bound[name] for name in before.granted or () if name in before._bound}, **new}
    names = (before.granted or frozenset()) | new.keys()
    _keep(state, session, _GRANTED, names, {"bound": bound, "void": sorted(before.void - new.keys())}, how=how)


def take_back(state: State, session: str, skills: Collection[str]) -> None:
    """Take from a session what was granted to it, because these skills became others. Raises StateError."""
    before = grants_of(state, session)
    left = (before.granted or frozenset()) - frozenset(skills)
    bound = {name: before._bound[name] for name in left if name in before._bound}
    _keep(state, session, _GRANTED, left, {"bound": bound, "void": sorted({*before.void, *skills})}, how="void")


def propose(state: State, session: str, skills: Collection[str]) -> None:
    """Keep what the model proposed, so that a run that goes on asks for the very same. Raises StateError."""
    _keep(state, session, _PROPOSED, skills)


def _keep(
    state: State, session: str, event: str, skills: Collection[str], more: Mapping[str, Any] | None = None, **also: str
) -> None:
    names = sorted(skills)
    state.append(event, session=session, body={"skills": names, **also})
    state.remember_answer(session, event, "allowed", json.dumps({"who": state.who, "skills": names, **(more or {})}))


def _kept(state: State, session: str, event: str) -> dict[str, Any] | None:
    """Return what was kept; nothing of what somebody else had under the same id, where no session came of it."""
    known = state.remembered_answer(session, event)
    kept: dict[str, Any] | None = json.loads(known[1]) if known is not None else None
    if kept is None or (kept["who"] and state.who and kept["who"] != state.who):
        return None
    return kept
