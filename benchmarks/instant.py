"""A chat completion endpoint that answers at once, for comparing what stands around it.

The model's name says what happens: `tool-20` calls the tool whose name ends in `evaluate` in 19 turns and answers in
the 20th; `observed-20` does the same for frameworks that write results into the text (`Observation:`) and end with a
call of `final_answer`. Which turn it is follows from the request alone, so that any number of conversations can run
side by side.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

ANSWER = "All of it is done."
_MODEL = re.compile(rb'"model":\s*"(tool|observed)-(\d+)"')
_TOOL = re.compile(rb'"name":\s*"(\w*evaluate)"')
_RESULT = re.compile(rb'"role":\s*"tool"')
_OBSERVED = re.compile(rb"Observation:")
_STREAM = re.compile(rb'"stream":\s*true')
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)


class Endpoint(asyncio.Protocol):
    """One connection, kept open."""

    def __init__(self) -> None:
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            found = _LENGTH.search(self._buffer, 0, end)
            whole = end + 4 + (int(found[1]) if found else 0)
            if len(self._buffer) < whole:
                return
            body, self._buffer = self._buffer[end + 4 : whole], self._buffer[whole:]
            assert self._transport is not None
            self._transport.write(answer(body))


def answer(body: bytes) -> bytes:
    """Return the whole HTTP answer to one request."""
    found = _MODEL.search(body)
    kind, steps = (found[1], int(found[2])) if found else (b"tool", 1)
    done = len((_RESULT if kind == b"tool" else _OBSERVED).findall(body))
    offered = _TOOL.search(body)
    message = _message(kind, done, steps, offered[1].decode() if offered else "evaluate")
    usage = {"prompt_tokens": len(body) // 4, "completion_tokens": 20, "total_tokens": len(body) // 4 + 20}
    if _STREAM.search(body):
        return _whole(b"text/event-stream", _streamed(message, usage))
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "instant", "choices": [choice]}
    return _whole(b"application/json", json.dumps({**reply, "usage": usage}).encode())


def _whole(media_type: bytes, content: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n" % (media_type, len(content))
    return head + content


def _message(kind: bytes, done: int, steps: int, tool: str) -> dict[str, Any]:
    if done < steps - 1:
        return _call(tool, {"expression": f"{done} + {7 * done + 1}"}, done)
    if kind == b"observed":
        return _call("final_answer", {"answer": ANSWER}, done)
    return {"role": "assistant", "content": ANSWER}


def _call(name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _streamed(message: dict[str, Any], usage: dict[str, int]) -> bytes:
    calls = [{**call, "index": number} for number, call in enumerate(message.get("tool_calls", ()))]
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    if calls:
        deltas.append({"tool_calls": calls})
    deltas += [{"content": f"{word} "} for word in (message["content"] or "").split()]
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "instant"}
    chunks: list[dict[str, Any]] = [{**base, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    finish = "tool_calls" if calls else "stop"
    chunks.append({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({**base, "choices": [], "usage": usage})
    return b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"


def _serve(told: Connection) -> None:
    async def listening() -> None:
        server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", 0, backlog=512)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listening())


@contextmanager
def serving() -> Iterator[str]:
    """Run the endpoint in a process of its own; give its base URL."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{mine.recv()}/v1"
    finally:
        process.terminate()
        process.join()
