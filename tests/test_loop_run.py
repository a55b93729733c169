"""The loop: it ends, it tells the model what went wrong, and it loses no call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.errors import ModelError, StateError
from remit.loop.answer_type import AnswerType
from remit.loop.events import (
    CallFinished,
    CallProposed,
    Event,
    RunEnded,
    RunStarted,
    StateChanged,
    TextDelta,
    TurnEnded,
    TurnStarted,
)
from remit.loop.guards import Limits
from remit.loop.terms import Terms
from remit.models.openai import OpenAIModel
from remit.models.protocol import ModelReply, ModelRequest, ToolCall, Usage
from remit.models.scripted import ScriptedModel, ask
from remit.state.store import State
from remit.values import Call, Result
from tests import model_server
from tests.loop_parts import Functions, ended, execute, lawful, new_run


def double(n: int) -> int:
    return 2 * n


def reply(*calls: ToolCall, text: str = "", finish: Any = "stop") -> ModelReply:
    return ModelReply(text=text, calls=calls, finish=finish)


def test_a_question_a_call_an_answer(tmp_path: Path) -> None:
    events: list[Event] = []
    model = ScriptedModel([ask("t.double", n=21), lambda request: f"It is {request.messages[-1].content}."])
    run = new_run(model, Functions(double=double), tmp_path, events=events, stream=True)
    result = execute(run, "What is 21 doubled?")
    assert (result.answer, result.status, result.stop_reason, result.steps) == ("It is 42.", "answered", "", 2)
    assert [(r.skill, r.value) for r in result.calls] == [("t.double", 42)]
    assert [m.role for m in run.transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert run.transcript.messages[1].calls[0].name == "t__double"
    assert [type(event) for event in events] == [
        RunStarted, StateChanged, TurnStarted, TurnEnded, StateChanged, CallProposed, CallFinished,
        StateChanged, TurnStarted, TextDelta, TurnEnded, StateChanged, RunEnded,
    ]  # fmt: skip
    assert [tool.name for tool in model.requests[0].tools] == ["t__double"]
    assert model.requests[0].messages[0].role == "system"
    assert result.usage.total_tokens


def test_the_session_and_the_turns_are_on_disk(tmp_path: Path) -> None:
    execute(new_run([ask("t.double", n=1), "2"], Functions(double=double), tmp_path))
    with State(tmp_path / "state") as state:
        saved = state.load_session("s1")
        assert saved is not None
        assert (saved.status, len(saved.transcript)) == ("answered", 4)
        turns = [record.body for record in state.records(event="turn.reply")]
    assert [turn["step"] for turn in turns] == [1, 2]
    assert turns[0]["calls"] == ["t__double"]
    assert "raw" not in turns[0]


def test_raw_turns_are_kept_when_asked_for(tmp_path: Path) -> None:
    with model_server.serve([model_server.text("hi")]) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        run = new_run(model, Functions(), tmp_path, keep_raw=True)

        async def play() -> None:
            await run.execute("go")
            await model.aclose()

        asyncio.run(play())
    with run.store as state:  # type: ignore[attr-defined]
        (request,) = state.records(event="turn.request")
        (answer,) = state.records(event="turn.reply")
    assert json.loads(request.body["raw"]) == server.bodies[0]
    assert json.loads(answer.body["raw"])["choices"][0]["message"]["content"] == "hi"


def test_errors_are_observations(tmp_path: Path) -> None:
    """L109: an unknown skill is told, and the good call beside it runs."""
    run = new_run([[ask("t__nothing"), ask("t__double", n=3)], "end"], Functions(double=double), tmp_path)
    result = execute(run)
    assert [r.status for r in result.calls] == ["invalid", "ok"]
    assert result.answer == "end"
    lawful(run.transcript.messages)


def test_leaked_template_tokens_are_cut_off(tmp_path: Path) -> None:
    """L108: and an illegal name is never echoed."""
    calls = [ToolCall(name="t__double<|channel|>x", arguments='{"n":1}'), ToolCall(name="a b\u00e9!", arguments="{}")]
    run = new_run([calls, "end"], Functions(double=double), tmp_path)
    assert [r.status for r in execute(run).calls] == ["ok", "invalid"]
    assert [c.name for c in run.transcript.messages[1].calls] == ["t__double", "a_b__"]


def test_the_same_id_twice_is_two_calls(tmp_path: Path) -> None:
    """L98."""
    same = [ToolCall(id="f:1", name="t__double", arguments=f'{{"n":{n}}}') for n in (1, 2, 3)]
    run = new_run([same[:2], same[2], "end"], Functions(double=double), tmp_path)
    assert [r.value for r in execute(run).calls] == [2, 4, 6]
    lawful(run.transcript.messages)


@pytest.mark.parametrize("arguments", ["", "  ", "null", "[1]", "{broken", '{"n": NaN}', '"x"', "9" * 5000])
def test_history_holds_valid_arguments(arguments: str, tmp_path: Path) -> None:
    """L51, L52: the pipeline gets what was written, endpoints get the text of an object."""
    functions = Functions(double=double)
    run = new_run([ToolCall(name="t__double", arguments=arguments), "end"], functions, tmp_path)
    execute(run)
    assert functions.calls[0].arguments == arguments
    assert run.transcript.messages[1].calls[0].arguments == "{}"


def test_an_answer_next_to_calls_is_kept(tmp_path: Path) -> None:
    """L130."""
    run = new_run([reply(ask("t.double", n=1), text="ok, calling"), "end"], Functions(double=double), tmp_path)
    assert execute(run).answer == "end"
    assert run.transcript.messages[1].content == "ok, calling"


def test_the_step_limit_is_exact(tmp_path: Path) -> None:
    """L124."""
    model = ScriptedModel(lambda request: ask("t.double", n=len(request.messages)))
    run = new_run(model, Functions(double=double), tmp_path, limits=Limits(steps=5))
    result = execute(run)
    assert (result.status, result.stop_reason) == ("stopped", "the step limit of 5 is reached")
    assert (len(model.requests), result.steps) == (5, 5)
    lawful(run.transcript.messages)


def again(_: ModelRequest) -> ModelReply:
    return reply(ToolCall(name="t.double", arguments='{ "n" : 7}'), text="Hm.")


def test_the_same_call_again_is_a_nudge_and_then_the_end(tmp_path: Path) -> None:
    """L125."""
    model = ScriptedModel(again)
    functions = Functions(double=double)
    run = new_run(model, functions, tmp_path, limits=Limits(steps=300))
    result = execute(run)
    assert result.status == "stopped"
    assert "t__double was made 3 times" in result.stop_reason
    assert [r.status for r in result.calls] == ["ok", "ok", "ok", "cancelled"]
    assert len(functions.calls) == 3
    assert [request.tool_choice for request in model.requests] == ["", "", "", "none"]
    assert result.answer == "Hm."
    lawful(run.transcript.messages)
    notes = [m.content for m in run.transcript.messages if m.origin == "loop"]
    assert len(notes) == 2
    assert "same arguments 2 times" in notes[0]
    assert "no more skills can be called" in notes[1]


def test_a_model_that_repeats_itself_may_still_answer(tmp_path: Path) -> None:
    run = new_run([again, again, again, "It is 14."], Functions(double=double), tmp_path)
    result = execute(run)
    assert (result.status, result.answer, len(result.calls)) == ("answered", "It is 14.", 3)


def test_the_same_call_with_other_results_may_be_made_longer(tmp_path: Path) -> None:
    turn = iter(range(1000))
    run = new_run(lambda _: ask("t.poll"), Functions(poll=lambda: next(turn)), tmp_path)
    result = execute(run)
    assert result.stop_reason == "the same call of t__poll was made 5 times"
    assert [r.status for r in result.calls].count("ok") == 5


def test_calls_that_never_fit_end_in_an_answer(tmp_path: Path) -> None:
    turn = iter(range(1000))
    model = ScriptedModel(
        lambda request: "I could not do it." if request.tool_choice == "none" else ask("t.double", m=next(turn))
    )
    result = execute(new_run(model, Functions(double=double), tmp_path))
    assert (result.status, result.answer, len(result.calls)) == ("answered", "I could not do it.", 5)


def test_the_last_step_is_for_the_answer(tmp_path: Path) -> None:
    """A call made in it could not be answered from."""
    model = ScriptedModel(
        lambda request: "14" if request.tool_choice == "none" else ask("t.double", n=len(request.messages))
    )
    result = execute(new_run(model, Functions(double=double), tmp_path, limits=Limits(steps=3)))
    assert (result.status, result.answer, result.steps) == ("answered", "14", 3)
    control = execute(new_run([ask("t.double", n=1)], Functions(double=double), tmp_path, limits=Limits(steps=1)))
    assert ([r.status for r in control.calls], control.status) == (["ok"], "stopped")


def test_every_call_of_a_result_has_its_events(tmp_path: Path) -> None:
    """Also those that come when the model may only answer, which are not made."""
    events: list[Event] = []
    run = new_run(
        lambda request: ask("t.double", n=len(request.messages)),
        Functions(double=double),
        tmp_path,
        limits=Limits(steps=3),
        events=events,
    )
    result = execute(run)
    assert [one.status for one in result.calls] == ["ok", "ok", "cancelled"]
    calls = [one.call for one in result.calls]
    assert [event.call.id for event in events if isinstance(event, CallProposed)] == calls
    assert [event.result.call for event in events if isinstance(event, CallFinished)] == calls


def test_two_calls_in_turn_end(tmp_path: Path) -> None:
    turn = iter(range(1000))
    limits = Limits(steps=300, nudge_repeats=90, same_results=99, most_repeats=99)
    run = new_run(lambda _: ask("t.double", n=next(turn) % 2), Functions(double=double), tmp_path, limits=limits)
    result = execute(run)
    assert result.stop_reason == "the same two steps alternated 4 times"
    assert [r.status for r in result.calls] == ["ok"] * 8 + ["cancelled"]


def test_different_calls_go_on(tmp_path: Path) -> None:
    script = [*(ask("t.double", n=n) for n in range(10)), "end"]
    assert execute(new_run(script, Functions(double=double), tmp_path)).status == "answered"


def test_empty_replies_are_asked_again_and_then_the_end(tmp_path: Path) -> None:
    run = new_run(["", "  ", "there"], Functions(), tmp_path)
    assert execute(run).answer == "there"
    notes = [m.content for m in run.transcript.messages if m.origin == "loop"]
    assert len(set(notes)) == 2
    result = execute(new_run(lambda _: "", Functions(), tmp_path))
    assert (result.status, result.stop_reason, result.steps) == ("stopped", "3 replies in a row were empty", 3)


def test_an_echo_of_what_the_loop_said_is_no_answer(tmp_path: Path) -> None:
    """A small model that is told that its reply was empty may repeat just that."""
    run = new_run(["", lambda request: request.messages[-1].content[:25], "there"], Functions(), tmp_path)
    assert (execute(run).answer, run.steps) == ("there", 3)
    control = new_run(["", "Your reply", "there"], Functions(), tmp_path)
    assert execute(control).answer == "Your reply"


def test_a_cut_call_never_runs(tmp_path: Path) -> None:
    """L88: the model is told of the limit; twice in a row is the end."""
    functions = Functions(double=double)
    cut = reply(ask("t.double", n=1), finish="length")
    run = new_run([cut, "end"], functions, tmp_path)
    assert execute(run).answer == "end"
    assert "output limit" in run.transcript.messages[-2].content
    result = execute(new_run(lambda _: cut, functions, tmp_path, limits=Limits(steps=10)))
    assert (result.steps, result.status) == (2, "stopped")
    assert functions.calls == []


def test_an_answer_that_was_cut_or_withheld_is_none(tmp_path: Path) -> None:
    for finish, reason in (("length", "output limit"), ("filter", "withheld")):
        result = execute(new_run([reply(text="It is", finish=finish)], Functions(), tmp_path))
        assert (result.status, result.answer) == ("stopped", "It is")
        assert reason in result.stop_reason


def denied(**_: Any) -> Result:
    return ended(Call(id="", skill="t.no", arguments="", session=""), "denied", "mail stays inside")


def test_three_denials_in_a_row_end(tmp_path: Path) -> None:
    turn = iter(range(99))
    result = execute(new_run(lambda _: ask("t.no", n=next(turn)), Functions(no=denied), tmp_path))
    assert (result.status, result.steps) == ("stopped", 3)
    assert result.stop_reason == "3 calls in a row were denied: mail stays inside"


def test_denials_with_something_between_go_on(tmp_path: Path) -> None:
    functions = Functions(no=denied, double=double)
    script = [ask("t.no"), ask("t.no", n=1), ask("t.double", n=1), ask("t.no", n=2), "end"]
    assert execute(new_run(script, functions, tmp_path)).status == "answered"


def test_a_parked_call_parks_the_run(tmp_path: Path) -> None:
    def park() -> Result:
        return ended(Call(id="", skill="t.park", arguments="", session=""), "parked", "waits for sign-off")

    run = new_run([[ask("t.park"), ask("t.double", n=1)]], Functions(park=park, double=double), tmp_path)
    result = execute(run)
    assert (result.status, result.stop_reason) == ("parked", "waits for sign-off")
    assert [r.status for r in result.calls] == ["parked", "parked"]
    lawful(run.transcript.messages)
    with State(tmp_path / "state") as state:
        saved = state.load_session("s1")
    assert saved is not None
    assert saved.status == "parked"


def test_an_endpoint_that_fails_ends_the_run_with_the_session_saved(tmp_path: Path) -> None:
    script = [ask("t.double", n=1), ModelError("the endpoint is down", remedy="start it")]
    result = execute(new_run(script, Functions(double=double), tmp_path))
    assert (result.status, result.stop_reason, result.remedy) == ("failed", "the endpoint is down", "start it")
    with State(tmp_path / "state") as state:
        saved = state.load_session("s1")
    assert saved is not None
    assert (saved.status, len(saved.transcript)) == ("failed", 3)


@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_fault_of_the_host_ends_the_run_and_loses_no_call(effect: Any, tmp_path: Path) -> None:
    def broken() -> None:
        raise StateError("the disk is full")

    run = new_run([[ask("t.double", n=1), ask("t.broken"), ask("t.double", n=2)]],
                  Functions(effect, broken=broken, double=double), tmp_path)  # fmt: skip
    result = execute(run)
    assert (result.status, result.stop_reason) == ("failed", "the disk is full")
    assert [r.status for r in result.calls] == ["ok", "failed", "ok" if effect == "read" else "failed"]
    lawful(run.transcript.messages)


def test_calls_that_only_read_run_together_and_come_in_order(tmp_path: Path) -> None:
    """L99, L122."""
    running: list[int] = []
    most: list[int] = []

    async def nap(n: int) -> int:
        running.append(n)
        most.append(len(running))
        while len(most) < together:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01 * (3 - n))
        running.remove(n)
        return n

    script = [[ask("t.nap", n=n) for n in range(3)], "end"]
    for effect, together in (("read", 3), ("write", 1)):
        most.clear()
        result = execute(new_run(script, Functions(effect, nap=nap), tmp_path))  # type: ignore[arg-type]
        assert [r.value for r in result.calls] == [0, 1, 2]
        assert max(most) == together


@pytest.mark.parametrize("effect", ["read", "write"])
def test_cancelling_saves_a_whole_session(effect: Any, tmp_path: Path) -> None:
    """L114: the real result, the call that was running, the call that never ran."""

    async def play(run: Any, started: asyncio.Event) -> None:
        task = asyncio.create_task(run.execute("go"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def main() -> Any:
        started = asyncio.Event()

        async def hang() -> None:
            started.set()
            await asyncio.sleep(60)

        script = [[ask("t.double", n=1), ask("t.hang"), ask("t.double", n=2)]]
        run = new_run(script, Functions(effect, double=double, hang=hang), tmp_path)
        await play(run, started)
        return run

    run = asyncio.run(main())
    lawful(run.transcript.messages)
    statuses = [m.status for m in run.transcript.messages if m.role == "tool"]
    assert statuses == (["ok", "cancelled", "ok"] if effect == "read" else ["ok", "cancelled", "cancelled"])
    saved = run.store.load_session("s1")
    run.store.close()
    assert (saved.status, len(saved.transcript)) == ("stopped", 5)


def test_cancelling_while_the_model_thinks(tmp_path: Path) -> None:
    with model_server.serve([model_server.text("late", delay=1.0)]) as server:

        async def main() -> Any:
            model = OpenAIModel("m", base_url=server.base_url)
            run = new_run(model, Functions(), tmp_path)
            task = asyncio.create_task(run.execute("go"))
            while not server.requests:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await model.aclose()
            return run

        run = asyncio.run(main())
    assert [m.content for m in run.transcript.messages] == ["go"]
    assert run.store.load_session("s1").status == "stopped"
    run.store.close()


def test_only_the_model_request_is_repeated(tmp_path: Path) -> None:
    """L119: a call that ran is never made again because a later request fails."""
    functions = Functions(double=double)
    plays = [model_server.calls(("t__double", {"n": 5})), *[model_server.error(503)] * 2, model_server.text("done")]
    with model_server.serve(plays) as server:
        from remit.models.retry import Retries

        async def main() -> Any:
            model = OpenAIModel("m", base_url=server.base_url, retries=Retries(first=0.001))
            run = new_run(model, functions, tmp_path)
            result = await run.execute("go")
            await model.aclose()
            run.store.close()  # type: ignore[attr-defined]
            return result

        assert asyncio.run(main()).answer == "done"
    assert len(functions.calls) == 1
    assert server.bodies[-1]["messages"][-1] == {"role": "tool", "tool_call_id": "c0", "content": "10"}


def test_usage_is_unknown_where_one_turn_did_not_say(tmp_path: Path) -> None:
    script = [reply(ask("t.double", n=1)), ModelReply(text="x", usage=Usage(input_tokens=3, output_tokens=1))]
    assert execute(new_run(script, Functions(double=double), tmp_path)).usage == Usage()


CALLS = st.builds(
    ToolCall,
    id=st.sampled_from(["", "a", "b", "c00000001", "x" * 70]),
    name=st.sampled_from(["t__double", "t.double", "t__no", "t__fail", "nothing", "", "<|x|>", "\u00e9"]),
    arguments=st.sampled_from(["", "{}", '{"n":1}', '{"n":2}', "[", "null", '{"n":1e999}']) | st.text(max_size=5),
)
REPLIES = st.builds(
    ModelReply,
    text=st.sampled_from(["", " ", "hm", "\udc80", "Let me check that.", '{"a": 1}']),
    calls=st.lists(CALLS, max_size=3).map(tuple),
    finish=st.sampled_from(["stop", "stop", "stop", "length", "filter"]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    replies=st.lists(REPLIES, max_size=8),
    effect=st.sampled_from(["read", "write"]),
    steps=st.integers(1, 9),
    tokens=st.none() | st.integers(1, 400),
    terms=st.builds(
        Terms,
        required=st.sampled_from([(), ("t.double",)]),
        first=st.sampled_from(["auto", "required", "t.double", "none"]),
        answer=st.sampled_from([None, AnswerType(dict[str, int])]),
    ),
)
def test_the_laws_hold_whatever_a_model_does(
    replies: list[ModelReply], effect: Any, steps: int, tokens: int | None, terms: Terms, tmp_path: Path
) -> None:
    seen: list[ModelRequest] = []

    def script(request: ModelRequest) -> ModelReply:
        lawful(request.messages)
        seen.append(request)
        return replies[(len(seen) - 1) % len(replies)] if replies else reply(text="")

    def fail() -> None:
        raise ValueError("no")

    functions = Functions(effect, double=double, no=denied, fail=fail)
    run = new_run(script, functions, tmp_path, limits=Limits(steps=steps, tokens=tokens), terms=terms)
    result = execute(run)
    if terms.answer is not None and result.status == "answered":
        assert isinstance(result.value, dict)
    if result.status == "answered":
        assert {call.skill for call in result.calls} >= set(terms.required)
    assert len(seen) == result.steps <= steps
    assert result.status in ("answered", "stopped")
    assert bool(result.stop_reason) == (result.status == "stopped")
    lawful(run.transcript.messages)
    made = sum(len(m.calls) for m in run.transcript.messages)
    assert made == len(result.calls)


class Watched(State):
    """Keeps what was saved as (messages, status, durable)."""

    def save_session(
        self, session: str, transcript: Any, *, status: str, durable: bool = True, same: int = 0, records: Any = ()
    ) -> None:
        self.saved = [*getattr(self, "saved", []), (len(transcript), status, durable)]
        super().save_session(session, transcript, status=status, durable=durable, same=same, records=records)


@pytest.mark.parametrize(("effect", "first"), [("write", True), ("read", False)])
def test_a_session_is_on_the_disk_before_anything_changes_and_at_the_end(
    effect: Any, first: bool, tmp_path: Path
) -> None:
    store = Watched(tmp_path / "state")
    execute(new_run([ask("t.double", n=1), "2"], Functions(effect, double=double), tmp_path, store=store))
    assert store.saved == [
        (1, "running", False),
        (2, "running", first),
        (3, "running", False),
        (4, "answered", True),
    ]
