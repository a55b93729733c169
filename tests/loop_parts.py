"""Parts for tests of the loop: a caller over plain functions, and a run put together."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from remit.loop.events import Event
from remit.loop.guards import Limits
from remit.loop.native import NativeInterpreter
from remit.loop.outcome import RunResult
from remit.loop.run import Run
from remit.loop.transcript import Transcript
from remit.loop.voices import Voice
from remit.models.protocol import Message, Model
from remit.models.scripted import Script, ScriptedModel
from remit.skills import Skill
from remit.state.store import State
from remit.values import Call, Effect, Result


class Functions:
    """Makes calls of plain functions; one that returns a `Result` decides everything about it."""

    weighs_origins = True

    def __init__(self, effect: Effect = "write", **functions: Callable[..., Any]) -> None:
        self.functions = functions
        self.skills: Mapping[str, Skill] = {
            f"t.{name}": Skill(
                pack="t",
                name=name,
                description="",
                schema={"type": "object", "properties": {}},
                effect=effect,
            )
            for name in functions
        }
        self.calls: list[Call] = []

    async def call(self, call: Call) -> Result:
        self.calls.append(call)
        skill = self.skills.get(call.skill)
        if skill is None:
            return ended(call, "invalid", f"There is no skill {call.skill!r}.")
        try:
            arguments = json.loads(call.arguments or "{}")
            value = self.functions[skill.name](**arguments)
            value = await value if inspect.isawaitable(value) else value
        except (TypeError, ValueError) as error:
            return ended(call, "invalid", str(error))
        if isinstance(value, Result):
            return value
        return Result(call=call.id, skill=call.skill, status="ok", text=json.dumps(value), value=value)


def ended(call: Call, status: Any, text: str) -> Result:
    return Result(call=call.id, skill=call.skill, status=status, text=text, reason=text)


def new_run(
    model: Model | Script,
    caller: Functions,
    tmp_path: Path,
    *,
    messages: list[Message] | None = None,
    events: list[Event] | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> Run:
    return Run(
        session=options.pop("session", "s1"),
        transcript=Transcript(messages or ()),
        voices=[
            Voice(
                model=model if isinstance(model, Model) else ScriptedModel(model),
                interpreter=options.pop("interpreter", None) or NativeInterpreter(caller.skills),
                context=options.pop("context", None),
            ),
            *options.pop("others", ()),
        ],
        caller=caller,
        store=options.pop("store", None) or State(tmp_path / "state"),
        limits=limits or Limits(),
        emit=options.pop("emit", None) or (events.append if events is not None else lambda _: None),
        **options,
    )


def execute(run: Run, question: str = "go") -> RunResult:
    try:
        return asyncio.run(run.execute(question))
    finally:
        if isinstance(run.store, State):
            run.store.close()


def lawful(messages: tuple[Message, ...]) -> None:
    """Assert the laws of a transcript: one result for each call, with its id, before anything else."""
    ids: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert message.call_id == waiting.pop(0)
            assert message.content
        else:
            assert not waiting
        for call in message.calls:
            assert isinstance(json.loads(call.arguments), dict)
            assert call.name.replace("-", "_").replace("_", "a").isalnum()
            assert 0 < len(call.name) <= 64
            waiting.append(call.id)
            ids.append(call.id)
    assert not waiting
    assert len(ids) == len(set(ids))
