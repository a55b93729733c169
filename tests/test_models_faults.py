"""Endpoints that fail in every way: a clear error or another attempt, never a half reply, a hang or a leaked key."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any

import pytest

from remit.errors import EndpointDown, ModelError
from remit.models import endpoint
from remit.models.assemble import Assembler
from remit.models.gathering import arguments_object
from remit.models.openai import OpenAIModel
from remit.models.protocol import Message, ModelDelta, ModelReply, ModelRequest
from remit.models.retry import Retries, retry_after
from tests.model_server import ModelServer, Play, error, serve, text

FAST = Retries(attempts=3, first=0.001, longest=0.01)
HELLO = ModelRequest(messages=(Message(role="user", content="hello"),))
WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
WHOLE = json.dumps({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}).encode()


def complete(base_url: str, *, stream: bool = False, **options: Any) -> tuple[ModelReply, list[ModelDelta]]:
    deltas: list[ModelDelta] = []

    async def run() -> ModelReply:
        model = OpenAIModel("m", **{"base_url": base_url, "retries": FAST, **options})
        try:
            return await model.complete(HELLO, on_delta=deltas.append if stream else None)
        finally:
            await model.aclose()

    return asyncio.run(run()), deltas


def refused(plays: Sequence[Play], *, stream: bool = False, **options: Any) -> tuple[ModelError, ModelServer]:
    with serve(plays) as server, pytest.raises(ModelError) as caught:
        complete(server.base_url, stream=stream, **options)
    return caught.value, server


@contextmanager
def raw(*answers: bytes) -> Iterator[tuple[str, list[int]]]:
    """Serve raw bytes, one answer a connection, and reset it unless the answer says that it closes.

    The last answer is played for ever.
    """
    served: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.05)
        over = threading.Event()

        def run() -> None:
            while not over.is_set():
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                with connection:
                    while not connection.recv(65536).endswith(b"}"):
                        pass
                    answer = answers[min(len(served), len(answers) - 1)]
                    connection.sendall(answer)
                    served.append(1)
                    if b"connection: close" not in answer:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", served
        finally:
            over.set()
            thread.join()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: "
HALVES = {
    "no answer": b"",
    "half a head": b"HTTP/1.1 200 OK\r\ncontent-ty",
    "half a body": HEAD + b"application/json\r\ncontent-length: 9000\r\n\r\n" + WHOLE,
    "half a stream": HEAD + b"text/event-stream\r\n\r\ndata: " + b'{"choices":[{"delta":{"content":"half"}}]}\n\n',
    "no HTTP": b"SSH-2.0-OpenSSH_9.9\r\n",
}


@pytest.mark.parametrize("half", HALVES.values(), ids=[*HALVES])
@WAYS
def test_a_connection_that_is_reset_is_tried_again(half: bytes, stream: bool) -> None:
    whole = HEAD + b"application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(WHOLE) + WHOLE
    with raw(half, half, whole) as (url, served):
        reply, deltas = complete(url, stream=stream)
    assert (reply.text, len(served)) == ("hello", 3)
    assert [d.kind for d in deltas].count("retry") == (2 if stream else 0)
    with raw(half) as (url, _), pytest.raises(EndpointDown, match="tried 3 times"):
        complete(url, stream=stream)


def test_a_host_that_there_is_not() -> None:
    with pytest.raises(EndpointDown, match="cannot be reached") as caught:
        complete("http://model.invalid/v1")
    assert "base_url" in caught.value.remedy


def test_slow_attempts_end_one_by_one_and_all_together() -> None:
    problem, server = refused([text("late", delay=60)], read_timeout=0.05)
    assert "did not answer in time (ReadTimeout) (tried 3 times)" in str(problem) and len(server.requests) == 3
    problem, server = refused([text("late", delay=60)], read_timeout=60, total_timeout=1.0)
    assert isinstance(problem, EndpointDown) and len(server.requests) == 1
    assert "no whole reply within 1 s, all attempts together" in str(problem)
    assert "total_timeout" in problem.remedy
    with serve([text("in time")]) as quick:
        assert complete(quick.base_url, total_timeout=60)[0].text == "in time"


def test_a_stream_that_stops_coming_counts_as_failed() -> None:
    part = {"choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": None}]}

    def stalling() -> Iterator[Any]:
        yield part
        over.wait(60)

    over = threading.Event()
    plays = iter([Play(chunks=stalling()), text("whole")])  # type: ignore[arg-type]
    with serve(lambda _: next(plays)) as server:
        reply, deltas = complete(server.base_url, stream=True, read_timeout=2.0)
        over.set()
    assert reply.text == "whole" and "retry" in [delta.kind for delta in deltas]


def test_a_storm_of_429_is_waited_out_as_each_of_them_says(monkeypatch: pytest.MonkeyPatch) -> None:
    storm = [
        error(429, "one", headers={"retry-after": "0.002"}),
        error(429, "two", headers={"retry-after": formatdate(time.time() + 30, usegmt=True)}),
        error(429, "three", headers={"retry-after": formatdate(time.time() - 30, usegmt=True)}),
        error(503, "four", headers={"retry-after": "soon"}),
    ]
    with serve([*storm, text("ok")]) as server:
        reply, deltas = complete(server.base_url, stream=True, retries=Retries(attempts=5, first=0.001, longest=0.01))
    waits = [delta.wait for delta in deltas if delta.kind == "retry"]
    assert reply.text == "ok" and len(server.requests) == 5
    assert waits[:3] == [0.002, 0.01, 0.0] and 0 < waits[3] <= 0.01


def test_retry_after_in_both_of_its_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000_000_000.0)
    assert retry_after(formatdate(1_000_000_030, usegmt=True)) == 30.0
    assert retry_after(formatdate(999_999_000, usegmt=True)) == 0.0
    assert [retry_after(value) for value in ("2.5", "-1", "", None, "soon", "nan", "1e99")] == [
        2.5, 0.0, None, None, None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_refused_and_the_key_goes_nowhere(status: int) -> None:
    with serve([text("stolen")]) as elsewhere:
        moved = Play(status=status, body=b"", headers={"location": f"{elsewhere.base_url}/x?api_key=abc"})
        problem, server = refused([moved], api_key="k-secret")
    assert elsewhere.requests == [] and len(server.requests) == 1
    assert "moved to" in str(problem) and "abc" not in str(problem) and "base_url" in problem.remedy
    assert "k-secret" not in str(problem) + problem.remedy


@pytest.mark.parametrize("key", ["k-secret-0123", "k/secret+0123"])
@pytest.mark.parametrize("where", ["phrase", "location", "body"])
def test_an_endpoint_that_says_the_key_back_is_not_repeated(where: str, key: str) -> None:
    from urllib.parse import quote

    parts = {"phrase": "Moved", "location": "http://elsewhere.example/x", "body": ""}
    parts[where] += f" {key}" if where != "location" else f"/Bearer%20{quote(key, safe='')}/{key}/{quote(key)}"
    head = f"HTTP/1.1 403 {parts['phrase']}\r\nlocation: {parts['location']}\r\nconnection: close\r\n"
    answer = f"{head}content-length: {len(parts['body'])}\r\n\r\n{parts['body']}".encode()
    with raw(answer) as (base_url, _), pytest.raises(ModelError) as problem:
        complete(base_url, api_key=key)
    assert "secret" not in str(problem.value) and "403" in str(problem.value)


@WAYS
def test_a_body_without_end_is_cut_off(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "LONGEST", 50_000)
    chunk = {"choices": [{"delta": {"content": "x" * 1000}}]}
    plays = [Play(chunks=[chunk] * 80)] if stream else [Play(body=WHOLE + b" " * 60_000)]
    problem, server = refused(plays, stream=stream)
    assert "sent more than 50000 bytes" in str(problem) and len(server.requests) == 1
    problem, _ = refused([Play(status=400, body=b"y" * 60_000)])
    assert len(str(problem)) < 1000


@WAYS
def test_a_small_body_that_swells_is_cut_off(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = {"content-encoding": "gzip"}
    with serve([Play(body=gzip.compress(WHOLE), headers=packed)]) as server:
        assert complete(server.base_url, stream=stream)[0].text == "hello"
    monkeypatch.setattr(endpoint, "LONGEST", 1_000_000)
    bomb = gzip.compress(b" " * 8_000_000)
    assert len(bomb) < 100_000
    problem, server = refused([Play(body=bomb, headers=packed)], stream=stream)
    assert "sent more than 1000000 bytes" in str(problem) and len(server.requests) == 1
    with serve([Play(body=b"no gzip", headers=packed), text("ok")]) as server:
        assert complete(server.base_url, stream=stream)[0].text == "ok"


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream", "image/png", ""])
@WAYS
def test_the_content_type_decides_nothing_that_the_body_does_not_bear_out(kind: str, stream: bool) -> None:
    with serve([Play(body=WHOLE, headers={"content-type": kind})]) as server:
        assert complete(server.base_url, stream=stream)[0].text == "hello"
    events = b'data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    with serve([Play(body=events, headers={"content-type": kind})]) as server:
        assert complete(server.base_url, stream=stream)[0].text == "hello"
    page = Play(body=b"<html><title>Log in</title></html>", headers={"content-type": kind})
    problem, server = refused([page], stream=stream)
    assert "an HTML page titled 'Log in'" in str(problem) and len(server.requests) == 1


def test_bytes_that_are_no_text() -> None:
    problem, server = refused([Play(body=WHOLE.replace(b"hello", b"h\xff\xfello"))])
    assert "no reply of a model" in str(problem) and len(server.requests) == 1
    broken = b'data: {"choices":[{"delta":{"content":"\xc3\x28"}}]}\n\n'
    with serve([Play(chunks=[broken]), text("ok")]) as server:
        reply, _ = complete(server.base_url, stream=True)
    assert reply.text == "ok"


@pytest.mark.parametrize("depth", [200, 500, *range(900, 1010, 5), 5_000])
def test_arguments_that_nest_as_deep_as_can_be_read(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    call = '{"id":"c","function":{"name":"f","arguments":{"x":' + nested + "}}}"
    body = '{"choices":[{"message":{"content":"ok","tool_calls":[' + call + "]}}]}"
    reading = Assembler()
    try:
        value = json.loads(body)
    except RecursionError:
        return
    assert reading.whole(value)
    (made,) = reading.reply(sent=b"", received=b"").calls
    assert made.name == "f" and made.arguments


def test_arguments_as_an_object_hold_what_json_can() -> None:
    assert arguments_object('{"n": 1e999, "m": NaN, "k": 1.5, "i": 3}') == {"n": "1e999", "m": "NaN", "k": 1.5, "i": 3}
    assert [arguments_object(text) for text in ("", "[1]", "{", "[" * 100_000)] == [{}, {}, {}, {}]


def test_numbers_nesting_and_names_that_are_hostile() -> None:
    deep = b'{"choices":' + b"[" * 100_000
    problem, _ = refused([Play(body=deep)])
    assert "no reply of a model" in str(problem)
    odd = {"choices": [{"message": {"content": "ok", "tool_calls": [{"index": 10**30, "id": 5}]}}], "model": 7}
    with serve([Play(body=json.dumps({**odd, "usage": {"prompt_tokens": -1}}).encode())]) as server:
        reply, _ = complete(server.base_url)
    assert (reply.text, reply.model, reply.usage.input_tokens) == ("ok", "", None)


def test_a_cookie_of_one_turn_does_not_come_back_in_another() -> None:
    with serve([text("one", headers={"Set-Cookie": "session=ada"}), text("two")]) as server:

        async def twice() -> list[str]:
            model = OpenAIModel("m", base_url=server.base_url)
            try:
                return [(await model.complete(HELLO)).text for _ in range(2)]
            finally:
                await model.aclose()

        assert asyncio.run(twice()) == ["one", "two"]
        assert not any("cookie" in headers for _, headers, _ in server.requests)
