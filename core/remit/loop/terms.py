"""What one run may do beside what its agent may: less, or in a certain way."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from remit.errors import UsageError
from remit.loop.answer_schema import answer_of
from remit.loop.answer_type import AnswerType
from remit.loop.guards import Limits
from remit.skills import DELEGATE, READ_RESULT, Skill
from remit.state.records import Record
from remit.state.store import State

FIRST = ("auto", "required", "none")
_LABELS = ("private", "untrusted")


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
        attached_labels: labels that those texts have beside `untrusted`, as the files have that they come from.
        images: handles of images that come with it, see `remit.loop.sight.keep_image`.
        own_words: the question itself is; False for one that was pasted or came through a pipe.
        grant: full names of skills that a person chose for the session, from now on; None where nobody chose.
        granted: full names of what the session has; None where it has all of its agent's.
        max_steps: most model turns; None for as many as the agent has.
        withdraw: what waits for a person in the session is taken back for the question; else that is refused.
    """

    skills: frozenset[str] | None = None
    required: tuple[str, ...] = ()
    first: str = "auto"
    answer: AnswerType | None = None
    attached: tuple[str, ...] = ()
    attached_labels: frozenset[str] = frozenset()
    images: tuple[str, ...] = ()
    own_words: bool = True
    grant: frozenset[str] | None = None
    granted: frozenset[str] | None = None
    max_steps: int | None = None
    withdraw: bool = False

    @property
    def open(self) -> frozenset[str] | None:
        """Full names of the skills that can be called, None for all: what the run may and the session has."""
        if self.skills is None or self.granted is None:
            return self.granted if self.skills is None else self.skills
        return self.skills & self.granted

    @property
    def demanded(self) -> frozenset[str]:
        """Full names of the skills that must be called."""
        return frozenset((*self.required, *({self.first} - set(FIRST))))

    def limited(self, limits: Limits) -> Limits:
        """Return the limits of an agent, with no more steps than these terms have."""
        return limits if self.max_steps is None else replace(limits, steps=min(limits.steps, self.max_steps))

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
    attached_labels: Iterable[str]
    images: Iterable[str]
    own_words: bool
    grant: Iterable[str] | None
    max_steps: int | None
    withdraw: bool


FREE = Terms()
"""Terms that ask for nothing."""


def terms_for(
    known: Mapping[str, Skill],
    *,
    below: Mapping[str, Skill] | None = None,
    skills: Iterable[str] | None = None,
    without: Iterable[str] = (),
    required: Iterable[str] = (),
    first: str = "auto",
    answer_type: object = None,
    attached: Iterable[str] = (),
    attached_labels: Iterable[str] = (),
    images: Iterable[str] = (),
    own_words: bool = True,
    grant: Iterable[str] | None = None,
    max_steps: int | None = None,
    withdraw: bool = False,
) -> Terms:
    """Return the terms of a run.

    Args:
        known: the agent's skills.
        below: skills of the agents that it delegates to: names may be of them, too, but not that of `first`.
        skills: names of skills or whole packs that may be called; None for all.
        without: names of skills or packs that may not.
        required: names of skills that must be called.
        first: see `Terms`.
        answer_type: type of the answer, or a JSON Schema of it; None for text.
        attached: texts that come with the question: the model reads them, and for provenance nothing in them is
            the person's own words.
        attached_labels: labels of those texts beside `untrusted`: `private`.
        images: handles of images of the same session that come with it; models that take none are told of them only.
        own_words: False for a question that was pasted as a whole.
        grant: names of skills or packs that a person chose for the session: beside the skills that read, it has
            these from now on, and what it was granted before.
        max_steps: most model turns of this run; the agent's own limit holds, too.
        withdraw: see `Terms`.

    Raises:
        UsageError: a name that no skill of the agent has, a contradiction, or a type that cannot be asked for.
    """
    if max_steps is not None and max_steps < 1:
        raise UsageError(f"max_steps is {max_steps}, but a run has at least one step")
    every = {**(below or {}), **known}
    kept = None
    dropped = _named(without, every)
    if skills is not None or dropped:
        kept = (_with_delegate(_named(skills, every), known) if skills is not None else frozenset(every)) - dropped
    must = _named(required, every, whole_packs=False)
    if first not in FIRST:
        must_be_first = _named([first], every, whole_packs=False)
        (first,) = must_be_first
    open_ = frozenset(every) if kept is None else kept
    for name in sorted(must | ({first} - set(FIRST))):
        if name not in open_ or (name not in known and DELEGATE not in open_):
            raise UsageError(f"{name} is asked for, but this run may not call it", remedy="add it to skills=")
    if first not in FIRST and first not in known:
        raise UsageError(
            f"first={first!r}: only agents that this one delegates to call it",
            remedy=f"first={DELEGATE!r}, and required=[{first!r}]",
        )
    if first == "none" and must:
        raise UsageError('first="none" lets no skill be called, but some are required')
    if first == "required" and not open_ - {READ_RESULT}:
        raise UsageError('first="required" asks for a call, but there is no skill to call')
    return Terms(
        skills=kept,
        grant=_named(grant, every) if grant is not None else None,
        required=tuple(sorted(must)),
        first=first,
        answer=answer_of(answer_type),
        max_steps=max_steps,
        withdraw=withdraw,
        attached=(attached,) if isinstance(attached, str) else tuple(attached),
        attached_labels=_labels(attached_labels),
        images=_handles(images),
        own_words=own_words,
    )


def _with_delegate(names: frozenset[str], known: Mapping[str, Skill]) -> frozenset[str]:
    """Return names with `remit.delegate` where some of them are only called by the agents below."""
    return names | ({DELEGATE} if names - known.keys() else frozenset())


def _labels(given: Iterable[str]) -> frozenset[str]:
    """Return labels. Raises UsageError for what is none."""
    labels = frozenset((given,) if isinstance(given, str) else given)
    if unknown := sorted(map(str, labels.difference(_LABELS))):
        raise UsageError(f"there is no label {unknown[0]!r}", remedy=f"labels are {', '.join(_LABELS)}")
    return labels


def _handles(images: Iterable[str]) -> tuple[str, ...]:
    """Return the handles of images. Raises UsageError for what is none: an image itself, for one."""
    handles = (images,) if isinstance(images, (str, bytes)) else tuple(images)
    for one in handles:
        if not isinstance(one, str):
            raise UsageError(
                f"images= takes handles of images, not {type(one).__name__}",
                remedy="keep_image(agent.state, SESSION, media_type, data) of remit.loop.sight gives a handle",
            )
    return tuple(one for one in handles if isinstance(one, str))


def narrowed(known: Mapping[str, Skill], names: frozenset[str] | None) -> dict[str, Skill]:
    """Return the skills that a run with `names` may call; what nobody knows any more is left out."""
    return {full: skill for full, skill in known.items() if names is None or full in names}


def going_on(terms: Terms, state: State, session: str) -> Terms:
    """Return the terms of a run that goes on with `session`: no skill more than the last one had.

    One that was interrupted, or waits for a person, also has what that one was bound to; `terms` may add to it. The
    type of an answer is not kept.

    Raises:
        StateError: the log cannot be read.
    """
    terms, saved = terms.within(narrowed_before(state, session)), state.load_session(session)
    last = _last_begun(state, session)
    if last is None or saved is None or saved.status not in ("running", "parked"):
        return terms
    bound, most, first = last.body.get("required", ()), last.body.get("max_steps"), last.body.get("first", "auto")
    steps = [one for one in (terms.max_steps, most) if isinstance(one, int)]
    return replace(
        terms,
        required=tuple(sorted({*terms.required, *map(str, bound)})),
        first=str(first) if terms.first == "auto" else terms.first,
        max_steps=min(steps, default=None),
    )


def narrowed_before(state: State, session: str) -> frozenset[str] | None:
    """Return the skills that the last run of a session was narrowed to, None when it had all of its agent's.

    Raises:
        StateError: the log cannot be read.
    """
    last = _last_begun(state, session)
    names = last.body.get("skills") if last is not None else None
    return frozenset(map(str, names)) if isinstance(names, list) else None


def _last_begun(state: State, session: str) -> Record | None:
    """Return how the last run of a session began; for a copy without one, that of the session it is a copy of."""

    def newest(event: str) -> Record | None:
        return next(iter(state.records(session=session, event=event, newest_first=True, limit=1, after=before)), None)

    before = 0
    while True:
        begun, copied = newest("run.started"), newest("session.copied")
        if copied is None or (begun is not None and begun.seq > copied.seq):
            return begun
        session, before = str(copied.body.get("of", "")), copied.seq


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
