"""The extension `anthropic` against a local server that answers as the Messages API is documented to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from remit_anthropic.model import AnthropicModel, Settings, provider
from tests.model_server import ModelServer, Play, serve

from remit.errors import EndpointDown, ModelError, UsageError
from remit.extensions import ModelWanted
from remit.models.behaviour import behaviour_of
from remit.models.protocol import Message, ModelDelta, ModelReply, ModelRequest, Picture, ToolCall, ToolSpec
from remit.models.retry import Retries

FAST = Retries(attempts=3, first=0.001, longest=0.01)
TOOLS = tuple(ToolSpec(name=name, description="", parameters={"type": "object"}) for name in ("tide", "wind"))
HELLO = ModelRequest(messages=(Message(role="user", content="hello"),), tools=TOOLS)
NAME = "claude-test"

THINKING = {"type": "thinking", "thinking": "Two ports, so two calls.", "signature": "c2lnbmVk"}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}
WHOLE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test-1",
    "content": [
        THINKING,
        HIDDEN,
        {"type": "text", "text": "I look at both."},
        {"type": "tool_use", "id": "toolu_1", "name": "tide", "input": {"port": "N"}},
        {"type": "tool_use", "id": "toolu_2", "name": "wind", "input": {}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 9},
}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def stream(message: dict[str, Any]) -> list[bytes]:
    """Return the events in which the API would stream `message`."""
    head = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events = [event("message_start", message=head), event("ping")]
    for index, block in enumerate(message["content"]):
        start, deltas = opened(block)
        events.append(event("content_block_start", index=index, content_block=start))
        events += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
        events.append(event("content_block_stop", index=index))
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    events.append(event("message_delta", delta={"stop_reason": message["stop_reason"]}, usage=usage))
    return [*events, event("message_stop")]


def opened(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": c} for c in cut(block["text"])]
        case "thinking":
            parts = [{"type": "thinking_delta", "thinking": c} for c in cut(block["thinking"])]
            signature = [{"type": "signature_delta", "signature": block["signature"]}]
            return {"type": "thinking", "thinking": "", "signature": ""}, parts + signature
        case "tool_use":
            text = json.dumps(block["input"]) if block["input"] else ""
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": c} for c in cut(text)]
        case _:
            return block, []


def cut(text: str) -> list[str]:
    return [text[start : start + 4] for start in range(0, len(text), 4)]


def complete(
    server: ModelServer, request: ModelRequest = HELLO, *, streamed: bool = False, **options: Any
) -> tuple[ModelReply, list[ModelDelta]]:
    deltas: list[ModelDelta] = []

    async def run() -> ModelReply:
        model = AnthropicModel(NAME, base_url=server.base_url, retries=FAST, **options)
        try:
            return await model.complete(request, on_delta=deltas.append if streamed else None)
        finally:
            await model.aclose()

    return asyncio.run(run()), deltas


def refused(plays: Sequence[Play], **options: Any) -> tuple[ModelError, ModelServer]:
    with serve(plays) as server, pytest.raises(ModelError) as caught:
        complete(server, **options)
    return caught.value, server


def parts_of(reply: ModelReply) -> tuple[object, ...]:
    return (reply.text, reply.calls, reply.reasoning, reply.finish, reply.usage, reply.model, reply.carry, reply.notes)


def test_whole_and_streamed_however_it_is_cut_are_the_same() -> None:
    joined = b"".join(stream(WHOLE))
    cuts = [stream(WHOLE), [joined], [joined[at : at + 37] for at in range(0, len(joined), 37)]]
    with serve([Play(body=json.dumps(WHOLE).encode()), *(Play(chunks=one, done=False) for one in cuts)]) as server:
        whole, _ = complete(server)
        for _ in cuts:
            streamed, deltas = complete(server, streamed=True)
            assert parts_of(streamed) == parts_of(whole)
            assert "".join(d.text for d in deltas if d.kind == "text") == "I look at both."
            assert "".join(d.text for d in deltas if d.kind == "reasoning") == THINKING["thinking"]
    assert [(c.id, c.name, json.loads(c.arguments)) for c in whole.calls] == [
        ("toolu_1", "tide", {"port": "N"}),
        ("toolu_2", "wind", {}),
    ]
    assert (whole.usage.input_tokens, whole.usage.output_tokens, whole.finish) == (120, 9, "stop")
    assert (whole.usage.cached_tokens, whole.usage.cache_writes) == (100, 0)
    path, headers, _ = server.requests[0]
    assert path == "/v1/messages" and headers["anthropic-version"] == "2023-06-01" and "x-api-key" not in headers


def test_the_request_gives_thinking_back_where_it_was() -> None:
    with serve([Play(body=json.dumps(WHOLE).encode())]) as server:
        reply, _ = complete(server)
        picture = Picture(media_type="image/png", data=b"png", width=1, height=1)
        said = Message(role="assistant", content=reply.text, calls=reply.calls, carry=reply.carry)
        request = ModelRequest(
            messages=(
                Message(role="system", content="Be brief."),
                Message(role="user", content="hello"),
                said,
                Message(role="tool", call_id="toolu_1", content="high", status="ok", images=("r-1", "r-gone")),
                Message(role="tool", call_id="toolu_2", content="no wind", status="failed"),
                Message(role="user", content="Note of the loop"),
            ),
            tools=TOOLS,
            tool_choice="tide",
            stop=("X",),
            pictures={"r-1": picture},
            answer_schema={"type": "object", "properties": {"title": {"type": "string", "maxLength": 3}}},
        )
        complete(server, request, api_key="k-1", settings=Settings(effort="low"))
    assert server.requests[1][1]["x-api-key"] == "k-1"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}}
    results = [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [{"type": "text", "text": "high"}, image],
        },
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no wind", "is_error": True},
        {"type": "text", "text": "Note of the loop"},
    ]
    closed = {"type": "object", "properties": {"title": {"type": "string"}}, "additionalProperties": False}
    assert server.bodies[1] == {
        "model": NAME,
        "max_tokens": 8192,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            {"role": "assistant", "content": WHOLE["content"]},
            {"role": "user", "content": results},
        ],
        "tools": [{"name": t.name, "description": "", "input_schema": {"type": "object"}} for t in TOOLS],
        "tool_choice": {"type": "tool", "name": "tide"},
        "stop_sequences": ["X"],
        "temperature": 0.0,
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": closed}},
    }


def test_another_model_gets_no_thinking_and_ids_that_the_api_takes() -> None:
    calls = (ToolCall(id="f:1", name="tide", arguments='{"port":"N"}'),)
    carry = json.dumps({"anthropic": "claude-other", "order": [THINKING, 2]})
    messages = (
        Message(role="assistant", content="ok", calls=calls, carry=carry),
        Message(role="tool", call_id="f:1", content="high", status="ok"),
    )
    with serve([Play(body=json.dumps(WHOLE).encode())]) as server:
        complete(server, ModelRequest(messages=messages, tools=TOOLS))
    first, said, told = server.bodies[0]["messages"]
    assert first["role"] == "user"
    assert [block["type"] for block in said["content"]] == ["text", "tool_use"]
    assert said["content"][1]["id"] == told["content"][0]["tool_use_id"]
    assert said["content"][1]["id"].startswith("call_")


def test_a_refused_signature_is_left_out_from_then_on() -> None:
    reason = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "Invalid `signature` in `thinking`"},
    }

    def play(body: Any) -> Play:
        thinks = any(block["type"] == "thinking" for turn in body["messages"] for block in turn["content"])
        return Play(status=400, body=json.dumps(reason).encode()) if thinks else Play(body=json.dumps(WHOLE).encode())

    carry = json.dumps({"anthropic": NAME, "order": [THINKING, 2]})
    messages = (*HELLO.messages, Message(role="assistant", content="ok", carry=carry), *HELLO.messages)
    with serve(play) as server:
        reply, _ = complete(server, ModelRequest(messages=messages))
    assert reply.text == "I look at both." and len(server.requests) == 2


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filter"),
    ],
)
def test_stop_reasons(reason: str, finish: str) -> None:
    with serve([Play(body=json.dumps({**WHOLE, "stop_reason": reason}).encode())]) as server:
        assert complete(server)[0].finish == finish


@pytest.mark.parametrize("until", [1, 6, -2], ids=["at once", "within", "before the stop reason"])
def test_half_a_stream_is_asked_for_again(until: int) -> None:
    with serve([Play(chunks=stream(WHOLE)[:until], done=False), Play(chunks=stream(WHOLE), done=False)]) as server:
        reply, deltas = complete(server, streamed=True)
    assert len(reply.calls) == 2 and len(server.requests) == 2
    assert [d.kind for d in deltas].count("retry") == 1


@pytest.mark.parametrize(
    "broken",
    [
        b"event: message_start\ndata: {broken\n\n",
        event("error", error={"type": "overloaded_error", "message": "Overloaded"}),
    ],
)
def test_a_broken_event_is_asked_for_again(broken: bytes) -> None:
    with serve([Play(chunks=[broken], done=False), Play(chunks=stream(WHOLE), done=False)]) as server:
        reply, _ = complete(server, streamed=True)
    assert reply.text == "I look at both."


def test_odd_events_are_let_pass() -> None:
    odd = [
        event("something_new", index=3),
        event("content_block_delta", index="x", delta={"type": "text_delta", "text": "lost"}),
        event("content_block_delta", index=99, delta=[]),
        event("content_block_start", index=0, content_block={"type": 5}),
        event("content_block_start", index=77, content_block={"type": "tool_use", "id": 4}),
    ]
    events = stream(WHOLE)
    with serve([Play(chunks=[events[0], *odd, *events[1:]], done=False)]) as server:
        reply, _ = complete(server, streamed=True)
    assert reply.text == "I look at both." and len(reply.calls) == 2
    assert reply.notes == ("a call without a name was left out",)


@pytest.mark.parametrize("status", [429, 529])
def test_an_overloaded_endpoint_is_asked_again_after_the_time_it_names(status: int) -> None:
    body = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}).encode()
    busy = Play(status=status, body=body, headers={"retry-after": "0.004"})
    with serve([busy, Play(chunks=stream(WHOLE), done=False)]) as server:
        reply, deltas = complete(server, streamed=True)
    assert reply.finish == "stop" and deltas[0].wait == 0.004 and "busy" in deltas[0].text
    problem, server = refused([busy])
    assert isinstance(problem, EndpointDown) and len(server.requests) == 3


def test_other_refusals_are_told_with_the_endpoints_words_and_no_key() -> None:
    body = json.dumps({"type": "error", "error": {"type": "authentication_error", "message": "bad k-secret"}}).encode()
    problem, server = refused([Play(status=401, body=body)], api_key="k-secret")
    assert "bad ***" in str(problem) and "the configured API key was refused" in problem.remedy
    assert len(server.requests) == 1
    problem, _ = refused([Play(body=b'{"type":"message"}')])
    assert "an endpoint of the Anthropic Messages API" in problem.remedy


def test_a_refused_field_is_left_out() -> None:
    def play(body: Any) -> Play:
        message = "`temperature` is deprecated for this model."
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
        return Play(status=400, body=json.dumps(error).encode()) if "temperature" in body else done

    done = Play(body=json.dumps(WHOLE).encode())
    with serve(play) as server:
        complete(server)
    assert ["temperature" in body for body in server.bodies] == [True, False]


def test_what_is_known_of_a_model_counts_from_the_first_request() -> None:
    behaviour = behaviour_of("claude-opus-5-5", {"parallel_calls": False})
    with serve([Play(body=json.dumps(WHOLE).encode())]) as server:
        complete(server, behaviour=behaviour, settings=Settings(thinking="adaptive"))
    body = server.bodies[0]
    assert "temperature" not in body and body["thinking"] == {"type": "adaptive"}
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_settings_and_the_default_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-env")
    model = provider({"max_tokens": 100})(ModelWanted(name="claude-x", timeout=5))
    assert repr(model) == "AnthropicModel('claude-x', base_url='https://api.anthropic.com/v1/messages')"
    for wrong in ({"max_token": 1}, {"thinking": "lots"}, {"max_tokens": True}):
        with pytest.raises(UsageError, match="is no setting"):
            provider(wrong)
    with pytest.raises(UsageError, match="no Anthropic model"):
        provider({})(ModelWanted(name=""))
