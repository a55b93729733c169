"""A model behind an HTTP endpoint, whatever the format: asked again, timed, capped, and told apart when it fails."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, get_running_loop, timeout
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from remit.errors import EndpointDown, ModelError
from remit.models.connect import Line, chunks_of, new_line
from remit.models.keys import resolve_key, why_no_key
from remit.models.protocol import ModelDelta, ModelReply, ModelRequest, OnDelta
from remit.models.refusal import error_code, own_words, refused_field
from remit.models.retry import RETRIED, Again, Retries, retry_after
from remit.models.stream import EventLines
from remit.models.urls import shown_url

if TYPE_CHECKING:
    from httpx2 import Response

LONGEST = 64 * 1024 * 1024
"""Most bytes of an answer, after decompression."""


LONGEST_REPLY = 10
"""How many times the time without a byte one reply may take while it keeps coming."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long an endpoint is waited for, in seconds.

    Attributes:
        read: without a byte from it, until an attempt counts as failed.
        connect: until a connection must stand.
        reply: that one reply may take however steadily it comes: some servers let a model write for ever.
        total: for one turn with all its attempts; None for no limit beside the others.
    """

    read: float = 300.0
    connect: float = 10.0
    reply: float = 1800.0
    total: float | None = None

    @classmethod
    def of(cls, read: float, total: float | None = None) -> Patience:
        """Return how long is waited where somebody says how long without a byte, and in all."""
        return cls(read=read, reply=LONGEST_REPLY * read, total=total)


class Reading(Protocol):
    """Takes one reply in, in the format of one API. Never raises for what an endpoint sends."""

    @property
    def finished(self) -> bool:
        """The reply is whole: the endpoint said why it ended."""
        ...

    @property
    def over(self) -> bool:
        """The endpoint said that nothing more comes."""
        ...

    def chunk(self, body: Mapping[str, Any]) -> None:
        """Take the data of one event of a stream."""
        ...

    def whole(self, body: Mapping[str, Any]) -> bool:
        """Take a whole answer; False when it holds no reply."""
        ...

    def reply(self, *, sent: bytes, received: bytes) -> ModelReply:
        """Return what came."""
        ...


class HttpModel(ABC):
    """What models behind an HTTP endpoint have in common; one API is `headers`, `options`, `body`, `reading`.

    Where it wants it, also `address`, `pause` and `refused_of`, and `kind`, `optional` and `end`.

    Args:
        name: as the endpoint knows it.
        url: that is posted to.
        api_key: the key, or a reference (`env:NAME`, `file:PATH`, `keyring:SERVICE/NAME`); None for none.
        configured: the reference that a person wrote, for advice when there is no key.
        patience: how long to wait.
        retries: see `Retries`.
        left_out: fields of requests that this model does not take.
        images, documents: it takes images, PDF documents.

    Attributes:
        url: that is posted to; failures of an endpoint are counted by it.
        images, documents: it takes images, PDF documents.
        left_out: fields that no request has, also those that the endpoint refused since.

    Raises:
        DeploymentError: the key cannot be used.
    """

    kind = "model endpoint"
    """What the URL should lead to, in words."""

    optional: tuple[str, ...] = ()
    """Fields that some models refuse; a request goes without them when one does."""

    end = b""
    """Data of the event after which a stream holds nothing more; empty where the connection's end is the end."""

    def __init__(
        self,
        name: str,
        *,
        url: str,
        api_key: str | None = None,
        configured: str | None = None,
        patience: Patience | None = None,
        retries: Retries | None = None,
        left_out: frozenset[str] = frozenset(),
        images: bool = False,
        documents: bool = False,
    ) -> None:
        self._name = name
        self.url = url
        self.images = images
        self.documents = documents
        self._key = resolve_key(api_key)
        self._no_key = "" if self._key is not None else why_no_key(configured)
        self._patience = patience or Patience()
        self._retries = retries or Retries()
        self.left_out = left_out
        self._lines: WeakKeyDictionary[AbstractEventLoop, Line] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The model's name as the endpoint knows it."""
        return self._name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, base_url={shown_url(self.url)!r})"

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer `request`; with `on_delta` the endpoint is asked to stream.

        Raises:
            EndpointDown: the endpoint cannot be reached, or fails each time that it is asked again.
            ModelError: it refuses, or answers what cannot be read. Both show the URL, the status and its own words.
        """

        def on_pause(reason: str, wait: float) -> None:
            if on_delta is not None:
                on_delta(ModelDelta(kind="retry", text=reason, wait=wait))

        total = self._patience.total
        try:
            async with timeout(total) as limit:
                return await self._retries.run(lambda: self._attempt(request, on_delta), on_pause)
        except Again as error:
            tries = f" (tried {self._retries.attempts} times)" if self._retries.attempts > 1 else ""
            raise EndpointDown(f"{error}{tries}", remedy=error.remedy) from error.__cause__
        except TimeoutError:
            if not limit.expired():
                raise
            raise EndpointDown(
                self._said(f"gave no whole reply within {total:g} s, all attempts together"),
                remedy="set a longer total_timeout under [model] in remit.toml",
            ) from None

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        line = self._lines.pop(get_running_loop(), None)
        if line is not None:
            await line.aclose()

    @abstractmethod
    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers of every request, with the key where there is one."""

    @abstractmethod
    def options(self, request: ModelRequest, *, stream: bool) -> dict[str, Any]:
        """Return the fields of a request that stand beside messages and skills, without those that are left out."""

    @abstractmethod
    def body(self, request: ModelRequest, *, stream: bool) -> bytes:
        """Return the request's body."""

    @abstractmethod
    def reading(self, request: ModelRequest, on_delta: OnDelta | None) -> Reading:
        """Return what takes the reply in."""

    def address(self, *, stream: bool) -> str:
        """Return the URL of one request."""
        return self.url

    def pause(self, response: Response, refusal: bytes) -> float | None:
        """Return the seconds that the endpoint asks to wait, None when it does not say."""
        return retry_after(response.headers.get("retry-after"))

    def refused_of(self, refusal: bytes, sent: frozenset[str]) -> str | None:
        """Return which optional field of those that were sent the endpoint does not take."""
        return refused_field(refusal, sent, self.optional)

    async def _attempt(self, request: ModelRequest, on_delta: OnDelta | None) -> ModelReply:
        import httpx2

        stream = on_delta is not None
        body = self.body(request, stream=stream)
        try:
            async with self._line().post(self.address(stream=stream), body) as response:
                if response.status_code == 200:
                    return await self._in_time(response, request, body, on_delta)
                refusal = await _capped(response)
        except httpx2.TimeoutException as error:
            raise Again(self._said(f"did not answer in time ({_kind(error)})")) from error
        except httpx2.LocalProtocolError as error:
            raise ModelError(self._said(f"cannot be asked: {error}")) from error
        except (httpx2.RequestError, OSError) as error:
            raise Again(
                self._said(f"cannot be reached ({_kind(error)}: {self._words(str(error).encode())})"),
                remedy="check base_url, and that the server runs",
            ) from error
        if response.status_code in (400, 422):
            sent = frozenset(self.options(request, stream=stream))
            if field := self.refused_of(refusal, sent - self.left_out):
                self.left_out |= {field}
                return await self._attempt(request, on_delta)
        raise self._refused(response, refusal)

    async def _in_time(
        self, response: Response, request: ModelRequest, body: bytes, on_delta: OnDelta | None
    ) -> ModelReply:
        try:
            async with timeout(self._patience.reply) as limit:
                return await self._reply(response, self.reading(request, on_delta), body)
        except TimeoutError:
            if not limit.expired():
                raise
            raise ModelError(
                self._said(f"came to no end within {self._patience.reply:g} s"),
                remedy="set max_tokens under [model] in remit.toml, or a longer timeout",
            ) from None

    def _line(self) -> Line:
        loop = get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            patience = self._patience
            headers = {"content-type": "application/json", "user-agent": "remit", **self.headers(self._key)}
            line = new_line(self.url, headers, read=patience.read, connect=patience.connect, said=self._said)
            self._lines[loop] = line
        return line

    async def _reply(self, response: Response, reading: Reading, body: bytes) -> ModelReply:
        if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            received = await self._streamed(response, reading)
        else:
            received = await _capped(response)
            self._check_length(len(received))
            if received.lstrip().startswith((b"data:", b"event:")):
                self._events(EventLines(), received, reading, last=True)
            else:
                self._whole(received, reading)
        return reading.reply(sent=body, received=received)

    async def _streamed(self, response: Response, reading: Reading) -> bytes:
        lines, received = EventLines(), bytearray()
        chunks = chunks_of(response)
        async for chunk in chunks:
            received += chunk
            self._check_length(len(received))
            if self._events(lines, chunk, reading):
                await _drain(chunks)
                return bytes(received)
        self._events(lines, b"", reading, last=True)
        return bytes(received)

    def _events(self, lines: EventLines, chunk: bytes, reading: Reading, *, last: bool = False) -> bool:
        """Feed what `chunk` completes; True after the end mark. A stream that just ends is an `Again`."""
        for data in [*lines.feed(chunk), *(lines.end() if last else ())]:
            if self.end and data.strip() == self.end:
                return True
            reading.chunk(self._chunk(data))
            if reading.over:
                return True
        if last and not reading.finished:
            raise Again(self._said("ended its stream in the middle of a reply; nothing of it was used"))
        return False

    def _chunk(self, data: bytes) -> Mapping[str, Any]:
        chunk = _object(data)
        if chunk is None:
            raise Again(self._said(f"sent a part of a stream that is no JSON object: {self._words(data)}"))
        if chunk.get("error"):
            raise Again(self._said(f"broke its stream off: {self._words(data)}"))
        return chunk

    def _whole(self, received: bytes, reading: Reading) -> None:
        body = _object(received)
        if body is not None and body.get("error"):
            raise ModelError(self._said(f"answered with an error: {self._words(received)}"))
        if body is None or not reading.whole(body):
            what = "an empty body" if not received.strip() else f"no reply of a model: {self._words(received)}"
            raise ModelError(self._said(f"answered {what}"), remedy=f"check that base_url is {self.kind}")

    def _check_length(self, length: int) -> None:
        if length > LONGEST:
            raise ModelError(self._said(f"sent more than {LONGEST} bytes"))

    def _refused(self, response: Response, refusal: bytes) -> Exception:
        status, phrase = response.status_code, response.reason_phrase
        location = response.headers.get("location", "")
        moved = self._words(f"moved to {shown_url(location)}".encode()) if location else "no reason given"
        answered = f"answered {status} {self._words(phrase.encode())}".rstrip()
        message = self._said(f"{answered}: {self._words(refusal) or moved}")
        if (status in RETRIED or status >= 500) and error_code(refusal) != "insufficient_quota":
            return Again(message, pause=self.pause(response, refusal))
        return ModelError(message, remedy=self._remedy(status))

    def _remedy(self, status: int) -> str:
        if status in (401, 403):
            if self._no_key:
                return self._no_key
            return "the configured API key was refused: check api_key under [model]"
        if status in (301, 302, 303, 307, 308, 404, 405):
            return "check base_url, and that the endpoint has this model"
        return ""

    def _said(self, what: str) -> str:
        return f"model {self._name}: POST {shown_url(self.url)} {what}"

    def _words(self, body: bytes) -> str:
        return own_words(body, secret=self._key)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read a stream to its end, so that its connection serves the next turn; but not for long, nor much."""
    with suppress(TimeoutError):
        async with timeout(0.5):
            async for _ in chunks:
                pass


async def _capped(response: Response) -> bytes:
    received = bytearray()
    async for chunk in chunks_of(response):
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


def _kind(error: Exception) -> str:
    return type(error).__name__
