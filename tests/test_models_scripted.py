"""The model that plays a script."""

from __future__ import annotations

import asyncio

import pytest

from remit.errors import ModelError
from remit.models.protocol import Message, ModelDelta, ModelReply, ModelRequest
from remit.models.scripted import ScriptedModel, ask

HELLO = ModelRequest(messages=(Message(role="user", content="hello"),))


def test_lines_functions_replies_and_errors() -> None:
    script = ["one", ask("calc.evaluate", expression="1"), [ask("a.b"), ask("a.c")], lambda request: "five",
              ModelReply(text="six"), ModelError("down")]  # fmt: skip
    model = ScriptedModel(script)
    replies = [asyncio.run(model.complete(HELLO)) for _ in range(5)]
    assert [reply.text for reply in replies] == ["one", "", "", "five", "six"]
    assert [call.name for reply in replies for call in reply.calls] == ["calc.evaluate", "a.b", "a.c"]
    assert replies[1].calls[0].arguments == '{"expression": "1"}'
    with pytest.raises(ModelError, match="down"):
        asyncio.run(model.complete(HELLO))
    with pytest.raises(ModelError, match="no line for turn 7"):
        asyncio.run(model.complete(HELLO))
    assert model.requests == [HELLO] * 7


def test_a_function_of_the_request_and_a_stream() -> None:
    deltas: list[ModelDelta] = []
    model = ScriptedModel(lambda request: request.messages[-1].content.upper())
    assert asyncio.run(model.complete(HELLO, on_delta=deltas.append)).text == "HELLO"
    assert deltas == [ModelDelta(kind="text", text="HELLO")]
