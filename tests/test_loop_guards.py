"""Guards beyond repeats: budgets, empty results, promises, nearly the same call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from remit import Agent
from remit.deployment.config import Config
from remit.deployment.layers import combine
from remit.errors import UsageError
from remit.loop.budget import Budget
from remit.loop.guards import Limits, chosen_limits
from remit.loop.promises import promises
from remit.loop.sameness import nearly, says_nothing
from remit.models.openai import OpenAIModel
from remit.models.price import Price, PricedModel
from remit.models.protocol import ModelReply, ModelRequest, Usage
from remit.models.scripted import ScriptedModel, ask
from tests import model_server
from tests.loop_parts import Functions, execute, lawful, new_run


def double(n: int) -> int:
    return 2 * n


def priced(script: Any) -> PricedModel:
    return PricedModel(ScriptedModel(script), Price(input=1_000_000, output=1_000_000))


def turn(**reply: Any) -> ModelReply:
    return ModelReply(usage=Usage(input_tokens=10, output_tokens=10), **reply)


def counting(request: ModelRequest) -> ModelReply:
    """A model that never calls twice alike; it answers when it may only answer."""
    if request.tool_choice == "none":
        return turn(text="what I have")
    return turn(calls=(ask("t.double", n=len(request.messages)),), text="on it")


def test_the_turn_that_still_fits_into_the_tokens_is_for_the_answer(tmp_path: Path) -> None:
    result = execute(new_run(counting, Functions(double=double), tmp_path, limits=Limits(tokens=60)))
    assert (result.status, result.answer, result.steps) == ("answered", "what I have", 3)
    control = execute(new_run(counting, Functions(double=double), tmp_path, limits=Limits(steps=5)))
    assert control.steps == 5


def test_used_up_tokens_end_a_run_with_the_last_that_was_said(tmp_path: Path) -> None:
    stubborn = new_run(lambda _: turn(text="on it", calls=(ask("t.double", n=1),)), Functions(double=double), tmp_path,
                       limits=Limits(tokens=20))  # fmt: skip
    result = execute(stubborn)
    assert (result.status, result.answer, result.steps) == ("stopped", "on it", 1)
    assert result.stop_reason == "the limit of 20 tokens is reached"
    assert [call.status for call in result.calls] == ["ok"]
    lawful(stubborn.transcript.messages)


def test_tokens_that_an_endpoint_does_not_tell_are_estimated(tmp_path: Path) -> None:
    run = new_run(lambda r: ModelReply(calls=(ask("t.double", n=len(r.messages)),)), Functions(double=double), tmp_path,
                  limits=Limits(tokens=150, steps=90))  # fmt: skip
    result = execute(run)
    assert "the limit of 150 tokens" in result.stop_reason and result.steps < 5
    assert result.usage.total_tokens is not None and result.usage.total_tokens > 100


def test_a_cost_limit(tmp_path: Path) -> None:
    run = new_run(priced(counting), Functions(double=double), tmp_path, limits=Limits(cost=60.0))
    result = execute(run)
    assert (result.status, result.steps, result.cost) == ("answered", 3, 60.0)
    unpriced = execute(new_run(counting, Functions(double=double), tmp_path, limits=Limits(cost=60.0)))
    assert (unpriced.steps, unpriced.cost) == (1, None)
    assert "price" in unpriced.stop_reason


@pytest.mark.parametrize("effect", ["read", "write"])
def test_when_the_time_is_up_what_runs_is_cancelled_and_nothing_is_lost(effect: Any, tmp_path: Path) -> None:
    async def hang() -> None:
        await asyncio.sleep(60)

    script = [[ask("t.double", n=1), ask("t.hang"), ask("t.double", n=2)]]
    run = new_run(script, Functions(effect, double=double, hang=hang), tmp_path, limits=Limits(seconds=3.0))
    result = execute(run)
    assert (result.status, result.stop_reason) == ("stopped", "the time limit of 3 s is reached")
    assert [r.status for r in result.calls] == ["ok", "cancelled", "ok" if effect == "read" else "cancelled"]
    assert "the time of the run was up" in result.calls[1].text
    lawful(run.transcript.messages)


def test_the_time_of_a_model_that_thinks_counts(tmp_path: Path) -> None:
    with (
        model_server.serve([model_server.text("late", delay=5.0)]) as server,
        Agent(model=OpenAIModel("m", base_url=server.base_url), limits=Limits(seconds=0.3)) as agent,
    ):
        result = agent.run("go")
    assert (result.status, result.stop_reason) == ("stopped", "the time limit of 0.3 s is reached")


def test_a_managed_budget_can_only_be_lowered() -> None:
    managed = Config.model_validate({"agent": {"max_steps": 5, "max_cost": 2, "max_tokens": 900}})
    own = Config.model_validate({"agent": {"max_cost": 1.5, "max_seconds": 9, "max_tokens": 1000, "prompt": "x"}})
    agent = combine(managed, own).config.agent
    assert (agent.max_steps, agent.max_cost, agent.max_seconds, agent.max_tokens) == (5, 1.5, 9, 900)
    assert agent.prompt == "x" and combine(None, own).config.agent.max_tokens == 1000


def test_a_budget_says_when_one_more_turn_fits() -> None:
    now = [0.0]
    budget = Budget(Limits(tokens=100, seconds=100.0), clock=lambda: now[0])
    assert budget.room() == ("enough", "")
    budget.took(Usage(input_tokens=30, output_tokens=4), None)
    assert budget.room()[0] == "one more"
    budget = Budget(Limits(seconds=100.0), clock=lambda: now[0])
    budget.begin()
    now[0] = 90.0
    budget.took(Usage(), None)
    assert budget.room() == ("one more", "the time limit of 100 s is reached")
    now[0] = 100.0
    assert (budget.room()[0], budget.late) == ("none", True)


def test_empty_results_are_pointed_out_and_then_end(tmp_path: Path) -> None:
    turns = iter(range(1000))
    run = new_run(
        lambda _: ask("t.find", n=next(turns)), Functions("read", find=lambda n: {"found": [], "of": 0}), tmp_path,
        limits=Limits(steps=50),
    )  # fmt: skip
    result = execute(run)
    assert result.stop_reason == "6 times in a row everything that was read was empty"
    notes = [m.content for m in run.transcript.messages if m.origin == "loop"]
    assert len(notes) == 2 and "3 times in a row nothing was found" in notes[0]
    turns = iter(range(1000))
    written = new_run(lambda _: ask("t.save", n=next(turns)), Functions("write", save=lambda n: None), tmp_path)
    assert "step limit" in execute(written).stop_reason


@pytest.mark.parametrize(
    ("value", "empty"),
    [(None, True), ("", True), (" \n", True), ([], True), ({}, True), ([None, ""], True), ({"a": [], "n": 0}, True),
     (0, False), (False, False), ({"n": 0}, False), ({"a": [], "n": 2}, False), (["x"], False), ("x", False)],
)  # fmt: skip
def test_what_says_nothing(value: Any, empty: bool) -> None:
    assert says_nothing(value) is empty


def test_nearly_the_same_call_with_the_same_result_ends(tmp_path: Path) -> None:
    queries = iter(["Oslo weather", "oslo  weather", "OSLO WEATHER.", "oslo weather?", "oslo weather!"])
    run = new_run(lambda _: ask("t.find", q=next(queries)), Functions("read", find=lambda q: "none"), tmp_path)
    result = execute(run)
    assert result.stop_reason == "nearly the same call of t__find was made 4 times, with the same result"
    notes = [m.content for m in run.transcript.messages if m.origin == "loop"]
    assert "nearly the same arguments 3 times" in notes[0]
    cities = iter(["Oslo", "Bergen", "Hamar", "Moss", "Bodo"])
    control = new_run(
        lambda _: ask("t.find", q=next(cities, "")), Functions("read", find=lambda q: "none"), tmp_path,
        limits=Limits(steps=5),
    )  # fmt: skip
    assert "step limit" in execute(control).stop_reason


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [('{"q":"A b"}', '{"q": " a  B."}', True), ('{"n":3}', '{"n":"3.0"}', True), ('{"n":1,"m":null}', '{"n":1}', True),
     ('{"q":"a"}', '{"q":"b"}', False), ('{"n":1}', '{"n":true}', False), ('{"l":[1,2]}', '{"l":[2,1]}', False),
     ("{", "[", False)],
)  # fmt: skip
def test_nearly(one: str, other: str, same: bool) -> None:
    assert (nearly(one) == nearly(other)) is same


@pytest.mark.parametrize(
    ("text", "promise"),
    [
        ("I will now look that up...", True),
        ("That needs the files. Let me check.", True),
        ("I'm going to calculate the sum:", True),
        ("Ich werde das jetzt nachsehen.", True),
        ("One moment please.", True),
        ("I checked: let me know if you need more.", False),
        ("I will look at it as you asked. The sum is 5.", False),
        ("The sum is 5.", False),
        ("", False),
    ],
)
def test_what_is_a_promise(text: str, promise: bool) -> None:
    assert promises(text) is promise


def test_a_promise_is_no_answer_and_two_end_the_run(tmp_path: Path) -> None:
    kept = ["I will calculate that now.", ask("t.double", n=2), "4"]
    run = new_run(kept, Functions(double=double), tmp_path)
    assert (execute(run).answer, run.steps) == ("4", 3)
    result = execute(new_run(lambda _: "Let me check that.", Functions(double=double), tmp_path))
    assert (result.status, result.answer, result.steps) == ("stopped", "Let me check that.", 2)
    assert result.stop_reason == "2 replies in a row promised to do something and called nothing"
    assert execute(new_run(lambda _: "Let me check that.", Functions(), tmp_path)).status == "answered"


def test_the_smaller_budget_holds() -> None:
    own = Limits(steps=12, tokens=100, cost=1.0)
    assert chosen_limits(None, 3, own) == Limits(steps=3, tokens=100, cost=1.0)
    chosen = chosen_limits(Limits(tokens=500, cost=0.5, seconds=9.0), None, own)
    assert (chosen.tokens, chosen.cost, chosen.seconds) == (100, 0.5, 9.0)
    with pytest.raises(UsageError, match="tokens=0"):
        chosen_limits(Limits(tokens=0), None, own)
