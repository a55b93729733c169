"""What one run may do beside what its agent may: less, or in a certain way."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from remit.errors import UsageError
from remit.loop.answer_type import AnswerType
from remit.skills import READ_RESULT, Skill
from remit.state.store import State

FIRST = ("auto", "required", "none")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of one run; they only narrow.

    Attributes:
        skills: full names of the skills that may be called, `remit.read_result` aside; None for all of the agent's.
        required: full names of skills without a call of which no answer counts.
        first: what the first model turn does: `auto` leaves it to the model, `required` calls some skill, `none`
            answers in words, a full name calls that skill.
        answer: the type of the answer; None for any text.
        attached: texts that come with the question, and are not the person's own words.
        own_words: the question itself is; False for one that was pasted or came through a pipe.
    """

    skills: frozenset[str] | None = None
    required: tuple[str, ...] = ()
    first: str = "auto"
    answer: AnswerType | None = None
    attached: tuple[str, ...] = ()
    own_words: bool = True

    def within(self, skills: frozenset[str] | None) -> Terms:
        """Return these terms with no other skills than `skills`; None leaves them as they are."""
        if skills is None:
            return self
        return replace(self, skills=skills if self.skills is None else self.skills & skills)


class Asked(TypedDict, total=False):
    """What `Agent.run` and its kin take of terms; see `terms_for`."""

    skills: Iterable[str] | None
    without: Iterable[str]
    required: Iterable[str]
    first: str
    answer_type: object
    attached: Iterable[str]
    own_words: bool


FREE = Terms()
"""Terms that ask for nothing."""


def terms_for(
    known: Mapping[str, Skill],
    *,
    skills: Iterable[str] | None = None,
    without: Iterable[str] = (),
    required: Iterable[str] = (),
    first: str = "auto",
    answer_type: object = None,
    attached: Iterable[str] = (),
    own_words: bool = True,
) -> Terms:
    """Return the terms of a run.

    Args:
        known: the agent's skills.
        skills: names of skills or whole packs that may be called; None for all.
        without: names of skills or packs that may not.
        required: names of skills that must be called.
        first: see `Terms`.
        answer_type: type of the answer; None for text.
        attached: texts that come with the question: the model reads them, and for provenance nothing in them is
            the person's own words.
        own_words: False for a question that was pasted as a whole.

    Raises:
        UsageError: a name that no skill of the agent has, a contradiction, or a type that cannot be asked for.
    """
    kept = None
    dropped = _named(without, known)
    if skills is not None or dropped:
        kept = (_named(skills, known) if skills is not None else frozenset(known)) - dropped
    must = _named(required, known, whole_packs=False)
    if first not in FIRST:
        must_be_first = _named([first], known, whole_packs=False)
        (first,) = must_be_first
    open_ = frozenset(known) if kept is None else kept
    for name in sorted(must | ({first} - set(FIRST))):
        if name not in open_:
            raise UsageError(f"{name} is asked for, but this run may not call it", remedy="add it to skills=")
    if first == "none" and must:
        raise UsageError('first="none" lets no skill be called, but some are required')
    if first == "required" and not open_ - {READ_RESULT}:
        raise UsageError('first="required" asks for a call, but there is no skill to call')
    return Terms(
        skills=kept,
        required=tuple(sorted(must)),
        first=first,
        answer=AnswerType(answer_type) if answer_type is not None else None,
        attached=(attached,) if isinstance(attached, str) else tuple(attached),
        own_words=own_words,
    )


def narrowed(known: Mapping[str, Skill], names: frozenset[str] | None) -> dict[str, Skill]:
    """Return the skills that a run with `names` may call; what nobody knows any more is left out."""
    return {full: skill for full, skill in known.items() if names is None or full in names}


def narrowed_before(state: State, session: str) -> frozenset[str] | None:
    """Return the skills that the last run of a session was narrowed to, None when it had all of its agent's.

    Raises:
        StateError: the log cannot be read.
    """
    last = next(iter(state.records(session=session, event="run.started", newest_first=True, limit=1)), None)
    names = last.body.get("skills") if last is not None else None
    return frozenset(map(str, names)) if isinstance(names, list) else None


def _named(names: Iterable[str], known: Mapping[str, Skill], *, whole_packs: bool = True) -> frozenset[str]:
    if isinstance(names, str):
        raise UsageError(f"a list of names is due, not the text {names!r}", remedy=f"write [{names!r}]")
    found: set[str] = set()
    for name in names:
        own = {full for full, skill in known.items() if name in (full, skill.wire)}
        if not own and whole_packs:
            own = {full for full, skill in known.items() if skill.pack == name}
        if not own:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            raise UsageError(
                f"this agent has no skill {name!r}" + (f"; did you mean {close[0]}?" if close else ""),
                remedy=f"its skills: {', '.join(sorted(known)) or 'none'}",
            )
        found |= own
    return frozenset(found)
