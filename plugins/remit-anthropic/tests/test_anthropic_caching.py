"""Marks for the prompt cache: where the next request reads on, and nowhere else; and documents in requests."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from remit_anthropic.model import AnthropicModel
from tests.model_server import ModelServer, Play, serve

from remit.models.behaviour import Behaviour, behaviour_of
from remit.models.price import Price
from remit.models.protocol import Document, Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from remit.models.retry import Retries

MARK = {"type": "ephemeral"}
LONG = "Tides come and go. " * 300
TOOLS = tuple(ToolSpec(name=name, description="", parameters={"type": "object"}) for name in ("tide", "wind"))
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 3000, "cache_creation_input_tokens": 200, "output_tokens": 5}
DONE = Play(
    body=json.dumps(
        {"type": "message", "model": "c", "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn",
         "usage": USAGE}
    ).encode()
)  # fmt: skip


def step(number: int) -> tuple[Message, Message]:
    call = ToolCall(id=f"toolu_{number}", name="tide", arguments="{}")
    return (
        Message(role="assistant", calls=(call,)),
        Message(role="tool", call_id=call.id, content="high", status="ok"),
    )


def conversation(steps: int, system: str = LONG) -> ModelRequest:
    told = (message for number in range(steps) for message in step(number))
    messages = (Message(role="system", content=system), Message(role="user", content="hello"), *told)
    return ModelRequest(messages=messages, tools=TOOLS, tool_choice="auto")


def ask(server: ModelServer, request: ModelRequest, behaviour: Behaviour | None = None) -> ModelReply:
    async def run() -> ModelReply:
        model = AnthropicModel(
            "claude-test",
            base_url=server.base_url,
            retries=Retries(attempts=1),
            behaviour=behaviour or behaviour_of("claude-test"),
        )
        try:
            return await model.complete(request)
        finally:
            await model.aclose()

    return asyncio.run(run())


def marks(body: dict[str, Any]) -> list[str]:
    """Return where marks stand, and assert that they are what the API takes."""
    found = ["system"] * (not isinstance(body.get("system", ""), str) and "cache_control" in body["system"][0])
    found += [f"tool {number}" for number, tool in enumerate(body.get("tools", ())) if "cache_control" in tool]
    for number, turn in enumerate(body["messages"]):
        for place, block in enumerate(turn["content"]):
            if "cache_control" in block:
                assert block["cache_control"] == MARK and place == len(turn["content"]) - 1
                found.append(f"message {number}")
    assert json.dumps(body).count("cache_control") == len(found) <= 4
    return found


def test_marks_stand_where_the_next_step_reads_on() -> None:
    with serve([DONE]) as server:
        for steps in range(3):
            ask(server, conversation(steps))
        usage = ask(server, conversation(3)).usage
    assert [marks(body) for body in server.bodies] == [
        ["system", "message 0"],
        ["system", "message 0", "message 2"],
        ["system", "message 2", "message 4"],
        ["system", "message 4", "message 6"],
    ]
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_writes) == (3210, 3000, 200)
    price = Price(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25)
    assert price.of(usage) == pytest.approx((10 * 5 + 3000 * 0.5 + 200 * 6.25 + 5 * 25) / 1e6)


def test_each_request_begins_as_the_one_before_it_however_marks_move() -> None:
    with serve([DONE]) as server:
        for steps in (1, 2):
            ask(server, conversation(steps))

    def bare(body: dict[str, Any]) -> list[Any]:
        return json.loads(json.dumps(body["messages"]).replace(', "cache_control": {"type": "ephemeral"}', ""))

    first, second = map(bare, server.bodies)
    assert second[: len(first)] == first


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        (conversation(1, system="Be brief."), []),
        (replace(conversation(1), tool_choice="none"), ["system"]),
        (replace(conversation(1), tools=()), ["system"]),
        (replace(conversation(1), messages=(Message(role="user", content=LONG),)), ["tool 1", "message 0"]),
    ],
    ids=["too short", "may only answer", "no skills", "no system prompt"],
)
def test_nothing_is_marked_that_nobody_reads_again(request_: ModelRequest, where: list[str]) -> None:
    with serve([DONE]) as server:
        ask(server, request_)
    assert marks(server.bodies[0]) == where


def test_marks_can_be_switched_off_and_are_left_out_once_refused() -> None:
    def play(body: Any) -> Play:
        message = "messages.0.content.0.cache_control: Extra inputs are not permitted"
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
        return Play(status=400, body=json.dumps(error).encode()) if "cache_control" in json.dumps(body) else DONE

    with serve(play) as server:
        assert ask(server, conversation(1)).text == "Yes."
        ask(server, conversation(1), behaviour_of("claude-test", {"cache_marks": False}))
    assert [bool(marks(body)) for body in server.bodies] == [True, False, False]


def test_documents_go_into_results_and_questions() -> None:
    paper = Document(media_type="application/pdf", data=b"%PDF-1.7")
    call, result = step(0)
    asked = Message(role="user", content="What does it say?", images=("r-1",))
    request = ModelRequest(messages=(asked, call, replace(result, images=("r-1", "r-gone"))), documents={"r-1": paper})
    with serve([DONE]) as server:
        ask(server, request)
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="}
    block = {"type": "document", "source": source}
    first, _, last = server.bodies[0]["messages"]
    assert first["content"] == [{"type": "text", "text": "What does it say?"}, block]
    assert last["content"][0]["content"] == [{"type": "text", "text": "high"}, block]
