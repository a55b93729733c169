"""What happens in a run, as values: one stream for the command line, programs and observers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.loop.counting import CountedBy
from remit.loop.outcome import RunResult
from remit.models.protocol import Usage
from remit.values import Call, Decision, Result

RunState = Literal["thinking", "acting", "waiting", "answered", "stopped", "parked", "failed"]
"""The model is asked; calls are made; a person is asked, or an endpoint is only asked again after a pause; and the
four ways in which a run ends, see `remit.loop.outcome.RunStatus`."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events. `session` is the id of the session that the run belongs to."""

    session: str


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """A run begins with a question."""

    question: str


@dataclass(frozen=True, kw_only=True)
class StateChanged(Event):
    """The run goes from one state into another; `remit.loop.states.NEXT` has all that may follow each other.

    Whoever is told that it thinks, acts or has ended finds the session saved as far as that.

    Attributes:
        step: number of the last model turn; 0 before the first.
        old: the state before; None at the beginning of a run.
        new: the state now.
        reason: why, one sentence; empty where the state says all.
    """

    step: int
    old: RunState | None
    new: RunState
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class TurnStarted(Event):
    """The model is asked.

    Attributes:
        step: number of the turn, from 1.
        messages: messages that it is shown.
        left_out: messages of the session that did not fit, and that nothing stands for.
        summarised: messages of the session that a summary stands for.
        tokens: of the request.
        fixed: the part of them that every request has: system prompt, examples and skills.
        room: tokens that are kept for the reply.
        context: tokens that fit into the model; None for unknown, and then nothing is left out.
        left: tokens of the context that are free; None for unknown.
        counted_by: who counted: `tokenizer`, `usage` (an estimate, set right by what the endpoint said that earlier
            turns took) or `estimate`.
        skills: how many skills are offered.
    """

    step: int
    messages: int
    left_out: int = 0
    summarised: int = 0
    tokens: int = 0
    fixed: int = 0
    room: int = 0
    context: int | None = None
    left: int | None = None
    counted_by: CountedBy = "estimate"
    skills: int = 0


@dataclass(frozen=True, kw_only=True)
class Summarised(Event):
    """The model wrote a summary: of history that no longer fits, or of a result that is too large to read.

    Attributes:
        step: number of the turn for which it was made.
        of: `history` or `result`.
        covers: messages, or characters of the result.
        text: the summary; as everything that a model writes, to be rendered before it is shown.
        usage: tokens that it took; they count with the run's.
        cost: of it; None where no price is known.
        model: name of the model that wrote it.
    """

    step: int
    of: Literal["history", "result"]
    covers: int
    text: str
    usage: Usage
    cost: float | None = None
    model: str = ""


@dataclass(frozen=True, kw_only=True)
class TextDelta(Event):
    """A part of what the model says or thinks (`reasoning`) came in.

    What may belong to a call is held back. `TurnEnded.text` is what was really said: where the parts
    so far are not its beginning, they were reasoning or the way to a call.
    """

    step: int
    text: str
    reasoning: bool = False


@dataclass(frozen=True, kw_only=True)
class TurnRetried(Event):
    """The endpoint failed; it or another one is asked after `wait` seconds; text of this turn so far is void."""

    step: int
    reason: str
    wait: float


@dataclass(frozen=True, kw_only=True)
class TurnEnded(Event):
    """The model has spoken.

    Attributes:
        step: number of the turn.
        text: what it said beside its calls.
        calls: how many calls it asks for.
        usage: tokens of this turn.
        duration: seconds.
        notes: what was odd about the reply.
        model: name of the model that answered: another one than usual where that is down.
        cost: of this turn; None where no price is known.
    """

    step: int
    text: str
    calls: int
    usage: Usage
    duration: float
    notes: tuple[str, ...] = ()
    model: str = ""
    cost: float | None = None


@dataclass(frozen=True, kw_only=True)
class Told(Event):
    """The loop tells the model something: a reply that cannot be used, a call that repeats."""

    step: int
    text: str


@dataclass(frozen=True, kw_only=True)
class CallProposed(Event):
    """The model asks for a call."""

    call: Call


@dataclass(frozen=True, kw_only=True)
class CallDecided(Event):
    """Policy has decided on a call."""

    call: str
    skill: str
    decision: Decision


@dataclass(frozen=True, kw_only=True)
class CallProgress(Event):
    """A call is on its way.

    Attributes:
        call: its id.
        skill: its full name.
        kind: a person is asked or has answered; it runs; the skill says how far it is (`progress`);
            it printed something (`output`).
        text: the person's answer, or hostile text of the pack, to be rendered before it is shown.
    """

    call: str
    skill: str
    kind: Literal["asking", "answered", "started", "progress", "output"]
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class CallFinished(Event):
    """A call has its result."""

    call: Call
    result: Result


@dataclass(frozen=True, kw_only=True)
class Delegated(Event):
    """Something happened in the run of another agent, which a call of `remit.delegate` began.

    Attributes:
        call: id of that call in this session.
        agents: who asked whom, the agent in whose run it happened first.
        inner: what happened there; never another `Delegated`, and no `TextDelta`.
    """

    call: str
    agents: tuple[str, ...]
    inner: Event


@dataclass(frozen=True, kw_only=True)
class RunEnded(Event):
    """The run is over."""

    result: RunResult
