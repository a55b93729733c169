"""Budgets, time and cancelling cross from the run that gives a task to the run that does it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit import skill
from remit.loop.events import Delegated, Event, TurnEnded
from remit.loop.guards import Limits
from remit.models.protocol import ModelReply, ModelRequest, Usage
from remit.models.scripted import ask
from tests.delegation_parts import Cast, bot, give, last, records, spec, who


@skill(effect="read", labels=())
def look(n: int) -> int:
    """Look at a number."""
    return n


def turn(*calls: Any, text: str = "", tokens: int = 100, cost: float = 1.0) -> ModelReply:
    return ModelReply(text=text, calls=calls, usage=Usage(input_tokens=tokens, output_tokens=0), cost=cost)


def endless(request: ModelRequest) -> ModelReply:
    n = sum(message.role == "tool" for message in request.messages)
    return turn(ask("local.look", n=n)) if request.tools else turn(text="I had to stop.")


@pytest.mark.parametrize(
    ("limits", "reason"), [(Limits(tokens=450), "tokens"), (Limits(cost=4.5), "cost"), (Limits(steps=3), "step")]
)
def test_an_agent_s_own_budget_ends_its_run_and_not_the_one_above(limits: Limits, reason: str) -> None:
    def script(request: ModelRequest) -> ModelReply:
        if who(request) == "maths":
            return endless(request)
        return turn(give("maths")) if last(request) == "go" else turn(text=last(request))

    with bot(script, look, agents=[spec("maths", limits=limits)]) as agent:
        result = agent.run("go")
    assert result.status == "answered"
    assert result.answer == "I had to stop." or reason in result.answer


def test_control_without_a_budget_the_standard_limit_of_steps_holds() -> None:
    def script(request: ModelRequest) -> ModelReply:
        if who(request) == "maths":
            return endless(request)
        return turn(give("maths")) if last(request) == "go" else turn(text="end")

    with bot(script, look, agents=[spec("maths")], max_steps=5) as agent:
        result = agent.run("go")
        (child,) = agent.state.children_of(result.session)
        assert len(records(agent, "turn.reply", child.id)) == 5


@pytest.mark.parametrize("limits", [Limits(tokens=700), Limits(cost=7.0)])
def test_what_agents_side_by_side_use_up_counts_together(limits: Limits) -> None:
    def script(request: ModelRequest) -> ModelReply:
        if who(request) == "top":
            calls = [give("one"), give("two"), give("three")]
            return turn(*calls) if last(request) == "go" else turn(text="end")
        return endless(request)

    agents = [spec(name) for name in ("one", "two", "three")]
    with bot(script, look, agents=agents, limits=limits) as agent:
        result = agent.run("go")
    total = result.usage.input_tokens
    assert total is not None and 700 <= total <= 700 + 3 * 100  # each may be in the middle of a turn
    with bot(script, look, agents=agents) as agent:
        free = agent.run("go").usage.input_tokens
    assert free is not None and free > 2_000


def test_grandchildren_count_at_the_top_too() -> None:
    cast = Cast(
        top=[turn(give("chief")), turn(text="end")],
        chief=[turn(give("maths")), turn(text="well")],
        maths=[turn(text="four", tokens=1_000, cost=10.0)],
    )
    with bot(cast, look, agents=[spec("chief", agents=["maths"]), spec("maths")]) as agent:
        result = agent.run("go")
    assert (result.usage.input_tokens, result.cost) == (1_400, 14.0)


def test_the_time_above_ends_the_run_below() -> None:
    started = asyncio.Event()

    @skill(effect="read")
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(30)
        return "never"

    cast = Cast(top=[give("maths"), "end"], maths=[ask("local.wait"), "never"])
    with bot(cast, wait, agents=[spec("maths")], limits=Limits(seconds=3.0)) as agent:
        result = agent.run("go")
        assert started.is_set() and result.status == "stopped" and "time limit" in result.stop_reason
        (child,) = agent.state.children_of(result.session)
    assert child.status == "stopped" and child.transcript[-1]["status"] == "cancelled"


def test_an_agent_s_own_time_ends_its_run_only() -> None:
    @skill(effect="read")
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(30)
        return "never"

    cast = Cast(top=[give("maths"), last], maths=[ask("local.wait"), "never"])
    with bot(cast, wait, agents=[spec("maths", limits=Limits(seconds=0.2))]) as agent:
        result = agent.run("go")
    assert result.status == "answered" and "time limit" in result.answer


def test_cancelling_saves_every_session() -> None:
    started = asyncio.Event()

    @skill(effect="read")
    async def wait() -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(30)
        return "never"

    cast = Cast(top=[give("chief")], chief=[give("maths")], maths=[ask("local.wait")])
    agents = [spec("chief", agents=["maths"]), spec("maths")]

    async def go() -> None:
        async with bot(cast, wait, agents=agents) as agent:
            task = asyncio.create_task(agent.arun("go", session="s1"))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (chief,) = agent.state.children_of("s1")
            (maths,) = agent.state.children_of(chief.id)
            for saved in (agent.state.load_session("s1"), chief, maths):
                assert saved is not None and saved.status == "stopped"
                assert saved.transcript[-1]["role"] == "tool" and saved.transcript[-1]["status"] == "cancelled"

    asyncio.run(go())


def test_agents_asked_in_one_turn_work_side_by_side() -> None:
    async def go() -> None:
        meeting = asyncio.Barrier(3)

        @skill(effect="read", labels=())
        async def meet(name: str) -> str:
            """Come together: nobody gets on alone."""
            await asyncio.wait_for(meeting.wait(), 20)
            return f"met {name}"

        def script(request: ModelRequest) -> Any:
            name = who(request)
            if name == "top":
                return [give("one"), give("two"), give("three")] if last(request) == "go" else "end"
            return ask("local.meet", name=name) if last(request) == "do it" else last(request)

        events: list[Event] = []
        agents = [spec(name) for name in ("one", "two", "three")]
        async with bot(script, meet, agents=agents) as agent:
            result = await agent.arun("go", on_event=events.append)
        assert [call.value for call in result.calls] == ["met one", "met two", "met three"]
        ended = [event.agents[0] for event in events if isinstance(event, Delegated)]
        assert {"one", "two", "three"} == set(ended)
        assert any(isinstance(event, Delegated) and isinstance(event.inner, TurnEnded) for event in events)

    asyncio.run(go())


def test_sessions_side_by_side_are_apart() -> None:
    def script(request: ModelRequest) -> Any:
        asked = next(message.content for message in request.messages if message.role == "user")
        if who(request) == "maths":
            return f"answer to {asked}"
        return give("maths", f"task of {asked}") if last(request) == asked else last(request)

    async def go() -> None:
        async with bot(script, look, agents=[spec("maths")]) as agent:
            runs = (agent.arun(f"q{n}", session=f"s{n}") for n in range(12))
            for n, result in enumerate(await asyncio.gather(*runs)):
                assert result.answer == f"answer to task of q{n}"
                assert [child.parent for child in agent.state.children_of(f"s{n}")] == [f"s{n}"]

    asyncio.run(go())
