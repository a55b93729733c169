"""States of a run: random models, interruptions and cancellations never leave what is legal.

`REMIT_RUNS=2000` tries so many random runs in each test.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.errors import ModelError, StateError
from remit.loop.events import (
    CallFinished,
    CallProgress,
    Delegated,
    Event,
    RunEnded,
    StateChanged,
    TextDelta,
    TurnRetried,
    TurnStarted,
)
from remit.loop.guards import Limits
from remit.loop.outcome import RunResult
from remit.loop.recall import Recall
from remit.loop.run import Run
from remit.loop.states import NEXT, OVER, Course
from remit.loop.transcript import Transcript
from remit.models.protocol import ModelReply, ModelRequest, OnDelta, ToolCall
from remit.models.scripted import ScriptedModel, ask
from remit.state.store import State
from remit.values import Call, Result
from tests.loop_parts import Functions, ended, execute, lawful, new_run

RUNS = int(os.environ.get("REMIT_RUNS", "20"))

pytestmark = pytest.mark.timeout(120 + RUNS)

MODEST = settings(max_examples=RUNS, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class Killed(BaseException):
    """The process dies here: nothing that it would do afterwards is done."""


class Logged(Functions):
    """Writes to the log what the pipeline would, and counts what was done."""

    def __init__(self, state: State, **functions: Callable[..., Any]) -> None:
        super().__init__("write", **functions)
        self.state = state
        self.done: list[str] = []

    async def call(self, call: Call) -> Result:
        await asyncio.sleep(0)
        self.state.append("call.started", session=call.session, call=call.id)
        result = await super().call(call)
        self.done.append(f"{call.skill} {call.arguments}")
        body = {"status": result.status, "labels": [], "structured": isinstance(result.value, (dict, list))}
        sealed = {"text": result.text, "reason": result.reason}
        self.state.append(
            "call.finished", session=call.session, skill=call.skill, call=call.id, body=body, sealed=sealed
        )
        return result


class Pausing(ScriptedModel):
    """Gives others a turn before and after its own, as an endpoint does."""

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        await asyncio.sleep(0)
        reply = await super().complete(request, on_delta=on_delta)
        await asyncio.sleep(0)
        return reply


class Mortal(State):
    """A state in which nothing can be written any more once its process is dead; it need not survive a power cut."""

    dead = False

    def append(self, *args: Any, **options: Any) -> int:
        self._alive()
        return super().append(*args, **{**options, "durable": False})

    def save_session(self, *args: Any, **options: Any) -> None:
        self._alive()
        super().save_session(*args, **{**options, "durable": False})

    def _alive(self) -> None:
        if self.dead:
            raise StateError("the process is dead")


def refused(n: int) -> Result:
    return ended(Call(id="", skill="t.refused", arguments="", session=""), "denied", f"not {n}")


async def slow(n: int) -> list[int]:
    await asyncio.sleep(0)
    return [n, n]


def nothing() -> list[int]:
    return []


SKILLS: dict[str, Callable[..., Any]] = {"twice": lambda n: 2 * n, "refused": refused, "slow": slow, "nothing": nothing}


def scripted(seed: int) -> Callable[[ModelRequest], Any]:
    """Return a model whose turns follow from what it was shown alone, and may be anything that models do."""

    def turn(request: ModelRequest) -> Any:
        rolled = random.Random(f"{seed} {[message.content for message in request.messages]}")
        n = rolled.randrange(3)
        kinds: list[Any] = [
            f"It is {n}.",
            "Let me look that up.",
            "",
            ask("t.twice", n=n),
            ask("t.slow", n=n),
            [ask("t.slow", n=n), ask("t.twice", n=n), ask("t.refused", n=n)],
            ask("t.nothing"),
            ask("t.unknown", n=n),
            ToolCall(name="t__twice", arguments='{"n": 1'),
            ToolCall(name="t__twice", arguments="{'n': 2}", repaired=True),
            ModelReply(text="cut", calls=(ask("t.twice", n=n),), finish="length"),
            ModelReply(text="<tool_call>{broken</tool_call>"),
            ModelReply(text="half", finish="filter") if rolled.random() < 0.1 else ask("t.twice", n=n + 7),
            ModelError("down") if rolled.random() < 0.1 else ask("t.slow", n=n + 7),
        ]
        return rolled.choices(kinds, weights=[1, 2, 2, *[3] * 11])[0]

    return turn


def check_course(events: list[Event], status: str | None) -> list[StateChanged]:
    """Assert that the transitions hang together, are legal, and end in `status`."""
    changes = [event for event in events if isinstance(event, StateChanged)]
    assert changes[0].old is None
    for change, following in itertools.pairwise(changes):
        assert change.new == following.old
    for change in changes:
        assert change.new in NEXT[change.old]
    assert [change.new for change in changes if change.new in OVER] == ([status] if status else [])
    return changes


def test_the_table_of_states() -> None:
    states = {state for state in NEXT if state is not None}
    assert set().union(*NEXT.values()) == states
    assert all(not NEXT[state] for state in OVER)
    course = Course("s", lambda _: None)
    course.to("thinking")
    course.to("answered")
    with pytest.raises(RuntimeError, match="from answered to thinking"):
        course.to("thinking")


def waiting_run(tmp_path: Path, events: list[Event], effect: Any = "write") -> Run:
    """Return a run in which two calls ask a person."""
    runs: list[Run] = []

    async def asked(n: int) -> int:
        for kind in ("asking", "answered"):
            runs[0].hear(CallProgress(session="s1", call=f"c{n:08d}", skill="t.asked", kind=kind))  # type: ignore[arg-type]
            await asyncio.sleep(0)
        return n

    script = [[ask("t.asked", n=1), ask("t.asked", n=2)], "done"]
    runs.append(new_run(script, Functions(effect, asked=asked), tmp_path, events=events))
    return runs[0]


@pytest.mark.parametrize(("effect", "times"), [("write", 2), ("read", 1)])
def test_a_run_waits_while_a_person_is_asked(effect: Any, times: int, tmp_path: Path) -> None:
    events: list[Event] = []
    result = execute(waiting_run(tmp_path, events, effect))
    changes = check_course(events, "answered")
    waits = [change for change in changes if change.new == "waiting"]
    assert len(waits) == times and result.status == "answered"
    assert {change.reason for change in waits} == {"t.asked waits for a person's answer"}
    assert [change.new for change in changes if change.old == "waiting"] == ["acting"] * times


def test_a_run_waits_while_an_endpoint_is_given_a_rest(tmp_path: Path) -> None:
    events: list[Event] = []
    course = Course("s", events.append)
    course.to("thinking")
    course.hear(TurnRetried(session="s", step=1, reason="503", wait=2.0))
    course.hear(TurnRetried(session="s", step=1, reason="503 again", wait=4.0))
    assert course.state == "waiting"
    course.hear(TextDelta(session="s", step=1, text="so"))
    course.hear(TurnRetried(session="s", step=1, reason="another is asked", wait=0.0))
    assert [(e.new, e.reason) for e in events if isinstance(e, StateChanged)] == [
        ("thinking", ""),
        ("waiting", "503"),
        ("thinking", ""),
    ]


def test_a_run_waits_with_the_agent_that_it_asked() -> None:
    events: list[Event] = []
    course = Course("s", events.append)
    course.to("acting")

    def inside(event: Event) -> Delegated:
        return Delegated(session="s", call="c1", agents=("helper",), inner=event)

    asking = CallProgress(session="child", call="c1", skill="t.send", kind="asking")
    course.hear(inside(asking))
    assert course.state == "waiting"
    course.hear(inside(TurnRetried(session="child", step=1, reason="503", wait=1.0)))
    assert course.state == "waiting"
    course.hear(inside(CallProgress(session="child", call="c1", skill="t.send", kind="answered")))
    assert course.state == "acting"
    assert [event.reason for event in events if isinstance(event, StateChanged)][1] == (
        "t.send waits for a person's answer"
    )


def test_who_listens_and_fails_does_not_keep_the_session_from_being_saved(tmp_path: Path) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, StateChanged) and event.new == "acting":
            raise ValueError("no")

    with State(tmp_path / "state") as state:
        run = new_run([ask("t.double", n=1)], Functions(double=lambda n: n), tmp_path, store=state, emit=listen)
        with pytest.raises(ValueError, match="no"):
            asyncio.run(run.execute("go"))
        saved = state.load_session("s1")
    assert saved is not None and saved.status == "stopped"
    lawful(Transcript.from_json(saved.transcript).messages)


class Left(NamedTuple):
    """What is there when a run is over."""

    result: RunResult
    transcript: list[dict[str, Any]]
    done: list[str]
    changes: int


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mortal]:
    with Mortal(tmp_path_factory.mktemp("state")) as opened:
        yield opened


def run_of(seed: int, caller: Logged, session: str, emit: Callable[[Event], None]) -> Run:
    """Return a run over what the state has of the session."""
    state = caller.state
    saved = state.load_session(session)
    messages = saved.transcript if saved is not None else ()
    run = new_run(
        Pausing(scripted(seed)), caller, Path(), store=state, emit=emit, limits=Limits(steps=8), session=session
    )
    run.transcript = Transcript.from_json(messages, keep_open=True)
    run.recall = Recall(state, session, caller.skills, saved.status if saved is not None else "").of
    return run


def whole(seed: int, state: Mortal) -> Left:
    events: list[Event] = []
    caller = Logged(state, **SKILLS)
    run = run_of(seed, caller, secrets.token_hex(8), events.append)
    result = asyncio.run(run.execute("go"))
    return Left(result, run.transcript.to_json(), caller.done, len(check_course(events, result.status)))


def killed(seed: int, state: Mortal, dies: Callable[[Event], bool]) -> Left:
    """Run, die where `dies` says so, and go on in another process as often as that happens."""
    session, done, begun = secrets.token_hex(8), [], False
    while True:
        events: list[Event] = []

        def emit(event: Event, events: list[Event] = events) -> None:
            events.append(event)
            if dies(event):
                state.dead = True
                raise Killed

        caller = Logged(state, **SKILLS)
        run = run_of(seed, caller, session, emit)
        try:
            result = asyncio.run(run.resume() if begun else run.execute("go"))
        except Killed:
            state.dead, begun, done = False, True, done + caller.done
            saved = state.load_session(session)
            assert saved is not None
            if saved.status in OVER:  # all was done, but for telling it
                status, reason = run._outcome or ("failed", "")
                return Left(run._result(status, reason), [*saved.transcript], done, 0)  # type: ignore[list-item]
            continue
        check_course(events, result.status)
        return Left(result, run.transcript.to_json(), done + caller.done, 0)


@MODEST
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 9))
def test_a_random_run_is_lawful_and_its_states_are_legal(seed: int, steps: int, state: Mortal) -> None:
    events: list[Event] = []
    run = new_run(
        scripted(seed),
        Functions(**SKILLS),
        Path(),
        store=state,
        session=secrets.token_hex(8),
        events=events,
        limits=Limits(steps=steps),
        stream=True,
    )
    result = asyncio.run(run.execute("go"))
    lawful(run.transcript.messages)
    check_course(events, result.status)
    assert result.steps <= steps
    assert run.state == result.status
    turns = [event.step for event in events if isinstance(event, TurnStarted)]
    assert turns == list(range(1, result.steps + 1))
    assert isinstance(events[-1], RunEnded) and isinstance(events[-2], StateChanged)


@MODEST
@given(seed=st.integers(0, 10**6), at=st.integers(1, 30))
def test_a_run_that_dies_between_two_transitions_and_goes_on_equals_one_that_did_not(
    seed: int, at: int, state: Mortal
) -> None:
    plain = whole(seed, state)
    left = [1 + at % plain.changes]

    def dies(event: Event) -> bool:
        left[0] -= isinstance(event, StateChanged)
        return left[0] == 0 and isinstance(event, StateChanged)

    again = killed(seed, state, dies)
    assert again.transcript == plain.transcript
    assert again.done == plain.done
    for name in ("status", "stop_reason", "answer", "steps"):
        assert getattr(again.result, name) == getattr(plain.result, name)


@MODEST
@given(seed=st.integers(0, 10**6), at=st.integers(2, 80))
def test_a_run_that_dies_anywhere_makes_no_call_twice_and_loses_none(seed: int, at: int, state: Mortal) -> None:
    left = [at]

    def dies(event: Event) -> bool:
        left[0] -= 1
        return left[0] == 0

    again = killed(seed, state, dies)
    lawful(Transcript.from_json(again.transcript).messages)
    calls = [call.get("named", call["name"]) for message in again.transcript for call in message.get("calls", ())]
    results = [message for message in again.transcript if message["role"] == "tool"]
    ran = [name for name, result in zip(calls, results, strict=True) if result["status"] != "cancelled"]
    assert [line.split()[0].replace("__", ".") for line in again.done] == [name.replace("__", ".") for name in ran]


@pytest.mark.parametrize("seed", [3, 7, 11])
def test_a_run_that_is_cancelled_anywhere_is_saved_lawfully_and_can_go_on(seed: int, state: Mortal) -> None:
    rounds = 1
    while not asyncio.run(_ended_before(seed, state, rounds)):
        rounds += 1
    assert rounds > 5


async def _ended_before(seed: int, state: Mortal, turns: int) -> bool:
    """Cancel a run after so many turns of the event loop and go on with it; True when it ended before."""
    events: list[Event] = []
    caller, session = Logged(state, **SKILLS), secrets.token_hex(8)
    run = run_of(seed, caller, session, events.append)
    task = asyncio.create_task(run.execute("go"))
    for _ in range(turns):
        await asyncio.sleep(0)
    if task.done():
        return True
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    if not events:  # before it began
        return False
    assert check_course(events, "stopped")[-1].reason == "cancelled"
    saved = state.load_session(session)
    assert saved is not None and saved.status == "stopped"
    lawful(Transcript.from_json(saved.transcript).messages)
    assert [*saved.transcript] == run.transcript.to_json()
    going_on = run_of(seed, caller, session, (more := []).append)
    result = await going_on.resume()
    check_course(more, result.status)
    lawful(going_on.transcript.messages)
    assert going_on.transcript.to_json()[: len(saved.transcript)] == [*saved.transcript]
    ids = [event.call.id for event in more if isinstance(event, CallFinished)]
    assert len(ids) == len(set(ids))
    return False
