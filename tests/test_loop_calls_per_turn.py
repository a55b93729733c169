"""How many calls of one reply are made does not depend on which model wrote it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from remit.loop.in_text import TextInterpreter
from remit.loop.interpreter import MOST_CALLS
from remit.loop.outcome import RunResult
from remit.models.openai import OpenAIModel
from remit.models.protocol import Model, ModelReply, ModelRequest, OnDelta, ToolCall
from remit.models.scripted import ScriptedModel, ask
from tests import model_server
from tests.loop_parts import Functions, execute, lawful, new_run

MANY = MOST_CALLS + 44


def one(n: int) -> int:
    return n


class Own:
    """A model of somebody's program."""

    def __init__(self, replies: list[ModelReply]) -> None:
        self.name = "own"
        self.requests: list[ModelRequest] = []
        self._replies = replies

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        self.requests.append(request)
        return self._replies.pop(0)

    async def aclose(self) -> None:
        """Nothing is open."""


def asked(count: int) -> tuple[ToolCall, ...]:
    return tuple(ask("t.one", n=n) for n in range(count))


@pytest.mark.parametrize(
    "made",
    [
        lambda count: ScriptedModel([asked(count), "Done."]),
        lambda count: ScriptedModel(
            lambda request: "Done." if request.messages[-1].role != "user" or "left" in str(request) else asked(count)
        ),
        lambda count: Own([ModelReply(calls=asked(count)), ModelReply(text="Done.")]),
    ],
    ids=["scripted", "callable", "own"],
)
@pytest.mark.parametrize(("count", "ran"), [(MOST_CALLS, MOST_CALLS), (MANY, MOST_CALLS)])
def test_the_limit_holds_for_every_model(
    made: Callable[[int], ScriptedModel | Own], count: int, ran: int, tmp_path: Path
) -> None:
    caller, model = Functions(one=one, effect="read"), made(count)
    run = new_run(model, caller, tmp_path)
    result = execute(run)
    assert (result.status, result.answer, len(caller.calls)) == ("answered", "Done.", ran)
    lawful(run.transcript.messages)
    told = [m.content for m in run.transcript.messages if m.origin == "loop"]
    assert [f"its last {count - ran} were left out" in note for note in told] == [True] * (count > ran)


def test_it_holds_for_calls_in_text(tmp_path: Path) -> None:
    caller = Functions(one=one, effect="read")
    written = "".join(
        f"<tool_call>{json.dumps({'name': 't__one', 'arguments': {'n': n}})}</tool_call>\n" for n in range(MANY)
    )
    model: Model = ScriptedModel([written, "Done."])
    run = new_run(model, caller, tmp_path, interpreter=TextInterpreter(caller.skills, dialect="tagged"))
    assert execute(run).status == "answered"
    assert len(caller.calls) == MOST_CALLS


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_behind_an_endpoint_is_told_what_was_left_out(stream: bool, tmp_path: Path) -> None:
    plays = [model_server.calls(*[("t__one", {"n": n}) for n in range(MANY)]), model_server.text("Done.")]
    caller = Functions(one=one, effect="read")
    with model_server.serve(plays) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        run = new_run(model, caller, tmp_path, stream=stream)

        async def play() -> RunResult:
            async with aclosing(model):
                return await run.execute("go")

        with run.store:  # type: ignore[attr-defined]
            assert asyncio.run(play()).answer == "Done."
        assert len(caller.calls) == MOST_CALLS
        assert "its last 44 were left out" in server.bodies[1]["messages"][-1]["content"]
