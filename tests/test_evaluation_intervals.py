"""Intervals and tests against values from the literature, or worked out by hand."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from remit.evaluation.attempt import Attempt, TurnOutcome
from remit.evaluation.figures import figures
from remit.evaluation.intervals import mcnemar, mean, pass_all, pass_at, quantile, success_share, wilson
from remit.evaluation.trajectory import Trajectory


@pytest.mark.parametrize(
    ("passed", "number", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_that_of_newcombe_1998_table_1(passed: int, number: int, low: float, high: float) -> None:
    found = wilson(passed / number, number)
    assert found == pytest.approx((low, high), abs=5e-5)


def test_with_one_attempt_a_case_the_share_is_wilsons() -> None:
    found = success_share([[True]] * 81 + [[False]] * 182)
    assert (found.low, found.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_repeats_that_agree_count_as_cases_and_independent_ones_as_attempts() -> None:
    agreeing = success_share([[True] * 10] * 6 + [[False] * 10] * 4)
    assert (agreeing.low, agreeing.high) == pytest.approx(wilson(0.6, 10))
    uneven = success_share([[True, False]] * 8)
    assert (uneven.low, uneven.high) == pytest.approx(wilson(0.5, 16))
    perfect = success_share([[True] * 10] * 5)
    assert (perfect.low, perfect.high) == pytest.approx(wilson(1.0, 5))


def test_the_design_effect_by_hand() -> None:
    # p = 4/6; variance by cases ((2/3)^2 + (-1/3)^2 + (-1/3)^2)/36 = 1/54; independent (2/9)/6 = 1/27: twice as sure.
    found = success_share([[True, True], [True, False], [True, False]])
    assert found.value == pytest.approx(2 / 3)
    assert (found.low, found.high) == pytest.approx(wilson(2 / 3, 6))  # never more than there are attempts


def test_quantiles_are_type_7() -> None:
    assert [quantile([1, 2, 3, 4], share) for share in (0, 0.5, 0.95, 1)] == pytest.approx([1, 2.5, 3.85, 4])
    assert quantile([7], 0.95) == 7


def test_the_bootstrap_draws_whole_cases_and_is_the_same_each_time() -> None:
    groups = [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0], [7.0, 7.0]]
    found = mean(groups)
    assert found.value == 4 and found == mean(groups)
    assert found.low is not None and found.high is not None and 1 < found.low < 3 and 5 < found.high < 7
    assert mean([[2.0, 4.0]]).low is None
    many = mean([[float(number % 10)] for number in range(1000)])
    half = 1.96 * 2.8723 / 1000**0.5  # the normal interval of the mean of so many
    assert (many.low, many.high) == pytest.approx((4.5 - half, 4.5 + half), abs=0.02)


@pytest.mark.parametrize("attempts", [1, 3, 6])
def test_pass_at_and_pass_all_are_those_of_every_choice_of_attempts(attempts: int) -> None:
    for passed in range(attempts + 1):
        outcomes = [number < passed for number in range(attempts)]
        for k in range(1, attempts + 1):
            chosen = list(combinations(outcomes, k))
            assert pass_at(k, passed, attempts) == pytest.approx(float(Fraction(sum(map(any, chosen)), len(chosen))))
            assert pass_all(k, passed, attempts) == pytest.approx(float(Fraction(sum(map(all, chosen)), len(chosen))))


@pytest.mark.parametrize(
    ("worse", "better", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (10, 2, 0.0385742), (4, 4, 1.0)],
)
def test_mcnemar_is_the_two_sided_binomial(worse: int, better: int, p: float) -> None:
    assert mcnemar(worse, better) == pytest.approx(p, abs=1e-6) == mcnemar(better, worse)


def attempt(
    passed: bool, *, steps: int = 1, tokens: int | None = None, cost: float | None = None, **more: Any
) -> Attempt:
    return Attempt(
        number=1,
        turns=(TurnOutcome(answer="", status="answered", steps=steps),),
        failures=() if passed else ("no",),
        tokens=tokens,
        cost=cost,
        **more,
    )


def compared(exact: bool, in_order: bool, *counts: int) -> Trajectory:
    chosen, made, expected, held, conditions = counts
    return Trajectory(
        exact=exact, in_order=in_order, any_order=True,
        chosen=chosen, made=made, expected=expected, held=held, conditions=conditions,
    )  # fmt: skip


def test_figures_by_hand() -> None:
    found = figures(
        [
            [
                attempt(True, steps=2, tokens=100, cost=0.1, trajectory=compared(True, True, 1, 1, 1, 2, 2)),
                attempt(False, steps=4, tokens=300, trajectory=compared(False, True, 1, 4, 1, 1, 2), forbidden=2),
            ],
            [attempt(True, steps=3, tokens=200), attempt(True, steps=3)],
            [],
        ]
    )
    assert (found.cases, found.attempts, found.k, found.forbidden) == (2, 4, 2, 2)
    assert found.success is not None and found.success.value == 0.75
    assert (found.pass_at, found.pass_all) == (1.0, 0.5)
    assert found.exact is not None and found.exact.value == 0.5
    assert found.in_order is not None and found.in_order.value == 1.0
    assert (found.precision, found.recall, found.argument_accuracy) == (2 / 5, 1.0, 3 / 4)
    assert found.steps is not None and (found.steps.mean.value, found.steps.median) == (3.0, 3.0)
    assert found.steps.p95 == pytest.approx(3.85)
    assert found.tokens is not None and (found.tokens.mean.value, found.tokens.total, found.tokens.known) == (
        200,
        600,
        3,
    )
    assert found.cost is not None and found.cost.known == 1 and found.cost.mean.low is None


def test_what_is_not_there_is_none_and_no_zero() -> None:
    found = asdict(figures([[], []]))
    assert {name for name, value in found.items() if value is not None} == {"cases", "attempts", "k", "forbidden"}
    alone = figures([[attempt(True)]])
    assert alone.precision is None and alone.exact is None and alone.tokens is None
    none_made = figures([[attempt(True, trajectory=compared(True, True, 0, 0, 0, 0, 0))]])
    assert none_made.precision is None and none_made.recall is None
