"""What the loop and a model say to each other, whatever the endpoint."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from typing import Any, Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant", "tool"]

Origin = Literal["person", "model", "skill", "loop", "memory", "agent"]
"""Who wrote a message: the person's own words, the model, a skill's result, the loop itself, an earlier session, or the
model of another agent, which gives a task."""

Finish = Literal["stop", "length", "filter"]
"""Why a reply ended: the model was done; the output limit; the endpoint withheld the rest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call as a model wrote it.

    Attributes:
        id: as the endpoint gave it, possibly empty or used before; the transcript makes it unique.
        name: of the skill, as written.
        arguments: JSON text as written; empty means none were given.
        repaired: a text dialect mended damaged JSON to get these arguments.
        written: in a transcript, the arguments as the model wrote them, where `arguments` are not that.
        named: in a transcript, the name as the model wrote it, where `name` is not that.
        hidden: in a transcript that was kept, a part of the arguments was not: the call cannot be made from it.
    """

    id: str = ""
    name: str
    arguments: str = ""
    repaired: bool = False
    written: str = ""
    named: str = ""
    hidden: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a transcript.

    Attributes:
        role: as endpoints name it.
        content: the text.
        origin: who wrote it.
        calls: calls of an assistant message; each is answered by one `tool` message.
        call_id: the call that a `tool` message answers.
        status: how that call ended (`remit.values.Status`).
        reasoning: what the model thought aloud; kept apart, and sent back only where an endpoint demands it.
        carry: what the endpoint that wrote an assistant message wants back with it, as it gave it (`ModelReply.carry`).
        images: of a result or a person's message: handles of its images and documents. Only models that take such are
            shown them.
        labels: of a result: `untrusted`, `private`; of an agent's task: of everything that the agent had read; of what
            a person attached: beside `untrusted`.
        attached: of a person's message, how many characters at its end were pasted or attached: no words of theirs.
        structured: a result is an object or a list that the skill's code made, not a text.
    """

    role: Role
    content: str = ""
    origin: Origin = "person"
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    status: str = ""
    reasoning: str = ""
    labels: tuple[str, ...] = ()
    attached: int = 0
    structured: bool = False
    carry: str = ""
    images: tuple[str, ...] = ()
    _kept_wire: bytes = field(default=b"", init=False, repr=False, compare=False)
    _kept_json: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)
    _kept_count: tuple[object, int] = field(default=(None, 0), init=False, repr=False, compare=False)

    @property
    def asks(self) -> bool:
        """Whether it is a person's question or an agent's task: what a run is to do."""
        return self.role == "user" and self.origin in ("person", "agent")

    @property
    def wire(self) -> bytes:
        """The message as one JSON object of a chat completion request, rendered once."""
        if not self._kept_wire:
            object.__setattr__(self, "_kept_wire", encode(self._wire()))
        return self._kept_wire

    def tokens(self, counter: object, count: Callable[[Message], int]) -> int:
        """Return what `count` gives for the message; kept as long as the same counter asks."""
        if self._kept_count[0] is not counter:
            object.__setattr__(self, "_kept_count", (counter, count(self)))
        return self._kept_count[1]

    def _wire(self) -> dict[str, Any]:
        if self.role == "tool":
            return {"role": "tool", "tool_call_id": self.call_id, "content": self.content}
        if not self.calls:
            return {"role": self.role, "content": self.content}
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in self.calls
        ]
        return {"role": "assistant", "content": self.content or None, "tool_calls": calls}

    def to_json(self) -> dict[str, Any]:
        """Return the message as plain JSON, without what is empty; made once, so leave it as it is."""
        if self._kept_json is None:
            object.__setattr__(self, "_kept_json", made := self._json())
            return made
        return self._kept_json

    def _json(self) -> dict[str, Any]:
        body = {name: value for name in _names() if (value := getattr(self, name))}
        if self.calls:
            body["calls"] = [_call(c) for c in self.calls]
        lists: dict[str, Any] = {name: list(body[name]) for name in ("labels", "images") if name in body}
        return {**body, **lists}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Message:
        """Read what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        known = {name: body[name] for name in _names() if name in body}
        if known["role"] not in ("system", "user", "assistant", "tool"):
            raise ValueError(f"unknown role {known['role']!r}")
        known["labels"] = tuple(known.get("labels", ()))
        known["images"] = tuple(known.get("images", ()))
        known["calls"] = tuple(ToolCall(**call) for call in known.get("calls", ()))
        return cls(**known)


@cache
def _names() -> tuple[str, ...]:
    """Return the fields of a message that say something."""
    return tuple(one.name for one in fields(Message) if one.init)


def _call(call: ToolCall) -> dict[str, Any]:
    marks = {"repaired": call.repaired, "written": call.written, "named": call.named, "hidden": call.hidden}
    kept = {name: value for name, value in marks.items() if value}
    return {"id": call.id, "name": call.name, "arguments": call.arguments, **kept}


@dataclass(frozen=True, kw_only=True)
class Media:
    """Bytes for a model.

    Attributes:
        media_type: what they are, which was checked.
        data: the bytes.
    """

    media_type: str
    data: bytes = field(repr=False)

    @cached_property
    def base64(self) -> str:
        """The bytes as requests carry them."""
        return b64encode(self.data).decode("ascii")

    @property
    def data_url(self) -> str:
        """The bytes as a `data:` URL (RFC 2397)."""
        return f"data:{self.media_type};base64,{self.base64}"


@dataclass(frozen=True, kw_only=True)
class Picture(Media):
    """An image for a model: `image/png`, `image/jpeg`, `image/webp` or `image/gif`.

    Attributes:
        width, height: in pixels.
    """

    width: int
    height: int


@dataclass(frozen=True, kw_only=True)
class Document(Media):
    """A document for a model: `application/pdf`, as its first bytes say."""


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A skill as a model is shown it: its wire name, description, and JSON Schema of the arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One question to a model.

    Attributes:
        messages: the whole conversation that the model is shown, system prompt first.
        tools: skills offered through native function calling.
        tool_choice: `auto`, `none`, `required`, or the name of one tool; empty leaves it out.
        stop: texts at which the model must stop.
        temperature: None leaves it to the endpoint.
        max_tokens: most tokens of the reply; None leaves it to the endpoint.
        answer_schema: JSON Schema that a reply in text has to fit; None for any text.
        pictures: handle to image, of those images of the messages that are sent along.
        documents: handle to document, in the same way.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = ""
    stop: tuple[str, ...] = ()
    temperature: float | None = 0.0
    max_tokens: int | None = None
    answer_schema: Mapping[str, Any] | None = None
    pictures: Mapping[str, Picture] = field(default_factory=dict, repr=False)
    documents: Mapping[str, Document] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one reply or of a run; None where an endpoint did not say.

    Attributes:
        input_tokens: everything that the model read.
        output_tokens: everything that it wrote, reasoning included.
        cached_tokens: of what it read, what the endpoint still had from an earlier request; 0 where it tells of none.
        cache_writes: of what it read, what the endpoint keeps for later requests at a price of its own.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    cache_writes: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_writes=self.cache_writes + other.cache_writes,
        )

    @property
    def total_tokens(self) -> int | None:
        """Tokens in and out, None when either is unknown."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """A whole reply. An endpoint that streams and one that does not give the same one.

    Attributes:
        text: what the model said, without its reasoning.
        calls: native calls, in the model's order; each is whole unless `finish` says otherwise.
        reasoning: what endpoints send as reasoning content.
        finish: why it ended.
        usage: tokens.
        model: the name that the endpoint gives itself.
        notes: what was odd about the reply and how it was read, one line each.
        cost: of this reply, None where no price is known.
        carry: what the endpoint wants back with this reply in later requests, such as the signatures of its
            reasoning; a text that only the model that wrote it reads.
        sent: the request's body as sent; empty where nothing was sent anywhere.
        received: the answer's body as received.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    notes: tuple[str, ...] = ()
    cost: float | None = None
    carry: str = ""
    sent: bytes = field(default=b"", repr=False)
    received: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, kw_only=True)
class ModelDelta:
    """A part of a reply as it comes in.

    Attributes:
        kind: `text` and `reasoning` continue the reply; `retry` says that the attempt failed,
            that what came so far is void, and that another one follows.
        text: the new text, or why there is another attempt.
        wait: seconds until the next attempt (only for `retry`).
    """

    kind: Literal["text", "reasoning", "retry"]
    text: str
    wait: float = 0.0


OnDelta = Callable[[ModelDelta], None]


@runtime_checkable
class Model(Protocol):
    """Anything that answers a `ModelRequest`."""

    @property
    def name(self) -> str:
        """The model's name, for records and messages."""
        ...

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer `request`; with `on_delta`, hand out the text as it comes in.

        Raises:
            ModelError: no usable answer came.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open on the running event loop. May be called more than once."""
        ...


def encode(value: Any) -> bytes:
    """Return `value` as compact JSON in UTF-8; lone surrogates become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole_text(text).encode()


def whole_text(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def tool_wire(tools: Iterable[ToolSpec]) -> bytes:
    """Return `tools` as the JSON array of a chat completion request."""
    return encode([{"type": "function", "function": _function(tool)} for tool in tools])


def _function(tool: ToolSpec) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {**body, "strict": True} if tool.strict else body
