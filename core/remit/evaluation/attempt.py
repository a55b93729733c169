"""One attempt at a case: what happened, and whether that is as it must be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from remit.evaluation.answers import misses
from remit.evaluation.case import Case, Turn
from remit.evaluation.trajectory import MadeCall, Trajectory, compare, counted, fits, names
from remit.skills import READ_RESULT, Skill

MATCHES = {
    "exact": "exactly the expected calls",
    "in_order": "the expected calls in their order",
    "any_order": "the expected calls",
}


@dataclass(frozen=True, kw_only=True)
class TurnOutcome:
    """What came of one turn.

    Attributes:
        answer: what the model said last.
        status: of the run: `answered`, `stopped`, `parked`, `failed`.
        reason: why it is not `answered`.
        steps: model turns.
        calls: that the model asked for, in order.
        others: calls that packs asked for as follow-ups, and those of agents that were given a task.
    """

    answer: str
    status: str
    reason: str = ""
    steps: int = 0
    calls: tuple[MadeCall, ...] = ()
    others: tuple[MadeCall, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt at a case, judged.

    Attributes:
        number: from 1.
        session: id, for `remit log replay`.
        turns: what came of each turn; fewer than the case has where one did not end as it must.
        failures: what is not as it must be, a sentence each; empty for a success.
        trajectory: None where the case has no reference.
        forbidden: forbidden calls that were made.
        tokens: in and out; None where an endpoint did not say.
        cost: None where no price is known.
        seconds: from the first question to the last answer.
    """

    number: int
    session: str = ""
    turns: tuple[TurnOutcome, ...] = ()
    failures: tuple[str, ...] = ()
    trajectory: Trajectory | None = None
    forbidden: int = 0
    tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything is as it must be."""
        return not self.failures

    @property
    def steps(self) -> int:
        """Model turns of all turns."""
        return sum(turn.steps for turn in self.turns)

    @property
    def calls(self) -> tuple[MadeCall, ...]:
        """The calls of all turns."""
        return tuple(call for turn in self.turns for call in turn.calls)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """An attempt that is not judged yet; see `Attempt`."""

    number: int
    session: str
    turns: Sequence[TurnOutcome]
    tokens: int | None
    cost: float | None
    seconds: float
    skills: Mapping[str, Skill] = field(default_factory=dict)


def judge(case: Case, ran: Ran) -> Attempt:
    """Judge an attempt.

    Reading the rest of a long result (`remit.read_result`) is no choice of a skill: it counts only in cases that
    name it. Calls of others are no choices of this model, but must not be forbidden ones either.
    """
    made = tuple(call for turn in ran.turns for call in turn.calls)
    everything = (*made, *(call for turn in ran.turns for call in turn.others))
    counted_calls = tuple(call for call in made if call.skill != READ_RESULT or _names_reading(case))
    trajectory = None if case.trajectory is None else compare(case.trajectory, counted_calls, ran.skills)
    banned = [call for call in everything if any(fits(wanted, call, ran.skills) for wanted in case.forbidden)]
    failures = [
        *_turn_failures(case, ran.turns),
        *_trajectory_failures(case, trajectory, counted_calls),
        *(f"the forbidden call of {call.skill} was made" for call in banned),
        *_required_failures(case, everything),
        *_cost_failures(case, ran.cost),
    ]
    return Attempt(
        number=ran.number,
        session=ran.session,
        turns=tuple(ran.turns),
        failures=tuple(failures),
        trajectory=trajectory,
        forbidden=len(banned),
        tokens=ran.tokens,
        cost=ran.cost,
        seconds=ran.seconds,
    )


def ended_as(turn: Turn, outcome: TurnOutcome) -> str:
    """Return why a turn did not end as it must; empty when it did."""
    denied = any(call.status == "denied" for call in (*outcome.calls, *outcome.others))
    if turn.status == "denied":
        return "" if denied and outcome.status != "failed" else f"no call was denied; the run is {_how(outcome)}"
    return "" if outcome.status == turn.status else f"the run is {_how(outcome)}, not {turn.status}"


def _how(outcome: TurnOutcome) -> str:
    return f"{outcome.status} ({outcome.reason})" if outcome.reason else outcome.status


def _turn_failures(case: Case, outcomes: Sequence[TurnOutcome]) -> Iterator[str]:
    several = len(case.turns) > 1
    for number, turn in enumerate(case.turns, 1):
        about = f"turn {number}: " if several else ""
        if number > len(outcomes):
            yield f"{about}was not reached"
            return
        outcome = outcomes[number - 1]
        if why := ended_as(turn, outcome):
            yield about + why
        yield from (about + miss for miss in misses(turn.answer, outcome.answer))
        if case.max_steps is not None and outcome.steps > case.max_steps:
            yield f"{about}{outcome.steps} model turns, more than {case.max_steps}"


def _trajectory_failures(case: Case, found: Trajectory | None, calls: Sequence[MadeCall]) -> Iterator[str]:
    if found is None or case.match == "none" or case.trajectory is None:
        return
    if not getattr(found, case.match):
        wanted = ", ".join("|".join(call.skill) for call in case.trajectory) or "no call"
        yield f"not {MATCHES[case.match]} ({wanted}), but {counted(calls)}"


def _required_failures(case: Case, calls: Sequence[MadeCall]) -> Iterator[str]:
    for pattern in case.required:
        if not any(names(pattern, call.skill) for call in calls):
            yield f"{pattern} was not called"


def _cost_failures(case: Case, cost: float | None) -> Iterator[str]:
    if case.max_cost is None:
        return
    if cost is None:
        yield f"it may cost {case.max_cost:g} at most, but the price of the model is not known"
    elif cost > case.max_cost:
        yield f"it cost {cost:g}, more than {case.max_cost:g}"


def _names_reading(case: Case) -> bool:
    named = [call.skill for call in case.trajectory or ()]
    return any(READ_RESULT in one for one in named)
