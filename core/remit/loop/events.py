"""What happens in a run, as values: one stream for the command line, programs and observers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.loop.outcome import RunResult
from remit.models.protocol import Usage
from remit.values import Call, Decision, Result


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events. `session` is the id of the session that the run belongs to."""

    session: str


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """A run begins with a question."""

    question: str


@dataclass(frozen=True, kw_only=True)
class TurnStarted(Event):
    """The model is asked.

    Attributes:
        step: number of the turn, from 1.
        messages: messages that it is shown.
        left_out: messages that did not fit into its context.
        tokens: estimate of the tokens of the request.
    """

    step: int
    messages: int
    left_out: int = 0
    tokens: int = 0


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
class RunEnded(Event):
    """The run is over."""

    result: RunResult
