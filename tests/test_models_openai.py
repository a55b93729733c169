"""The OpenAI-compatible client, against a real server that answers rightly, wrongly, or not at all."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Sequence
from typing import Any

import pytest

from remit.errors import DeploymentError, ModelError
from remit.models.openai import OpenAIModel
from remit.models.protocol import Message, ModelDelta, ModelReply, ModelRequest, ToolCall, ToolSpec
from remit.models.retry import Retries
from tests.model_server import ModelServer, Play, calls, error, serve, text

FAST = Retries(attempts=3, first=0.001, longest=0.01)
HELLO = ModelRequest(messages=(Message(role="user", content="hello"),))
TOOLS = tuple(ToolSpec(name=name, description="", parameters={"type": "object"}) for name in ("tide", "read_log"))
WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def complete(
    server: ModelServer, request: ModelRequest = HELLO, *, stream: bool = False, **options: Any
) -> tuple[ModelReply, list[ModelDelta]]:
    deltas: list[ModelDelta] = []

    async def run() -> ModelReply:
        model = OpenAIModel("m", **{"base_url": server.base_url, "retries": FAST, **options})
        try:
            return await model.complete(request, on_delta=deltas.append if stream else None)
        finally:
            await model.aclose()

    return asyncio.run(run()), deltas


def refused(plays: Sequence[Play], *, stream: bool = False, **options: Any) -> tuple[ModelError, ModelServer]:
    with serve(plays) as server, pytest.raises(ModelError) as caught:
        complete(server, stream=stream, **options)
    return caught.value, server


@WAYS
def test_text_and_usage(stream: bool) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    with serve([text("Hello there, friend.", usage=usage)]) as server:
        reply, deltas = complete(server, stream=stream)
    assert (reply.text, reply.calls, reply.finish) == ("Hello there, friend.", (), "stop")
    assert reply.usage.total_tokens == 7
    assert json.loads(reply.sent) == server.bodies[0]
    if stream:
        assert "".join(d.text for d in deltas) == "Hello there, friend."
        assert len(deltas) > 1


@WAYS
def test_calls(stream: bool) -> None:
    with serve([calls(("tide", {"port": "N"}), ("read_log", {}), content="I look.")]) as server:
        reply, _ = complete(server, ModelRequest(messages=HELLO.messages, tools=TOOLS), stream=stream)
    assert reply.text == "I look."
    assert [(c.id, c.name, json.loads(c.arguments)) for c in reply.calls] == [
        ("c0", "tide", {"port": "N"}),
        ("c1", "read_log", {}),
    ]


def test_the_request_body() -> None:
    messages = (
        Message(role="system", content="Be brief."),
        Message(role="user", content="lone \udc94 surrogate, \ud83d\ude00 pair"),
        Message(role="assistant", calls=(ToolCall(id="c1", name="tide", arguments='{"port":"N"}'),)),
        Message(role="tool", call_id="c1", content="high", status="ok"),
    )
    request = ModelRequest(messages=messages, tools=TOOLS[:1], tool_choice="tide", stop=("X",), max_tokens=9)
    with serve([text("ok")]) as server:
        complete(server, request, extra={"seed": 1})
    assert server.bodies[0] == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "lone \ufffd surrogate, \U0001f600 pair"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": '{"port":"N"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "high"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "tide", "description": "", "parameters": {"type": "object"}},
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "tide"}},
        "seed": 1,
        "stop": ["X"],
        "temperature": 0.0,
        "max_tokens": 9,
    }


def test_a_key_is_sent_and_none_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", " k-123 \n")
    with serve([text("ok")]) as server:
        complete(server, api_key="env:MY_KEY")
        complete(server, api_key="env:NOT_SET_AT_ALL")
    headers = [headers for _, headers, _ in server.requests]
    assert headers[0]["authorization"] == "Bearer k-123"
    assert "authorization" not in headers[1]


def test_the_environment_names_endpoint_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """L135: an empty key sends no header."""
    with serve([text("ok")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        for key in ("", "k-9"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            complete(server, base_url=None)
        complete(server)  # a URL named here gets no key from the environment
    sent = [headers.get("authorization") for _, headers, _ in server.requests]
    assert sent == [None, "Bearer k-9", None]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        (None, "no API key is configured"),
        ("k-secret", "the configured API key was refused"),
        ("env:REMIT_TEST_NOPE", "the variable REMIT_TEST_NOPE is not set"),
    ],
)
def test_401_says_whether_a_key_is_configured(key: str | None, remedy: str) -> None:
    problem, server = refused([error(401, "bad key k-secret")], api_key=key)
    assert remedy in problem.remedy
    assert "401 Unauthorized" in str(problem)
    assert ("k-secret" in str(problem)) == (key != "k-secret")
    assert len(server.requests) == 1


def test_404_shows_the_whole_url() -> None:
    problem, server = refused([Play(status=404, body=b"<html><title>Not here</title></html>")])
    assert f"{server.base_url}/chat/completions" in str(problem)
    assert "an HTML page titled 'Not here'" in str(problem)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
@WAYS
def test_trouble_that_passes_is_retried(status: int, stream: bool) -> None:
    with serve([error(status, "busy"), text("back")]) as server:
        reply, deltas = complete(server, stream=stream)
    assert reply.text == "back"
    assert len(server.requests) == 2
    if stream:
        assert deltas[0].kind == "retry"
        assert "busy" in deltas[0].text


def test_trouble_that_stays_is_a_clear_error() -> None:
    problem, server = refused([error(503, "overloaded\x1b[31m")])
    assert "503 Service Unavailable: overloaded [31m (tried 3 times)" in str(problem)
    assert len(server.requests) == 3


def test_retry_after_is_honoured_and_capped() -> None:
    with serve([error(429, "slow", headers={"retry-after": "3600"}), text("ok")]) as server:
        reply, deltas = complete(server, stream=True)
    assert (reply.text, deltas[0].wait) == ("ok", FAST.longest)


def test_used_up_credit_is_not_retried() -> None:
    problem, server = refused([error(429, "no money", error={"code": "insufficient_quota"})])
    assert "no money" in str(problem)
    assert len(server.requests) == 1


def test_an_endpoint_that_is_down() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    problem, _ = refused([text("never asked")], base_url=f"http://127.0.0.1:{port}")
    assert f"http://127.0.0.1:{port}/v1/chat/completions cannot be reached" in str(problem)
    assert problem.remedy


def test_an_endpoint_that_is_slow() -> None:
    with serve([text("late", delay=60), text("in time")]) as server:
        reply, _ = complete(server, read_timeout=2.0)
    assert reply.text == "in time"


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b"<html>hi</html>", b'{"choices":[]}', b'{"choices":[{"message":null}]}', b"\xff\xfe"],
)
@WAYS
def test_rubbish_is_an_error(body: bytes, stream: bool) -> None:
    problem, server = refused([Play(body=body)], stream=stream)
    assert "answered" in str(problem)
    assert len(server.requests) == 1


def test_an_error_with_status_200() -> None:
    problem, _ = refused([error(200, "the model is gone")])
    assert "answered with an error: the model is gone" in str(problem)


CALL = {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "tide", "arguments": ""}}]}


@pytest.mark.parametrize("cut", [False, True], ids=["ended", "cut"])
def test_half_a_stream_is_asked_for_again(cut: bool) -> None:
    """L89: neither a finish reason nor [DONE]: nothing of it is used."""
    half = Play(chunks=[{"choices": [{"delta": CALL, "finish_reason": None}]}], done=False, cut=cut)
    problem, server = refused([half], stream=True)
    assert len(server.requests) == 3
    assert "tried 3 times" in str(problem)
    with serve([half, text("whole")]) as other:
        reply, deltas = complete(other, stream=True)
    assert (reply.text, reply.calls) == ("whole", ())
    assert deltas[0].kind == "retry"


def test_a_half_body_is_asked_for_again() -> None:
    with serve([text("x", cut=True), text("whole")]) as server:
        reply, _ = complete(server)
    assert reply.text == "whole"


@pytest.mark.parametrize(
    "part", [b"data: {broken\n\n", b"data: []\n\n", b'data: {"error":{"message":"overloaded"}}\n\n']
)
def test_a_broken_chunk_is_asked_for_again(part: bytes) -> None:
    with serve([Play(chunks=[part]), text("whole")]) as server:
        reply, _ = complete(server, stream=True)
    assert reply.text == "whole"


def test_a_stream_nobody_asked_for_and_a_whole_answer_to_a_stream() -> None:
    chunk = {"choices": [{"delta": {"content": "streamed"}, "finish_reason": "stop"}]}
    with serve([Play(chunks=[chunk])]) as server:
        assert complete(server)[0].text == "streamed"
    whole = json.dumps({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}).encode()
    with serve([Play(body=whole)]) as server:
        reply, deltas = complete(server, stream=True)
    assert (reply.text, [d.text for d in deltas]) == ("whole", ["whole"])


def test_a_field_that_a_model_refuses_is_left_out_from_then_on() -> None:
    def play(body: Any) -> Play:
        if "temperature" in body:
            return error(400, "Unsupported value: 'temperature' does not support 0 with this model.")
        return text("ok")

    async def run(url: str) -> None:
        model = OpenAIModel("m", base_url=url, retries=FAST)
        await model.complete(HELLO)
        await model.complete(HELLO)
        await model.aclose()

    with serve(play) as server:
        asyncio.run(run(server.base_url))
    assert ["temperature" in body for body in server.bodies] == [True, False, False]


def test_other_bad_requests_are_errors() -> None:
    problem, server = refused([error(400, "context length exceeded")])
    assert "400 Bad Request: context length exceeded" in str(problem)
    assert len(server.requests) == 1


def test_a_model_serves_several_event_loops_and_stays_connected() -> None:
    async def twice(model: OpenAIModel) -> None:
        await model.complete(HELLO)
        await model.complete(HELLO, on_delta=lambda _: None)
        await model.aclose()

    with serve([text("ok")]) as server:
        model = OpenAIModel("m", base_url=server.base_url)
        asyncio.run(twice(model))
        asyncio.run(twice(model))
    assert len(server.requests) == 4


def test_unreadable_no_proxy_entries_do_not_break(monkeypatch: pytest.MonkeyPatch) -> None:
    """L137: the list starts, loopback bypasses the proxy, the unreadable is named once."""
    monkeypatch.setenv("HTTP_PROXY", "http://p.example:3128")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1,::1,[::1],fe80::/10,10.0.0.0/8,.corp.example")
    monkeypatch.delenv("no_proxy", raising=False)
    with serve([text("ok")]) as server:
        assert complete(server)[0].text == "ok"


def test_a_wrong_url_or_key_is_a_setup_error() -> None:
    with pytest.raises(DeploymentError, match="no http or https URL"):
        OpenAIModel("m", base_url="localhost:11434")
    with pytest.raises(DeploymentError, match="characters that no API key has"):
        OpenAIModel("m", base_url="http://h", api_key="two words")


def test_neither_repr_nor_errors_show_secrets() -> None:
    model = OpenAIModel("m", base_url="http://user:pw@h/v1?api-key=abc&v=2", api_key="k-secret")
    assert repr(model) == "OpenAIModel('m', base_url='http://h/v1/chat/completions?api-key=***&v=2')"


def test_a_reply_that_never_ends_is_ended() -> None:
    def forever(_: Any) -> Play:
        return Play(chunks=(slow() for _ in range(400)))  # type: ignore[arg-type]

    def slow() -> Any:
        time.sleep(0.01)
        return {"choices": [{"index": 0, "delta": {"content": "on and "}, "finish_reason": None}]}

    with serve(forever) as server, pytest.raises(ModelError, match=r"came to no end within 0\.2 s") as caught:
        complete(server, stream=True, longest_reply=0.2)
    assert "max_tokens" in caught.value.remedy
    assert len(server.requests) == 1
    with serve([text("Hello there, friend.")]) as server:
        assert complete(server, stream=True, longest_reply=60.0)[0].text
