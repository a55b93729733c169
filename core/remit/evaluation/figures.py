"""The figures of a set of attempts; docs/eval.md defines each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from remit.evaluation.attempt import Attempt
from remit.evaluation.intervals import Interval, mean, pass_all, pass_at, quantile, success_share
from remit.evaluation.trajectory import Trajectory

Groups = Sequence[Sequence[Attempt]]
"""The attempts at each case."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How a quantity is spread over attempts.

    Attributes:
        mean: with its interval.
        median, p95: quantiles over attempts.
        total: over all attempts that said it.
        known: attempts that said it.
    """

    mean: Interval
    median: float
    p95: float
    total: float
    known: int


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The figures of some cases. A share or spread is None where nothing is there to measure.

    Attributes:
        cases: that were attempted.
        attempts: at them.
        success: share of attempts that passed.
        pass_at: chance that one of as many attempts as a case has at least passes, mean over cases.
        pass_all: chance that all of them pass.
        k: how many attempts the two are about.
        exact, in_order, any_order: shares of attempts, among those with a reference, whose calls fit it so.
        precision: share of the calls made that were right choices of a skill.
        recall: share of the expected calls whose skill was called.
        argument_accuracy: share of the conditions on arguments that hold, where the skill was called.
        forbidden: forbidden calls that were made.
        steps, tokens, cost, seconds: of an attempt.
    """

    cases: int
    attempts: int
    success: Interval | None
    pass_at: float | None
    pass_all: float | None
    k: int
    exact: Interval | None
    in_order: Interval | None
    any_order: Interval | None
    precision: float | None
    recall: float | None
    argument_accuracy: float | None
    forbidden: int
    steps: Spread | None
    tokens: Spread | None
    cost: Spread | None
    seconds: Spread | None


def figures(groups: Groups) -> Figures:
    """Return the figures of the attempts at some cases; cases without attempts do not count."""
    kept = [list(group) for group in groups if group]
    attempts = [attempt for group in kept for attempt in group]
    k = min(map(len, kept), default=0)
    passed = [(sum(attempt.passed for attempt in group), len(group)) for group in kept]
    compared = [attempt.trajectory for attempt in attempts if attempt.trajectory is not None]
    return Figures(
        cases=len(kept),
        attempts=len(attempts),
        success=_share(kept, lambda attempt: attempt.passed),
        pass_at=_over(passed, lambda one: pass_at(k, *one)),
        pass_all=_over(passed, lambda one: pass_all(k, *one)),
        k=k,
        exact=_matching(kept, lambda found: found.exact),
        in_order=_matching(kept, lambda found: found.in_order),
        any_order=_matching(kept, lambda found: found.any_order),
        precision=_ratio(compared, lambda one: one.chosen, lambda one: one.made),
        recall=_ratio(compared, lambda one: one.chosen, lambda one: one.expected),
        argument_accuracy=_ratio(compared, lambda one: one.held, lambda one: one.conditions),
        forbidden=sum(attempt.forbidden for attempt in attempts),
        steps=_spread(kept, lambda attempt: float(attempt.steps)),
        tokens=_spread(kept, lambda attempt: None if attempt.tokens is None else float(attempt.tokens)),
        cost=_spread(kept, lambda attempt: attempt.cost),
        seconds=_spread(kept, lambda attempt: attempt.seconds),
    )


def _share(groups: Groups, holds: Callable[[Attempt], bool]) -> Interval | None:
    return success_share([[holds(attempt) for attempt in group] for group in groups]) if groups else None


def _matching(groups: Groups, holds: Callable[[Trajectory], bool]) -> Interval | None:
    found = [[holds(one.trajectory) for one in group if one.trajectory is not None] for group in groups]
    compared = [group for group in found if group]
    return success_share(compared) if compared else None


def _over(passed: Sequence[tuple[int, int]], chance: Callable[[tuple[int, int]], float]) -> float | None:
    return sum(map(chance, passed)) / len(passed) if passed else None


def _ratio(
    found: Sequence[Trajectory], part: Callable[[Trajectory], int], whole: Callable[[Trajectory], int]
) -> float | None:
    """Return the share over all calls together, so that a case with many calls weighs more."""
    total = sum(map(whole, found))
    return sum(map(part, found)) / total if total else None


def _spread(groups: Groups, value: Callable[[Attempt], float | None]) -> Spread | None:
    known = [[one for attempt in group if (one := value(attempt)) is not None] for group in groups]
    values = sorted(one for group in known for one in group)
    if not values:
        return None
    return Spread(
        mean=mean(known),
        median=quantile(values, 0.5),
        p95=quantile(values, 0.95),
        total=sum(values),
        known=len(values),
    )
