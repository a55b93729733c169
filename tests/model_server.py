"""A real HTTP server that plays scripted chat completions, whole or streamed, right or broken."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Play:
    """One answer of the server.

    Attributes:
        message: an assistant message to send, whole or streamed as the request asks.
        finish: its finish reason; None leaves it out.
        usage: the usage to report; None leaves it out.
        chunks: chunks of a stream to send as they are, instead of `message`.
        done: end a stream with `[DONE]`.
        body: a raw body to send instead of everything above.
        status: HTTP status.
        headers: further or other headers.
        delay: seconds before the first byte.
        cut: close the connection at the end without ending the body.
    """

    message: Mapping[str, Any] | None = None
    finish: str | None = "stop"
    usage: Mapping[str, Any] | None = None
    chunks: Sequence[Any] | None = None
    done: bool = True
    body: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


def text(content: str, **options: Any) -> Play:
    """Return an answer in text."""
    return Play(message={"role": "assistant", "content": content}, **options)


def calls(*named: tuple[str, Any], content: str | None = None, **options: Any) -> Play:
    """Return calls as (name, arguments), with ids c0, c1, ..."""
    asked = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": a if isinstance(a, str) else json.dumps(a)},
        }
        for number, (name, a) in enumerate(named)
    ]
    message = {"role": "assistant", "content": content, "tool_calls": asked}
    return Play(message=message, **{"finish": "tool_calls", **options})


def error(status: int, message: str = "", **options: Any) -> Play:
    """Return an error in the form of the OpenAI API."""
    inner = {"message": message, **options.pop("error", {})}
    return Play(status=status, body=json.dumps({"error": inner}).encode(), **options)


@dataclass
class ModelServer:
    """A running server: its `base_url`, and the requests it was sent as (path, headers, body)."""

    base_url: str
    requests: list[tuple[str, dict[str, str], Any]]

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests, oldest first."""
        return [body for _, _, body in self.requests]


@contextmanager
def serve(plays: Iterable[Play] | Callable[[Any], Play]) -> Iterator[ModelServer]:
    """Play `plays` in order, the last one for ever, or what a function makes of each request's body."""
    server = _Server(plays)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield ModelServer(f"http://127.0.0.1:{server.server_port}/v1", server.requests)
    finally:
        server.shutdown()
        server.hang_up()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, plays: Iterable[Play] | Callable[[Any], Play]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._plays = plays if callable(plays) else list(plays)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.closing = threading.Event()

    def play(self, body: Any) -> Play:
        if callable(self._plays):
            return self._plays(body)
        with self._lock:
            return self._plays.pop(0) if len(self._plays) > 1 else self._plays[0]

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        self.closing.set()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: clients of these tests hang up on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        play = self.server.play(body)
        self.server.closing.wait(play.delay)
        if play.body is not None:
            self._whole(play, play.body, "application/json")
        elif play.chunks is not None or (body.get("stream") and play.message is not None):
            self._stream(play)
        else:
            self._whole(play, json.dumps(_completion(play)).encode(), "application/json")

    def _whole(self, play: Play, body: bytes, kind: str) -> None:
        headers = {"content-type": kind, "content-length": str(len(body) + (10 if play.cut else 0))}
        self._head(play, headers)
        self.wfile.write(body)
        self.close_connection = play.cut

    def _stream(self, play: Play) -> None:
        self._head(play, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for chunk in _chunks(play) if play.chunks is None else play.chunks:
            data = chunk if isinstance(chunk, bytes) else b"data: " + json.dumps(chunk).encode() + b"\n\n"
            self._part(data)
        if play.done:
            self._part(b"data: [DONE]\n\n")
        if not play.cut:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = play.cut

    def _part(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _head(self, play: Play, headers: Mapping[str, str]) -> None:
        self.send_response(play.status)
        for name, value in {**headers, **play.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _completion(play: Play) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "message": play.message, "finish_reason": play.finish}
    body = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return body if play.usage is None else {**body, "usage": play.usage}


def _chunks(play: Play) -> Iterator[dict[str, Any]]:
    """Cut a message into small chunks, as endpoints do."""
    message = play.message or {}
    content = message.get("content") or ""
    for start in range(0, len(content), 7):
        yield _chunk({"content": content[start : start + 7]})
    for number, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        yield _chunk({"tool_calls": [{**call, "index": number, "function": {**function, "arguments": ""}}]})
        for start in range(0, len(function["arguments"]), 5):
            part = function["arguments"][start : start + 5]
            yield _chunk({"tool_calls": [{"index": number, "function": {"arguments": part}}]})
    yield {**_chunk({}), "choices": [{"index": 0, "delta": {}, "finish_reason": play.finish}]}
    if play.usage is not None:
        yield {**_chunk({}), "choices": [], "usage": play.usage}


def _chunk(delta: Mapping[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
