"""Tests of `remit.loop.budget`, and of what one run counts of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.loop.budget import Budget
from remit.loop.guards import Limits
from remit.loop.run import Run
from remit.models.protocol import ModelReply, Usage
from remit.models.scripted import ask
from tests.loop_parts import Functions, execute, new_run


def used(tokens: int) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=0)


def test_what_is_left_is_what_was_not_used() -> None:
    now = [100.0]
    budget = Budget(Limits(steps=7, tokens=50, cost=2.0, seconds=30), clock=lambda: now[0])
    budget.took(used(20), 0.5)
    budget.spend(used(25), 0.25)
    now[0] = 110.0
    assert budget.left() == Limits(steps=7, tokens=5, cost=1.25, seconds=20)
    budget.spend(used(500), 9.0)
    now[0] = 500.0
    assert budget.left() == Limits(steps=7, tokens=0, cost=0.0, seconds=0.0)


def test_without_limits_nothing_is_limited() -> None:
    budget = Budget(Limits())
    budget.spend(Usage(), None)
    assert budget.left() == Limits()
    assert budget.room() == ("enough", "")


@pytest.mark.parametrize(("usage", "cost", "word"), [(Usage(), 0.0, "tokens"), (used(1), None, "cost")])
def test_what_is_not_known_leaves_nothing(usage: Usage, cost: float | None, word: str) -> None:
    budget = Budget(Limits(tokens=100, cost=100.0))
    budget.spend(usage, cost)
    room, reason = budget.room()
    assert room == "none" and word in reason
    assert 0 in (budget.left().tokens, budget.left().cost)


def test_the_use_of_a_run_that_a_call_starts_counts_in_the_run(tmp_path: Path) -> None:
    runs: list[Run] = []
    left: list[int | None] = []

    def ask_another() -> str:
        left.append(runs[0].left().tokens)
        runs[0].spend(used(70), 0.5)
        return "told"

    turn = ModelReply(usage=used(10), cost=0.25, calls=(ask("t.ask_another"),))
    runs.append(new_run([turn, turn, turn], Functions(ask_another=ask_another), tmp_path, limits=Limits(tokens=150)))
    result = execute(runs[0])
    assert left == [140, 60]
    assert (result.usage.total_tokens, result.cost, result.steps) == (160, 1.5, 2)
    assert (result.status, result.stop_reason) == ("stopped", "the limit of 150 tokens is reached")


def test_a_run_that_starts_no_other_goes_on(tmp_path: Path) -> None:
    turn = ModelReply(usage=used(10), cost=0.25, calls=(ask("t.ask_another"),))
    script = [turn, turn, ModelReply(text="done", usage=used(10), cost=0.25)]
    control = execute(new_run(script, Functions(ask_another=lambda: "told"), tmp_path, limits=Limits(tokens=150)))
    assert (control.status, control.usage.total_tokens, control.cost) == ("answered", 30, 0.75)
