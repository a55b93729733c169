"""What the log knows of a run that is gone on with: the fate of calls without a result, and what its turns took."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from remit.loop.elapsed import elapsed
from remit.loop.sameness import value_of
from remit.loop.transcript import LOST, Transcript
from remit.loop.wording import LOST_BEFORE, NOT_ENDED_TASK, NOT_KEPT, NOT_RUN_INTERRUPTED, NOT_RUN_LEFT, NOT_RUN_REFUSED
from remit.models.protocol import ToolCall, Usage
from remit.skills import Skill
from remit.values import Call, Result, Status

if TYPE_CHECKING:
    from remit.state.records import Record
    from remit.state.store import State


class Took(NamedTuple):
    """What a model turn took: as far as the endpoint said, with an estimate where it did not, and in money."""

    usage: Usage
    counted: Usage
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """What is known of a run beside its transcript.

    Attributes:
        results: of calls that ended, or were lost; a call that is not among them has not run, or may be made again.
        begun: what is said of calls that may be made again and are not: they had begun.
        turns: what each model turn took.
        errors: what could not be read of the last reply.
        anew: the run had ended; whoever goes on with it gives it its limits anew.
        begin: messages that there were when it got its limits anew before; None where it began with a question.
        seconds: that the run took until it was left, without the time in which it waited for a person.
        left: results of calls that waited for a person, for a session that goes on without them.
        called: full names of the skills that agents called for the run.
    """

    results: Mapping[str, Result] = field(default_factory=dict)
    begun: Mapping[str, Result] = field(default_factory=dict)
    turns: tuple[Took, ...] = ()
    errors: tuple[str, ...] = ()
    anew: bool = False
    begin: int | None = None
    seconds: float = 0.0
    left: Mapping[str, Result] = field(default_factory=dict)
    called: frozenset[str] = frozenset()


def all_lost(calls: Sequence[Call], waited: Collection[str] = ()) -> Recalled:
    """Return what is known where there is no log: calls without a result are lost, unless they waited for a person."""
    return Recalled(results={call.id: lost(call) for call in calls if call.id not in waited})


def lost(call: Call) -> Result:
    """Return the result of a call that may have had its effect, but nobody knows."""
    return Result(call=call.id, skill=call.skill, status="lost", text=LOST, reason=LOST_BEFORE)


def settled(
    transcript: Transcript,
    called: Callable[[ToolCall], Call],
    recall: Callable[[Sequence[Call], Collection[str]], Recalled],
) -> tuple[Result, ...]:
    """Give every call that a process left without a result, or that waited, one to go on with another question.

    Args:
        transcript: of the session.
        called: makes a call of the model's.
        recall: knows what became of calls.

    Returns:
        Those of calls that waited, and are not made any more.
    """
    interrupted = {call.id for call in transcript.open_calls}
    transcript.reopen()
    calls = [called(call) for call in transcript.open_calls]
    known = recall(calls, {call.id for call in calls} - interrupted) if calls else Recalled()
    fates = {**known.left, **known.begun, **known.results}
    for call in calls:
        transcript.take(fates.get(call.id) or _unmade(call, NOT_RUN_INTERRUPTED))
    return tuple(result for id_, result in known.left.items() if fates[id_] is result)


def _unmade(call: Call, text: str, status: Status = "cancelled") -> Result:
    return Result(call=call.id, skill=call.skill, status=status, text=text, reason=text)


class Recall:
    """Reads the log of one session.

    Args:
        state: has the log.
        session: its id.
        skills: full name to skill, of those that the run may call.
        status: of the session as it was saved.
    """

    def __init__(self, state: State, session: str, skills: Mapping[str, Skill], status: str) -> None:
        self._state = state
        self._session = session
        self._skills = skills
        self._anew = status not in ("running", "parked")

    def of(self, calls: Sequence[Call], waited: Collection[str]) -> Recalled:
        """Return what is known of the run, and of `calls`, which have no result in the transcript.

        Args:
            calls: in the order of the transcript.
            waited: ids of those that waited for a person, or for one that did, when the session was saved.

        Raises:
            StateError: the log cannot be read.
        """
        known = self._known(calls, waited)
        gone = {call.id: _unmade(call, NOT_KEPT) for call in calls if call.hidden}
        gone = {id_: result for id_, result in gone.items() if id_ not in self._given(calls)}
        return replace(known, results={**gone, **known.results})

    def _known(self, calls: Sequence[Call], waited: Collection[str]) -> Recalled:
        begun = self._begun()
        began = 0 if begun is None else begun.seq
        last = next(self._state.records(session=self._session, event="turn.reply", newest_first=True, limit=1), None)
        if last is None:  # they were asked for in another session, or in another log
            lost_here = all_lost(calls, set(waited) - self._given(calls))
            proposed = tuple(_took(record.body) for record in self._proposed(began))
            begin = None if begun is None else begun.body.get("anew")
            return replace(lost_here, anew=self._anew, left=self._left(calls, waited), turns=proposed, begin=begin)
        found = [(call, self._fate(call, calls)) for call in calls]
        return Recalled(
            results={call.id: result for call, result in found if result is not None},
            begun={call.id: lost(call) for call, result in found if result is None and self._has_begun(call)},
            turns=tuple(
                _took(asked.body)
                for asked in (
                    *self._proposed(began),
                    *self._asked(self._session, began),
                    *self._below(self._session, began),
                )
                if not asked.body.get("failed") or "input_tokens" in asked.body
            ),
            errors=tuple(map(str, last.body.get("errors", ()))),
            anew=self._anew,
            begin=None if begun is None else begun.body.get("anew"),
            seconds=elapsed(self._state, self._session),
            left=self._left(calls, waited),
            called=frozenset(self._called_below(self._session, began)),
        )

    def _left(self, calls: Sequence[Call], waited: Collection[str]) -> dict[str, Result]:
        """Return what is told of calls that waited, by call id, where the session goes on without them."""
        given = self._given(calls)
        return {call.id: self._unmade(call, task=call.id in given) for call in calls if call.id in waited}

    def _unmade(self, call: Call, *, task: bool) -> Result:
        refused = self._state.refusal_of(self._session, call.id)
        if refused is None:
            return _unmade(call, NOT_ENDED_TASK if task else NOT_RUN_LEFT)
        reason = f": {refused[1].rstrip('. ')}" if refused[1] else ""
        return _unmade(call, NOT_RUN_REFUSED.format(reason=reason), "denied")

    def _given(self, calls: Sequence[Call]) -> set[str]:
        """Return the ids of tasks for agents: elsewhere, part of one may be done while the rest waits for a person."""
        known = ((call.id, self._skills.get(call.skill)) for call in calls)
        return {id_ for id_, skill in known if skill is not None and skill.hosted is not None}

    def _begun(self) -> Record | None:
        """Return the record of the run's beginning: with a question, or where it got its limits anew.

        For a copy of a session that is that of the first one.
        """

        def begins(record: Record) -> bool:
            return record.event == "session.copied" or not record.body.get("resumed") or "anew" in record.body

        session, before = self._session, 0
        while True:
            events = ("run.started", "session.copied")
            found = [self._newest(session, event, before, begins) for event in events]
            begun = max((one for one in found if one is not None), key=lambda record: record.seq, default=None)
            if begun is None or begun.event == "run.started":
                return begun
            session, before = str(begun.body.get("of", "")), begun.seq

    def _newest(self, session: str, event: str, before: int, wanted: Callable[[Record], bool]) -> Record | None:
        records = self._state.records(session=session, event=event, newest_first=True, after=before)
        return next(filter(wanted, records), None)

    def _proposed(self, began: int) -> Iterator[Record]:
        """Yield the turns that the run took before its beginning: those that proposed which skills it has."""
        if not began:
            return
        turns = self._state.records(session=self._session, event="turn.reply", after=began, newest_first=True)
        ended = next(self._state.records(session=self._session, event="run.", after=began, newest_first=True), None)
        for record in turns:
            if record.body.get("step") != 0 or (ended is not None and record.seq < ended.seq):
                return
            yield record

    def _asked(self, session: str, after: int) -> Iterator[Record]:
        """Yield what a model was asked for in a session: turns, and summaries, which cost as much."""
        turns = self._state.records(session=session, event="turn.", after=after)
        return (record for record in turns if record.event in ("turn.reply", "turn.summary"))

    def _below(self, session: str, after: int) -> Iterator[Record]:
        """Yield the turns of tasks that the run gave and that have ended; one that goes on counts its own again."""
        for task in self._state.children_of(session):
            if task.status not in ("running", "parked"):
                yield from self._asked(task.id, after)
                yield from self._below(task.id, after)

    def _called_below(self, session: str, after: int) -> Iterator[str]:
        """Yield the skills that agents called in the tasks of a session."""
        for task in self._state.children_of(session):
            yield from (one.skill for one in self._state.records(session=task.id, event="call.finished", after=after))
            yield from self._called_below(task.id, after)

    def _last(self, call: Call) -> Record | None:
        """Return the last that was recorded of a call's beginning or end."""
        records = self._state.records(session=self._session, call=call.id, newest_first=True)
        return next((record for record in records if record.event in ("call.started", "call.finished")), None)

    def _has_begun(self, call: Call) -> bool:
        last = self._last(call)
        return last is not None and last.event == "call.started"

    def _fate(self, call: Call, calls: Sequence[Call]) -> Result | None:
        """Return what became of a call, None where it has not run or may be made again."""
        last = self._last(call)
        if last is None or last.body.get("status") == "parked":
            return None
        if last.event == "call.finished":
            return _result(call, last)
        skill = self._skills.get(call.skill)
        goes_on = skill is not None and (skill.idempotent or skill.hosted is not None)
        if skill is not None and (goes_on or (skill.effect == "read" and self._alone(last, calls))):
            return None
        return lost(call)

    def _alone(self, started: Record, calls: Sequence[Call]) -> bool:
        """Say whether a call that was started asked for no other, as a follow-up, which may have had an effect."""
        own = {call.id for call in calls}
        later = self._state.records(session=self._session, event="call.started", after=started.seq)
        return all(record.call in own for record in later)


def _took(body: Mapping[str, Any]) -> Took:
    usage = Usage(
        input_tokens=body.get("input_tokens"),
        output_tokens=body.get("output_tokens"),
        cached_tokens=body.get("cached_tokens", 0),
        cache_writes=body.get("cache_writes", 0),
    )
    estimate = body.get("estimated_tokens")
    counted = usage if estimate is None else Usage(input_tokens=estimate, output_tokens=0)
    return Took(usage, counted, body.get("cost"))


def _result(call: Call, record: Record) -> Result | None:
    body = record.body
    if "text" not in body:
        return lost(call)  # erased meanwhile
    structured, status = bool(body.get("structured")), cast(Status, body.get("status"))
    text = str(body["text"])
    return Result(
        call=call.id,
        skill=record.skill,
        status=status,
        text=text,
        value=value_of(text, structured=structured) if status == "ok" else None,
        blobs=tuple((str(handle), str(kind), int(size)) for handle, kind, size in body.get("blobs", ())),
        reason=str(body.get("reason", "")),
        duration=float(body.get("duration") or 0.0),
        labels=frozenset(map(str, body.get("labels", ()))),
        handle=body.get("handle"),
        cached=bool(body.get("cached")),
        stop=bool(body.get("stop")),
    )
