"""How sure a figure is: intervals for shares and means, pass@k, and a test of paired outcomes."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.959963984540054
"""The 97.5% quantile of the normal distribution: intervals are of 95%."""

RESAMPLES = 1_000
"""Resamples of a bootstrap."""

_SEED = 20_260_101
"""A fixed beginning: the same figures give the same interval."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its 95% interval; `low` and `high` are None where there is too little to say."""

    value: float
    low: float | None = None
    high: float | None = None


def wilson(share: float, number: float) -> tuple[float, float]:
    """Return the Wilson score interval (1927) of a share.

    Args:
        share: of successes, 0 to 1.
        number: of independent trials, more than 0; need not be whole.
    """
    square = Z * Z / number
    middle = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(share * (1 - share) / number + square / (4 * number))
    return max(0.0, middle - half), min(1.0, middle + half)


def success_share(groups: Sequence[Sequence[bool]]) -> Interval:
    """Return the share of successes over all attempts.

    Attempts at one case resemble each other, so that they say less about new cases than as many cases would. The
    interval is Wilson's with the number of attempts divided by the design effect (Kish 1965): the variance of the
    share with whole cases as units, over that of independent attempts. It lies between the number of cases and of
    attempts, and with one attempt a case it is the number of cases.

    Args:
        groups: the attempts at each case, at least one in all.
    """
    outcomes = [outcome for group in groups for outcome in group]
    count = len(outcomes)
    share = sum(outcomes) / count
    cases = sum(bool(group) for group in groups)
    simple = share * (1 - share) / count
    clustered = sum(sum(outcome - share for outcome in group) ** 2 for group in groups) / count**2
    effective = cases if simple == 0 else min(count, max(cases, count * simple / clustered if clustered else count))
    low, high = wilson(share, effective)
    return Interval(value=share, low=low, high=high)


def mean(groups: Sequence[Sequence[float]]) -> Interval:
    """Return the mean over all attempts, with the percentile bootstrap (Efron 1979) that draws whole cases.

    Args:
        groups: the values of each case; at least one value in all. With one case there is no interval.
    """
    kept = [(sum(group), len(group)) for group in groups if group]
    value = sum(total for total, _ in kept) / sum(number for _, number in kept)
    if len(kept) < 2:
        return Interval(value=value)
    draw = random.Random(_SEED)
    means = sorted(_resampled(draw.choices(kept, k=len(kept))) for _ in range(RESAMPLES))
    return Interval(value=value, low=quantile(means, 0.025), high=quantile(means, 0.975))


def _resampled(drawn: Sequence[tuple[float, int]]) -> float:
    return sum(total for total, _ in drawn) / sum(number for _, number in drawn)


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile of sorted values, linear between the two nearest (Hyndman and Fan 1996, type 7)."""
    place = (len(values) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def pass_at(k: int, passed: int, attempts: int) -> float:
    """Return the chance that one of k attempts passes (Chen et al. 2021), estimated from more attempts."""
    return 1 - math.comb(attempts - passed, k) / math.comb(attempts, k)


def pass_all(k: int, passed: int, attempts: int) -> float:
    """Return the chance that all of k attempts pass (pass^k, Yao et al. 2024), estimated from more attempts."""
    return math.comb(passed, k) / math.comb(attempts, k)


def mcnemar(worse: int, better: int) -> float:
    """Return the p-value of McNemar's exact test: how likely so uneven a change is when nothing has changed.

    Args:
        worse: cases that passed before, and do not now.
        better: the other way round.
    """
    number = worse + better
    if number == 0:
        return 1.0
    tail = sum(math.comb(number, few) for few in range(min(worse, better) + 1))
    return float(min(1.0, 2 * tail / 2**number))
