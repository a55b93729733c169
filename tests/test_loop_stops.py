"""Who is told what went wrong, what a run that stopped has to show, and longer ways of going round in circles."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remit.errors import EnforcementError, ModelError, RemitError, StateError
from remit.loop.guards import Limits
from remit.models.protocol import ModelDelta, ModelReply, ModelRequest, OnDelta, ToolCall
from remit.models.scripted import ScriptedModel, ask
from remit.state.store import State
from remit.values import Call, Status
from remit_sandbox.errors import CannotConfine, SandboxError, SupervisorError
from tests.loop_parts import Functions, ended, execute, lawful, new_run

FREE = Limits(steps=40, window=40, nudge_repeats=99, same_results=99, most_repeats=99, near_repeats=99)


def cycle(length: int) -> Any:
    turn = iter(range(1_000))
    return lambda request: "what I have" if request.tool_choice == "none" else ask("t.look", n=next(turn) % length)


@pytest.mark.parametrize("length", [2, 3, 4, 6])
def test_the_same_calls_in_a_circle_end_however_long_it_is(length: int, tmp_path: Path) -> None:
    run = new_run(cycle(length), Functions(look=lambda n: n), tmp_path, limits=Limits(steps=40))
    result = execute(run)
    assert (result.status, result.answer) == ("answered", "what I have")
    assert len(result.calls) == 2 * length + 1, "the third time that the same call gives the same"
    free = execute(new_run(cycle(length), Functions(look=lambda n: n), tmp_path, limits=replace(FREE, most_pairs=99)))
    assert len(free.calls) > 30, "without the guard it goes on"


def test_a_circle_of_calls_that_give_something_new_may_go_on_longer(tmp_path: Path) -> None:
    turn = iter(range(1_000))
    result = execute(
        new_run(cycle(3), Functions(look=lambda n: next(turn)), tmp_path, limits=Limits(steps=40)),
    )
    assert len(result.calls) == 4 * 3 + 1, "the fifth time that the same call is made"


class Begins(ScriptedModel):
    """Begins to say something, and comes to no end."""

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        if len(self.requests) == len(self.said):
            assert on_delta is not None
            on_delta(ModelDelta(kind="text", text="It is prob"))
            await asyncio.sleep(60)
        return await super().complete(request, on_delta=on_delta)

    def __init__(self, *said: Any) -> None:
        super().__init__(said)
        self.said = said


@pytest.mark.parametrize(
    ("script", "answer"),
    [((), "It is prob"), ((ModelReply(text="First:", calls=(ask("t.look", n=1),)),), "First:")],
)
def test_what_was_begun_to_be_said_is_better_than_nothing(script: Any, answer: str, tmp_path: Path) -> None:
    run = new_run(
        Begins(*script), Functions(look=lambda n: n), tmp_path, limits=Limits(seconds=2.0), stream=True
    )  # fmt: skip
    result = execute(run)
    assert (result.status, result.answer) == ("stopped", answer)
    assert result.stop_reason == "the time limit of 2 s is reached"
    assert "prob" not in str(run.transcript.to_json()), "half a turn is none"


def speaking(*calls: ToolCall) -> Any:
    return lambda _: ModelReply(text="So far: nothing.", calls=calls)


def test_every_stop_has_a_reason_and_the_last_that_was_said(tmp_path: Path) -> None:
    def status(kind: Status, **more: Any) -> Any:
        call = Call(id="", skill="t.do", arguments="", session="")
        return lambda **_: replace(ended(call, kind, "because"), **more)

    for name, work, limits, reason in [
        ("steps", lambda n: n, Limits(steps=3), "the step limit of 3 is reached"),
        ("denied", status("denied"), Limits(), "3 calls in a row were denied: because"),
        ("person", status("cancelled", stop=True), Limits(), "a person stopped the run"),
        ("same", lambda n: n, Limits(), "the same call of t__do was made 3 times"),
        ("invalid", status("invalid"), Limits(most_repeats=99, same_results=99), "no call fitted its skill"),
        ("empty", lambda n: [], Limits(most_repeats=99, same_results=99), "everything that was read was empty"),
        ("tokens", lambda n: n, Limits(tokens=90), "the limit of 90 tokens is reached"),
    ]:
        functions = Functions("read" if name == "empty" else "write", do=work)
        result = execute(new_run(speaking(ask("t.do", n=1)), functions, tmp_path / name, limits=limits))
        assert (result.status, result.answer) == ("stopped", "So far: nothing."), name
        assert reason in result.stop_reason, name


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (StateError("the disk is full"), "the disk is full"),
        (EnforcementError("this kernel has no Landlock"), "Landlock"),
        (CannotConfine(["there is no Landlock"]), "no Landlock"),
        (SupervisorError("the supervisor is gone"), "supervisor"),
    ],
)
def test_a_fault_of_the_host_is_for_who_runs_it_and_never_for_the_model(
    fault: RemitError | SandboxError, words: str, tmp_path: Path
) -> None:
    def broken() -> None:
        raise fault

    with State(tmp_path / "state") as state:
        model = ScriptedModel([ModelReply(text="Wait.", calls=(ask("t.broken"), ask("t.fine"))), "never said"])
        functions = Functions(broken=broken, fine=lambda: 1)
        run = new_run(model, functions, tmp_path, store=state, instead=lambda r: f"Sorry ({r.status}).")
        result = asyncio.run(run.execute("go"))
        assert (result.status, result.answer) == ("failed", "Sorry (failed).")
        assert words in result.stop_reason and len(model.requests) == 1
        saved = state.load_session("s1")
        assert saved is not None and saved.status == "failed"
        lawful(run.transcript.messages)
        told = [message.content for message in run.transcript.messages if message.role == "tool"]
        assert len(told) == 2 and not any(words in text for text in told)
        again = new_run(["Now it works."], functions, tmp_path, store=state, messages=list(run.transcript.messages))
        assert asyncio.run(again.resume()).answer == "Now it works."


@pytest.mark.parametrize("status", ["invalid", "denied", "timeout", "failed", "lost"])
def test_what_a_model_can_act_on_is_told_to_it_and_the_run_goes_on(status: Any, tmp_path: Path) -> None:
    call = Call(id="", skill="t.do", arguments="", session="")
    told = ended(call, status, "what to do about it")
    result = execute(new_run([ask("t.do"), lambda r: r.messages[-1].content], Functions(do=lambda: told), tmp_path))
    assert (result.status, result.answer) == ("answered", "what to do about it")


def test_a_model_that_fails_is_no_result_of_a_call(tmp_path: Path) -> None:
    run = new_run([ask("t.do"), ModelError("out of order")], Functions(do=lambda: 1), tmp_path)
    result = execute(run)
    assert (result.status, result.stop_reason) == ("failed", "out of order")
    assert [one.status for one in result.calls] == ["ok"]
