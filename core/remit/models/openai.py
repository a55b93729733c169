"""A client of our own for any OpenAI-compatible endpoint (chat completions)."""

from __future__ import annotations

import json
import os
from asyncio import AbstractEventLoop, get_running_loop, timeout
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from remit.errors import EndpointDown, ModelError
from remit.models.assemble import Assembler
from remit.models.keys import resolve_key, why_no_key
from remit.models.protocol import ModelDelta, ModelReply, ModelRequest, OnDelta, ToolSpec, encode, tool_wire
from remit.models.refusal import error_code, own_words, refused_field
from remit.models.retry import RETRIED, Again, Retries, retry_after
from remit.models.stream import EventLines
from remit.models.urls import chat_url, proxy_for, shown_url

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

DEFAULT_URL = "https://api.openai.com/v1"
LONGEST = 64 * 1024 * 1024
"""Most bytes of an answer."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint.

    Without `base_url`, the variables OPENAI_BASE_URL and OPENAI_API_KEY count; a key from the
    environment goes to no URL that was named here.

    Args:
        name: as the endpoint knows it.
        base_url: see `remit.models.urls.chat_url`.
        api_key: the key, or a reference (`env:NAME`, `file:PATH`, `keyring:SERVICE/NAME`); without
            one no Authorization header is sent.
        read_timeout: seconds without a byte from the endpoint until an attempt counts as failed.
        connect_timeout: seconds until a connection must stand.
        longest_reply: seconds that one reply may take however steadily it comes: some servers let a
            model write for ever.
        retries: see `Retries`.
        extra: further fields of every request's body, such as `{"seed": 1}`.

    Raises:
        DeploymentError: `base_url` or the key cannot be used.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        read_timeout: float = 300.0,
        connect_timeout: float = 10.0,
        longest_reply: float = 1800.0,
        retries: Retries | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = name
        configured = api_key
        if not (base_url and base_url.strip()):
            base_url = os.environ.get("OPENAI_BASE_URL", "").strip() or DEFAULT_URL
            api_key = "env:OPENAI_API_KEY" if api_key is None else api_key
        self.url = chat_url(base_url)
        self._key = resolve_key(api_key)
        self._no_key = "" if self._key is not None else why_no_key(configured)
        self._read_timeout = read_timeout
        self._connect_timeout = connect_timeout
        self._longest_reply = longest_reply
        self._retries = retries or Retries()
        self._extra = dict(extra or {})
        self._left_out: frozenset[str] = frozenset()
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")
        self._clients: WeakKeyDictionary[AbstractEventLoop, AsyncClient] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The model's name as the endpoint knows it."""
        return self._name

    def __repr__(self) -> str:
        return f"OpenAIModel({self._name!r}, base_url={shown_url(self.url)!r})"

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer `request`; with `on_delta` the endpoint is asked to stream.

        Raises:
            EndpointDown: the endpoint cannot be reached, or fails each time that it is asked again.
            ModelError: it refuses, or answers what cannot be read. Both show the URL, the status and its own words.
        """

        def on_pause(reason: str, wait: float) -> None:
            if on_delta is not None:
                on_delta(ModelDelta(kind="retry", text=reason, wait=wait))

        try:
            return await self._retries.run(lambda: self._attempt(request, on_delta), on_pause)
        except Again as error:
            tries = f" (tried {self._retries.attempts} times)" if self._retries.attempts > 1 else ""
            raise EndpointDown(f"{error}{tries}", remedy=error.remedy) from error.__cause__

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _attempt(self, request: ModelRequest, on_delta: OnDelta | None) -> ModelReply:
        import httpx2

        body = self._body(request, stream=on_delta is not None)
        try:
            async with self._client().stream("POST", self.url, content=body) as response:
                if response.status_code == 200:
                    return await self._in_time(self._reply(response, request, body, on_delta))
                refusal = await _capped(response)
        except httpx2.TimeoutException as error:
            raise Again(self._said(f"did not answer in time ({_kind(error)})")) from error
        except httpx2.LocalProtocolError as error:
            raise ModelError(self._said(f"cannot be asked: {error}")) from error
        except (httpx2.RequestError, OSError) as error:
            raise Again(
                self._said(f"cannot be reached ({_kind(error)}: {own_words(str(error).encode())})"),
                remedy="check base_url, and that the server runs",
            ) from error
        if field := self._refuses_field(response.status_code, refusal, request, on_delta):
            self._left_out |= {field}
            return await self._attempt(request, on_delta)
        raise self._refused(response, refusal)

    async def _in_time(self, reply: Awaitable[ModelReply]) -> ModelReply:
        try:
            async with timeout(self._longest_reply) as limit:
                return await reply
        except TimeoutError:
            if not limit.expired():
                raise
            raise ModelError(
                self._said(f"came to no end within {self._longest_reply:g} s"),
                remedy="set max_tokens under [model] in remit.toml, or a longer timeout",
            ) from None

    def _body(self, request: ModelRequest, *, stream: bool) -> bytes:
        """Render the request's body; each message and the tools were rendered before, once."""
        rest = json.dumps(self._options(request, stream=stream), separators=(",", ":"))
        parts = [b'{"model":', encode(self._name), b',"messages":[']
        parts += [b",".join([message.wire for message in request.messages]), b"]"]
        if request.tools:
            if self._tools[0] is not request.tools:
                self._tools = (request.tools, tool_wire(request.tools))
            parts += [b',"tools":', self._tools[1]]
        parts += [b"," if len(rest) > 2 else b"", rest[1:].encode()]
        return b"".join(parts)

    def _options(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        options: dict[str, Any] = dict(self._extra)
        if request.temperature is not None:
            options.setdefault("temperature", request.temperature)
        if request.stop:
            options["stop"] = list(request.stop)
        if request.max_tokens is not None:
            late = "max_tokens" in self._left_out
            options["max_completion_tokens" if late else "max_tokens"] = request.max_tokens
        if request.tool_choice and request.tools:
            options["tool_choice"] = _choice(request.tool_choice)
        if request.answer_schema is not None:
            options["response_format"] = _format(request.answer_schema)
        if stream:
            options |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in options.items() if name not in self._left_out}

    def _client(self) -> AsyncClient:
        loop = get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._new_client()
        return client

    def _new_client(self) -> AsyncClient:
        import ssl
        from urllib.request import getproxies

        import httpx2

        headers = {"content-type": "application/json", "user-agent": "remit"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        proxy = proxy_for(self.url, getproxies())
        secure = self.url.startswith("https:") or (proxy or "").startswith("https:")
        # Reading the CA files takes longer than a whole turn with a local model; http needs none.
        context = httpx2.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            return httpx2.AsyncClient(
                headers=headers,
                verify=context,
                proxy=proxy,
                trust_env=False,  # it would refuse to start over a NO_PROXY entry that it cannot read
                timeout=httpx2.Timeout(self._read_timeout, connect=self._connect_timeout),
            )
        except (httpx2.InvalidURL, ValueError, ImportError) as error:
            raise ModelError(
                self._said(f"cannot go through the proxy {shown_url(proxy or '')}: {_kind(error)}"),
                remedy="correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name this host in NO_PROXY",
            ) from error

    async def _reply(
        self, response: Response, request: ModelRequest, body: bytes, on_delta: OnDelta | None
    ) -> ModelReply:
        names = [tool.name for tool in request.tools]
        assembler = Assembler(names, on_delta)
        if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            received = await self._streamed(response, assembler)
        else:
            received = await _capped(response)
            if received.lstrip().startswith(b"data:"):
                self._events(EventLines(), received, assembler, last=True)
            else:
                self._whole(received, assembler)
        return assembler.reply(sent=body, received=received)

    async def _streamed(self, response: Response, assembler: Assembler) -> bytes:
        lines, received = EventLines(), bytearray()
        chunks = response.aiter_bytes()
        async for chunk in chunks:
            received += chunk
            if len(received) > LONGEST:
                raise ModelError(self._said(f"sent more than {LONGEST} bytes"))
            if self._events(lines, chunk, assembler):
                await _drain(chunks)
                return bytes(received)
        self._events(lines, b"", assembler, last=True)
        return bytes(received)

    def _events(self, lines: EventLines, chunk: bytes, assembler: Assembler, *, last: bool = False) -> bool:
        """Feed what `chunk` completes; True after `[DONE]`. A stream that just ends is an `Again`."""
        for data in [*lines.feed(chunk), *(lines.end() if last else ())]:
            if data.strip() == b"[DONE]":
                return True
            assembler.chunk(self._chunk(data))
        if last and not assembler.finished:
            raise Again(self._said("ended its stream in the middle of a reply; nothing of it was used"))
        return False

    def _chunk(self, data: bytes) -> Mapping[str, Any]:
        chunk = _object(data)
        if chunk is None:
            raise Again(self._said(f"sent a part of a stream that is no JSON object: {self._words(data)}"))
        if chunk.get("error"):
            raise Again(self._said(f"broke its stream off: {self._words(data)}"))
        return chunk

    def _whole(self, received: bytes, assembler: Assembler) -> None:
        body = _object(received)
        if body is not None and body.get("error"):
            raise ModelError(self._said(f"answered with an error: {self._words(received)}"))
        if body is None or not assembler.whole(body):
            what = "an empty body" if not received.strip() else f"no chat completion: {self._words(received)}"
            raise ModelError(
                self._said(f"answered {what}"), remedy="check that base_url is an OpenAI-compatible endpoint"
            )

    def _refuses_field(
        self, status: int, refusal: bytes, request: ModelRequest, on_delta: OnDelta | None
    ) -> str | None:
        if status not in (400, 422):
            return None
        sent = frozenset(self._options(request, stream=on_delta is not None)) - self._left_out
        return refused_field(refusal, sent)

    def _refused(self, response: Response, refusal: bytes) -> Exception:
        status, phrase = response.status_code, response.reason_phrase
        location = response.headers.get("location", "")
        words = self._words(refusal) or (f"moved to {shown_url(location)}" if location else "no reason given")
        message = self._said(f"answered {status} {phrase}".rstrip() + f": {words}")
        if (status in RETRIED or status >= 500) and error_code(refusal) != "insufficient_quota":
            return Again(message, pause=retry_after(response.headers.get("retry-after")))
        return ModelError(message, remedy=self._remedy(status))

    def _remedy(self, status: int) -> str:
        if status in (401, 403):
            if self._no_key:
                return self._no_key
            return "the configured API key was refused: check api_key under [model]"
        if status in (301, 302, 307, 308, 404, 405):
            return "check base_url, and that the endpoint has this model"
        return ""

    def _said(self, what: str) -> str:
        return f"model {self._name}: POST {shown_url(self.url)} {what}"

    def _words(self, body: bytes) -> str:
        return own_words(body, secret=self._key)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read a stream to its end, so that its connection serves the next turn; but not for long."""
    with suppress(TimeoutError):
        async with timeout(0.5):
            async for _ in chunks:
                pass


async def _capped(response: Response) -> bytes:
    received = bytearray()
    async for chunk in response.aiter_bytes():
        received += chunk
        if len(received) > LONGEST:
            break
    return bytes(received)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _choice(choice: str) -> Any:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _kind(error: Exception) -> str:
    return type(error).__name__
