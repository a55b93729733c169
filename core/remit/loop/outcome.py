"""How a run ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from remit.models.protocol import Usage
from remit.values import Result

RunStatus = Literal["answered", "stopped", "parked", "failed"]
"""The model answered; a guard or a person ended the run; a call waits for sign-off; the host or the
model's endpoint failed."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of a question.

    Attributes:
        answer: the answer; for any status but `answered`, the last that the model said, or had begun to say, or
            empty; for `failed` what the deployment wants to be said then, if it has something.
        status: see `RunStatus`.
        stop_reason: why it is not `answered`, one sentence; empty for `answered`.
        steps: model turns.
        calls: results of the calls, in order.
        usage: tokens of all turns, also of runs that this one started; None in it where an endpoint did not say, or
            an estimate where the run has a limit of tokens.
        session: id to go on with.
        remedy: what a person can do about a failure; empty when there is nothing to add.
        value: the answer as the type that was asked for; None where none was, or for another status.
        cost: of all turns; None where the price of one is not known.
        model: name of the model that answered last; empty when none did.
    """

    answer: str
    status: RunStatus
    stop_reason: str = ""
    steps: int = 0
    calls: tuple[Result, ...] = ()
    usage: Usage = field(default_factory=Usage)
    session: str = ""
    remedy: str = ""
    value: Any = None
    cost: float | None = None
    model: str = ""


Instead = Callable[[RunResult], str]
"""Makes the answer of a run that failed from what came of it."""


def with_instead(result: RunResult, instead: Instead | None) -> RunResult:
    """Return the result of a failed run with what is to be said then; one that cannot say it leaves all as it is."""
    if instead is None:
        return result
    try:
        return replace(result, answer=str(instead(result)))
    except Exception as error:
        said = f"the answer for failures could not be made: {type(error).__name__}: {error}"
        return replace(result, stop_reason=f"{result.stop_reason}; {said}")


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What the turns of a run took so far, and those of the runs that it started.

    Attributes:
        usage: tokens.
        cost: None where the price of a turn is not known, or there was none yet.
        model: name of the last model that answered the run itself.
        began: something was counted.
    """

    usage: Usage = field(default_factory=lambda: Usage(input_tokens=0, output_tokens=0))
    cost: float | None = None
    model: str = ""
    began: bool = False

    def plus(self, usage: Usage, cost: float | None, *, model: str = "") -> Tally:
        """Return this with one turn more, or with the use of another run."""
        known = self.cost if self.began else 0.0
        total = None if known is None or cost is None else known + cost
        return Tally(usage=self.usage + usage, cost=total, model=model or self.model, began=True)


@dataclass(kw_only=True)
class Gathered:
    """What a run has to show so far.

    Attributes:
        said: the last that the model said.
        results: of the calls, in order.
        tally: what its turns took.
        remedy: what a person can do about a failure.
    """

    said: str = ""
    results: tuple[Result, ...] = ()
    tally: Tally = field(default_factory=Tally)
    remedy: str = ""

    def count(self, usage: Usage, cost: float | None, *, model: str = "") -> None:
        """Add one turn, or the use of another run."""
        self.tally = self.tally.plus(usage, cost, model=model)

    def result(self, status: RunStatus, reason: str, *, steps: int, session: str, value: Any) -> RunResult:
        """Return what came of the run."""
        return RunResult(
            answer=self.said,
            status=status,
            stop_reason=reason,
            steps=steps,
            calls=self.results,
            usage=self.tally.usage,
            session=session,
            remedy=self.remedy,
            value=value,
            cost=self.tally.cost,
            model=self.tally.model,
        )
