"""The calls of one turn: order, parallel reads, faults, and what a sign-off holds up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.deployment.try_pack import try_pack
from remit.errors import StateError
from remit.loop.acting import Round
from remit.loop.depending import independent
from remit.loop.events import CallFinished, CallProgress, Event
from remit.loop.recall import Recall
from remit.loop.transcript import Transcript
from remit.models.scripted import ask
from remit.skills import Skill
from remit.state.store import State
from remit.values import Call, Effect, Result
from remit_sandbox.values import CellSpec, Rights
from tests.loop_parts import Functions, ended, lawful, new_run

PURE = CellSpec(pack="calc", package="calc")


def skill(name: str, effect: Effect, *, pack: str = "t", cell: CellSpec | None = None) -> Skill:
    return Skill(pack=pack, name=name, description="", schema={"type": "object"}, effect=effect, cell=cell)


WRITE, EXTERNAL, READ = skill("write", "write"), skill("send", "external"), skill("read", "read")
CALC = skill("evaluate", "read", pack="calc", cell=PURE)


@pytest.mark.parametrize(
    ("call", "earlier", "free"),
    [
        (READ, READ, True),
        (CALC, WRITE, True),
        (CALC, EXTERNAL, True),
        (READ, WRITE, False),
        (WRITE, READ, False),
        (WRITE, WRITE, False),
        (CALC, skill("keep", "write", pack="calc"), False),
        (replace(CALC, effect="write"), WRITE, False),
        (replace(CALC, confined=False), WRITE, False),
        (replace(CALC, cell=None), WRITE, False),
        (replace(CALC, cell=replace(PURE, enforcement="available")), WRITE, False),
        (replace(CALC, cell=replace(PURE, data="/d")), WRITE, False),
        (replace(CALC, cell=replace(PURE, workspace="/w")), WRITE, False),
        *(
            (replace(CALC, cell=replace(PURE, rights=rights)), WRITE, False)
            for rights in (
                Rights(read=("/a/**",)),
                Rights(write=("/a/**",)),
                Rights(net=("a.example:443",)),
                Rights(exec=("/bin/true",)),
                Rights(shm=True),
            )
        ),
        (None, WRITE, False),
        (CALC, None, False),
    ],
)
def test_what_does_not_depend_on_a_call_before_it(call: Skill | None, earlier: Skill | None, free: bool) -> None:
    assert independent(call, earlier) is free


@pytest.mark.confinement
def test_the_calculator_waits_for_nobody() -> None:
    with try_pack(Path(__file__).parent.parent / "plugins/remit-calc") as deployment:
        assert deployment.skills
        assert all(independent(one, WRITE) for one in deployment.skills.values())


class Team(Functions):
    """Skills of several effects: `write`, `read`, `calc`; what each does is a function of its argument."""

    def __init__(self, work: Callable[[Call], Any]) -> None:
        super().__init__()
        self.skills = {"t.write": WRITE, "t.read": READ, "calc.evaluate": CALC}
        self.work = work

    async def call(self, call: Call) -> Result:
        self.calls.append(call)
        result = self.work(call)
        result = await result if asyncio.iscoroutine(result) else result
        return result if isinstance(result, Result) else ended(call, "ok", f"done {call.id}")


def batch(*names: str) -> list[Call]:
    return [Call(id=f"{number}", skill=name, arguments="{}", session="s") for number, name in enumerate(names)]


def made(work: Callable[[Call], Any], *names: str, parallel: int = 8) -> tuple[list[str], list[str]]:
    """Make a batch of calls; return how each ended, and which were really made, in that order."""
    team, events = Team(work), list[Event]()
    calls = batch(*names)
    results = asyncio.run(Round(team, events.append, parallel=parallel).run(calls))
    assert [result.call for result in results] == [call.id for call in calls]
    finished = [event.call.id for event in events if isinstance(event, CallFinished)]
    assert sorted(finished) == [call.id for call in calls]
    return [result.status for result in results], [call.id for call in team.calls]


def parks(*numbers: str) -> Callable[[Call], Result | None]:
    return lambda call: ended(call, "parked", "waits") if call.id in numbers else None


@pytest.mark.parametrize(
    ("names", "parked", "statuses", "ran"),
    [
        (["t.write", "t.write"], "0", ["parked", "parked"], "0"),
        (["t.write", "calc.evaluate", "t.read", "calc.evaluate"], "0", ["parked", "ok", "parked", "ok"], "013"),
        (["t.read", "t.read", "t.write", "t.read"], "0", ["parked", "ok", "parked", "parked"], "01"),
        (["t.read", "t.read", "t.read"], "1", ["ok", "parked", "ok"], "012"),
        (["t.write", "calc.evaluate", "t.write"], "01", ["parked", "parked", "parked"], "01"),
        (["t.write", "t.read", "t.write"], "", ["ok", "ok", "ok"], "012"),
    ],
)
def test_a_parked_call_holds_up_only_what_may_depend_on_it(
    names: list[str], parked: str, statuses: list[str], ran: str
) -> None:
    assert made(parks(*parked), *names) == (statuses, [*ran])


def test_what_does_not_depend_on_a_question_goes_on_while_a_person_thinks() -> None:
    answered, order = asyncio.Event(), list[str]()

    async def work(call: Call) -> None:
        if call.id == "0":
            making.heard(CallProgress(session="s", call="0", skill="t.write", kind="asking"))
            await asyncio.wait_for(answered.wait(), 10)
        order.append(call.id)
        if call.id == "2":
            answered.set()

    making = Round(Team(work), lambda _: None, parallel=8)
    results = asyncio.run(making.run(batch("t.write", "t.write", "calc.evaluate")))
    assert [result.status for result in results] == ["ok"] * 3
    assert order == ["2", "0", "1"]


def test_a_parked_batch_goes_on_with_what_waited_and_nothing_is_made_twice(tmp_path: Path) -> None:
    calls = [ask("t.write", n=0), ask("calc.evaluate", n=1), ask("t.read", n=2), ask("calc.evaluate", n=3)]
    with State(tmp_path / "state") as state:
        team = Team(parks("c00000001"))
        run = new_run([calls], team, tmp_path, store=state)
        result = asyncio.run(run.execute("go"))
        assert result.status == "parked" and result.stop_reason == "waits"
        assert [one.status for one in result.calls] == ["parked", "ok", "parked", "ok"]
        lawful(run.transcript.messages)
        for allowed, made in [(False, ["c00000001"]), (True, ["c00000001", "c00000003"])]:
            saved = state.load_session("s1")
            assert saved is not None and saved.status == "parked"
            team = Team((lambda _: None) if allowed else parks("c00000001"))
            run = new_run(["Done."], team, tmp_path, store=state)
            run.transcript = Transcript.from_json(saved.transcript, keep_open=True)
            run.recall = Recall(state, "s1", team.skills, saved.status).of
            result = asyncio.run(run.resume())
            assert [call.id for call in team.calls] == made
            lawful(run.transcript.messages)
    assert (result.status, result.answer) == ("answered", "Done.")
    told = [message for message in run.transcript.messages if message.role == "tool"]
    assert [message.content for message in told] == [f"done c0000000{n}" for n in (1, 2, 3, 4)]


def test_without_a_question_everything_is_in_order() -> None:
    order: list[str] = []

    async def work(call: Call) -> None:
        await asyncio.sleep(0)
        order.append(call.id)

    making = Round(Team(work), lambda _: None, parallel=8)
    asyncio.run(making.run(batch("t.write", "t.write", "calc.evaluate", "t.read", "t.write")))
    assert order == [*"01234"]


def test_a_person_who_stops_the_run_stops_what_did_not_begin() -> None:
    def work(call: Call) -> Result | None:
        return replace(ended(call, "cancelled", "no"), stop=True) if call.id == "1" else None

    statuses, ran = made(work, "t.write", "t.write", "calc.evaluate", "t.write")
    assert (statuses, ran) == (["ok", "cancelled", "cancelled", "cancelled"], ["0", "1"])


@pytest.mark.parametrize("names", [["t.write"] * 4, ["t.read"] * 4, ["t.write", "calc.evaluate", "t.read", "t.write"]])
@pytest.mark.parametrize("fails", range(4))
def test_a_call_that_fails_never_loses_the_others(names: list[str], fails: int) -> None:
    def work(call: Call) -> Result | None:
        return ended(call, "failed", "broken") if call.id == str(fails) else None

    statuses, ran = made(work, *names)
    assert statuses == ["failed" if number == fails else "ok" for number in range(4)]
    assert sorted(ran) == [*"0123"]


@pytest.mark.parametrize("name", ["t.write", "t.read"])
def test_a_fault_of_the_host_keeps_the_results_that_there_are(name: str) -> None:
    def work(call: Call) -> None:
        if call.id == "1":
            raise StateError("the disk is full")

    making = Round(Team(work), lambda _: None, parallel=1)
    with pytest.raises(StateError):
        asyncio.run(making.run(batch(name, name, name)))
    statuses = [result.status for result in making.results(cancelled=False)]
    assert statuses[:2] == ["ok", "failed"] and len(statuses) == 3


def test_reads_run_together_up_to_the_limit_and_in_the_order_of_the_calls() -> None:
    now = most = 0

    async def work(call: Call) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01 if call.id == "0" else 0)
        now -= 1

    making = Round(Team(work), lambda _: None, parallel=3)
    results = asyncio.run(making.run(batch(*["t.read"] * 9)))
    assert [result.call for result in results] == [*"012345678"]
    assert most == 3


def test_known_results_are_not_made_again() -> None:
    team = Team(lambda _: None)
    calls = batch("t.write", "t.write", "t.write")
    known = {"0": ended(calls[0], "ok", "from before")}
    results = asyncio.run(Round(team, lambda _: None, parallel=8).run(calls, known))
    assert [result.text for result in results] == ["from before", "done 1", "done 2"]
    assert [call.id for call in team.calls] == ["1", "2"]
