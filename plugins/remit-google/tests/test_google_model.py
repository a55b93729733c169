"""The extension `google` against a local server that answers as the Gemini API is documented to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from remit_google.model import GoogleModel, Settings, provider
from tests.model_server import ModelServer, Play, serve

from remit.errors import EndpointDown, ModelError, UsageError
from remit.extensions import ModelWanted
from remit.models.behaviour import behaviour_of
from remit.models.protocol import Document, Message, ModelDelta, ModelReply, ModelRequest, Picture, ToolCall, ToolSpec
from remit.models.retry import Retries

FAST = Retries(attempts=3, first=0.001, longest=0.01)
TOOLS = tuple(ToolSpec(name=name, description="", parameters={"type": "object"}) for name in ("tide", "wind"))
HELLO = ModelRequest(messages=(Message(role="user", content="hello"),), tools=TOOLS)
NAME = "gemini-3-test"
USED = {"promptTokenCount": 20, "candidatesTokenCount": 7, "thoughtsTokenCount": 4, "totalTokenCount": 31}
PARTS: list[dict[str, Any]] = [
    {"text": "Two ports.", "thought": True},
    {"text": "I look at both.", "thoughtSignature": "dGV4dA=="},
    {"functionCall": {"id": "fc-1", "name": "tide", "args": {"port": "N"}}, "thoughtSignature": "Y2FsbA=="},
    {"functionCall": {"name": "wind", "args": {}}},
]


def answer(*parts: dict[str, Any], finish: str | None = "STOP", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-3-test-001", "usageMetadata": USED, **more}


WHOLE = Play(body=json.dumps(answer(*PARTS)).encode())


def sse(*bodies: dict[str, Any]) -> list[bytes]:
    return [f"data: {json.dumps(body)}\r\n\r\n".encode() for body in bodies]


def stream() -> list[bytes]:
    """Return the parts in which the API would stream the same reply: calls come whole, texts in pieces."""
    thought, text, *calls = PARTS
    return sse(
        answer({**thought, "text": "Two "}, finish=None),
        answer({**thought, "text": "ports."}, finish=None),
        answer({"text": "I look "}, finish=None),
        answer({"text": "at both."}, {"text": "", "thoughtSignature": text["thoughtSignature"]}, finish=None),
        answer(calls[0], finish=None),
        answer(calls[1], finish=None),
        answer({"text": ""}),
    )


def complete(
    server: ModelServer, request: ModelRequest = HELLO, *, streamed: bool = False, name: str = NAME, **options: Any
) -> tuple[ModelReply, list[ModelDelta]]:
    deltas: list[ModelDelta] = []

    async def run() -> ModelReply:
        model = GoogleModel(name, base_url=server.base_url.removesuffix("/v1"), retries=FAST, **options)
        try:
            return await model.complete(request, on_delta=deltas.append if streamed else None)
        finally:
            await model.aclose()

    return asyncio.run(run()), deltas


def refused(plays: Sequence[Play], **options: Any) -> tuple[ModelError, ModelServer]:
    with serve(plays) as server, pytest.raises(ModelError) as caught:
        complete(server, **options)
    return caught.value, server


def error(status: int, message: str, /, **more: Any) -> Play:
    return Play(status=status, body=json.dumps([{"error": {"code": status, "message": message, **more}}]).encode())


def test_whole_and_streamed_however_it_is_cut_are_the_same() -> None:
    joined = b"".join(stream())
    cuts = [stream(), [joined], [joined[at : at + 41] for at in range(0, len(joined), 41)]]
    with serve([WHOLE, *(Play(chunks=one, done=False) for one in cuts)]) as server:
        whole, _ = complete(server)
        for _ in cuts:
            streamed, deltas = complete(server, streamed=True)
            assert (streamed.text, streamed.calls, streamed.reasoning) == (whole.text, whole.calls, whole.reasoning)
            assert (streamed.carry, streamed.usage, streamed.finish) == (whole.carry, whole.usage, whole.finish)
            assert "".join(d.text for d in deltas if d.kind == "text") == "I look at both."
    assert [(c.id, c.name, json.loads(c.arguments)) for c in whole.calls] == [
        ("fc-1", "tide", {"port": "N"}),
        ("", "wind", {}),
    ]
    assert (whole.usage.input_tokens, whole.usage.output_tokens, whole.reasoning) == (20, 11, "Two ports.")
    assert server.requests[0][0] == f"/v1beta/models/{NAME}:generateContent"
    assert server.requests[1][0] == f"/v1beta/models/{NAME}:streamGenerateContent?alt=sse"


def after(reply: ModelReply) -> tuple[Message, ...]:
    calls = tuple(ToolCall(id=c.id or "c00000002", name=c.name, arguments=c.arguments) for c in reply.calls)
    return (
        Message(role="system", content="Be brief."),
        Message(role="user", content="hello"),
        Message(role="assistant", content=reply.text, calls=calls, carry=reply.carry),
        Message(role="tool", call_id=calls[0].id, content="high", status="ok", images=("r-1",)),
        Message(role="tool", call_id=calls[1].id, content="no wind", status="failed"),
    )


def test_the_request_gives_signatures_back_where_they_were() -> None:
    picture = Picture(media_type="image/png", data=b"png", width=1, height=1)
    schema = {"type": "object", "properties": {}}
    with serve([WHOLE]) as server:
        reply, _ = complete(server)
        request = ModelRequest(
            messages=after(reply), tools=TOOLS, tool_choice="tide", stop=("X",), max_tokens=9, pictures={"r-1": picture}
        )
        complete(server, request, api_key="k-1")
        complete(server, ModelRequest(messages=HELLO.messages, answer_schema=schema))
    assert server.requests[1][1]["x-goog-api-key"] == "k-1"
    image = {"inlineData": {"mimeType": "image/png", "data": "cG5n"}}
    assert server.bodies[1] == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hello"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I look at both.", "thoughtSignature": "dGV4dA=="},
                    PARTS[2],
                    {"functionCall": {"id": "c00000002", "name": "wind", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "fc-1",
                            "name": "tide",
                            "response": {"result": "high"},
                            "parts": [image],
                        }
                    },
                    {"functionResponse": {"id": "c00000002", "name": "wind", "response": {"error": "no wind"}}},
                ],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": t.name, "description": "", "parametersJsonSchema": {"type": "object"}} for t in TOOLS
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["tide"]}},
        "generationConfig": {"temperature": 0.0, "stopSequences": ["X"], "maxOutputTokens": 9},
    }
    config = server.bodies[2]["generationConfig"]
    assert config["responseMimeType"] == "application/json" and config["responseJsonSchema"] == schema


def test_an_image_of_a_kind_that_the_api_does_not_take_is_told_of_only() -> None:
    pictures = {
        handle: Picture(media_type=kind, data=b"x", width=1, height=1)
        for handle, kind in (("r-1", "image/gif"), ("r-2", "image/webp"))
    }
    message = Message(role="user", content="What is this?", images=("r-1", "r-2"))
    with serve([WHOLE]) as server:
        complete(server, ModelRequest(messages=(message,), pictures=pictures))
    text, *images = server.bodies[0]["contents"][0]["parts"]
    assert text == {"text": "What is this?"} and [one["inlineData"]["mimeType"] for one in images] == ["image/webp"]


def test_documents_go_into_the_result_or_beside_it_and_what_was_kept_is_counted() -> None:
    paper = Document(media_type="application/pdf", data=b"%PDF-1.7")
    usage = {"promptTokenCount": 40, "cachedContentTokenCount": 30, "candidatesTokenCount": 2}
    body = {"candidates": [{"content": {"parts": [{"text": "Yes."}]}, "finishReason": "STOP"}], "usageMetadata": usage}
    call = ToolCall(id="c1", name="tide", arguments="{}")
    told = Message(role="tool", call_id="c1", content="high", status="ok", images=("r-1",))
    messages = (Message(role="user", content="hello"), Message(role="assistant", calls=(call,)), told)
    with serve([Play(body=json.dumps(body).encode())]) as server:
        for name in ("gemini-3-flash", "gemini-2.5-flash"):
            reply, _ = complete(server, ModelRequest(messages=messages, documents={"r-1": paper}), name=name)
    inline = {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0xLjc="}}
    new, old = (body["contents"][2]["parts"] for body in server.bodies)
    assert new[0]["functionResponse"]["parts"] == [inline] and old[1] == inline
    assert (reply.usage.input_tokens, reply.usage.cached_tokens) == (40, 30)


def test_calls_of_another_model_are_marked_and_old_models_get_images_beside_the_results() -> None:
    picture = Picture(media_type="image/png", data=b"png", width=1, height=1)
    with serve([WHOLE]) as server:
        reply, _ = complete(server)
        foreign = ModelRequest(messages=after(reply), tools=TOOLS, pictures={"r-1": picture})
        complete(server, foreign, name="gemini-3-other")
        complete(server, foreign, name="gemini-2.5-flash")
    new, old = (body["contents"] for body in server.bodies[1:])
    assert new[1]["parts"][1]["thoughtSignature"] == "skip_thought_signature_validator"
    assert [part.get("thoughtSignature") for part in old[1]["parts"]] == [None, None, None]
    assert [*old[2]["parts"][1]] == ["inlineData"] and "parts" not in old[2]["parts"][0]["functionResponse"]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "filter"),
        ("SOMETHING_NEW", "filter"),
        ("MALFORMED_FUNCTION_CALL", "stop"),
    ],
)
def test_finish_reasons(reason: str, finish: str) -> None:
    with serve([Play(body=json.dumps(answer({"text": "x"}, finish=reason)).encode())]) as server:
        reply, _ = complete(server)
    assert reply.finish == finish
    assert bool(reply.notes) == (reason not in ("STOP", "MAX_TOKENS"))


def test_a_blocked_question_is_withheld() -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": USED}
    with serve([Play(body=json.dumps(body).encode())]) as server:
        assert complete(server)[0].finish == "filter"


@pytest.mark.parametrize("until", [1, 4, -1])
def test_half_a_stream_is_asked_for_again(until: int) -> None:
    with serve([Play(chunks=stream()[:until], done=False), Play(chunks=stream(), done=False)]) as server:
        reply, deltas = complete(server, streamed=True)
    assert len(reply.calls) == 2 and len(server.requests) == 2
    assert [d.kind for d in deltas].count("retry") == 1


@pytest.mark.parametrize("broken", [b"data: {broken\n\n", *sse({"error": {"code": 503, "message": "overloaded"}})])
def test_a_broken_part_is_asked_for_again(broken: bytes) -> None:
    with serve([Play(chunks=[broken], done=False), Play(chunks=stream(), done=False)]) as server:
        assert complete(server, streamed=True)[0].text == "I look at both."


def test_odd_parts_are_let_pass() -> None:
    odd = {"candidates": [{"content": {"parts": [5, {"text": 4}, {"functionCall": {"args": {}}}, {"other": {}}]}}]}
    with serve([Play(chunks=[*sse(odd, {"candidates": []}, {"candidates": [None]}), *stream()], done=False)]) as server:
        reply, _ = complete(server, streamed=True)
    assert reply.text == "I look at both." and reply.notes == ("a call without a name was left out",)


def test_a_quota_is_waited_for_as_the_error_says() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.004s"}
    busy = error(429, "quota", status="RESOURCE_EXHAUSTED", details=["x", info])
    with serve([busy, Play(chunks=stream(), done=False)]) as server:
        reply, deltas = complete(server, streamed=True)
    assert reply.finish == "stop" and deltas[0].wait == 0.004 and "quota" in deltas[0].text
    problem, server = refused([busy])
    assert isinstance(problem, EndpointDown) and len(server.requests) == 3


def test_other_refusals_are_told_with_the_endpoints_words_and_no_key() -> None:
    problem, server = refused([error(403, "bad k-secret")], api_key="k-secret")
    assert "bad ***" in str(problem) and "the configured API key was refused" in problem.remedy
    assert len(server.requests) == 1
    problem, _ = refused([Play(body=b'{"candidates":[]}')])
    assert "an endpoint of the Gemini API" in problem.remedy


def test_what_a_model_refuses_is_left_out() -> None:
    words = "Function calling with a response mime type: 'application/json' is unsupported"

    def play(body: Any) -> Play:
        return error(400, words) if "responseMimeType" in body.get("generationConfig", {}) else WHOLE

    request = ModelRequest(messages=HELLO.messages, tools=TOOLS, answer_schema={"type": "object"})
    with serve(play) as server:
        reply, _ = complete(server, request)
    assert reply.text and len(server.requests) == 2

    def unsigned(body: Any) -> Play:
        signed = any("thoughtSignature" in part for turn in body["contents"] for part in turn["parts"])
        return error(400, "Corrupted thought signature.") if signed else WHOLE

    carry = json.dumps({"google": NAME, "signed": {"text": "b2xk"}})
    messages = (*HELLO.messages, Message(role="assistant", content="ok", carry=carry), *HELLO.messages)
    with serve(unsigned) as server:
        complete(server, ModelRequest(messages=messages))
    assert len(server.requests) == 2


def test_what_is_known_of_a_model_counts_from_the_first_request() -> None:
    with serve([WHOLE]) as server:
        settings = Settings(thinking_level="low", thoughts=True)
        complete(server, behaviour=behaviour_of("gemini-3.8-flash"), settings=settings)
    assert server.bodies[0]["generationConfig"] == {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True}}


def test_settings_and_the_default_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k-env")
    model = provider({"thoughts": True})(ModelWanted(name="gemini-x", timeout=5))
    shown = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent"
    assert repr(model) == f"GoogleModel('gemini-x', base_url='{shown}')"
    for wrong in ({"thinking": 1}, {"thoughts": "yes"}):
        with pytest.raises(UsageError, match="is no setting"):
            provider(wrong)
    with pytest.raises(UsageError, match="no Gemini model"):
        provider({})(ModelWanted(name=""))
