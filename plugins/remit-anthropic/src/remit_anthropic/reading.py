"""Replies of the Messages API: the events of a stream, or a whole message as if its blocks came one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.models.gathering import Gathering, arguments_text, count
from remit.models.protocol import Finish, ModelReply, OnDelta, ToolCall, Usage
from remit.models.turns import carry_of

_FINISH: Mapping[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}

_THINKING = ("thinking", "redacted_thinking")

_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""What together is everything that the model read."""


@dataclass
class _Block:
    """One block of a message: its fields as they came, and the parts of what grows."""

    kind: str
    fields: dict[str, Any]
    parts: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)

    @property
    def grown(self) -> str:
        return "".join(self.parts)


class MessageReading(Gathering):
    """Takes one reply in.

    Args:
        asked: name of the model that is asked; only it gets its thinking back.
        on_delta: gets text and thinking as they come in.
    """

    def __init__(self, asked: str, on_delta: OnDelta | None = None) -> None:
        super().__init__(on_delta)
        self._asked = asked
        self._blocks: dict[int, _Block] = {}
        self._used: dict[str, int] = {}

    def chunk(self, body: Mapping[str, Any]) -> None:
        """Take the data of one event; kinds that are not known are let pass, as the API demands."""
        match body.get("type"):
            case "message_start" if isinstance(message := body.get("message"), dict):
                self._head(message)
            case "content_block_start" if isinstance(block := body.get("content_block"), dict):
                self._start(body.get("index"), block)
            case "content_block_delta" if isinstance(delta := body.get("delta"), dict):
                self._grow(body.get("index"), delta)
            case "message_delta":
                self._ending(body)
            case "message_stop":
                self.over = True

    def whole(self, body: Mapping[str, Any]) -> bool:
        """Take a whole answer; False when it is no message."""
        blocks = body.get("content")
        if body.get("type") != "message" or not isinstance(blocks, list):
            return False
        self._head(body)
        for number, block in enumerate(blocks):
            if isinstance(block, dict):
                self._start(number, block)
        self._ending({"delta": body})
        return True

    def reply(self, *, sent: bytes, received: bytes) -> ModelReply:
        """Return what came. Calls without a name are left out with a note."""
        calls = [call for _, block in sorted(self._blocks.items()) if (call := self._call(block)) is not None]
        return self.gathered(calls, sent=sent, received=received, carry=self._carry())

    def _head(self, message: Mapping[str, Any]) -> None:
        if isinstance(name := message.get("model"), str):
            self.model = name
        self._count(message.get("usage"))

    def _start(self, index: Any, fields: Mapping[str, Any]) -> None:
        kind = fields.get("type")
        if not isinstance(index, int) or not isinstance(kind, str):
            return
        block = self._blocks[index] = _Block(kind=kind, fields=dict(fields))
        if kind in ("text", "thinking"):
            self._more(block, fields.get(kind))

    def _grow(self, index: Any, delta: Mapping[str, Any]) -> None:
        block = self._blocks.get(index) if isinstance(index, int) else None
        if block is None:
            return
        match delta.get("type"):
            case "text_delta":
                self._more(block, delta.get("text"))
            case "thinking_delta":
                self._more(block, delta.get("thinking"))
            case "signature_delta" if isinstance(part := delta.get("signature"), str):
                block.signature.append(part)
            case "input_json_delta" if isinstance(part := delta.get("partial_json"), str):
                block.parts.append(part)

    def _more(self, block: _Block, text: Any) -> None:
        if isinstance(text, str) and text:
            block.parts.append(text)
            (self.say if block.kind == "text" else self.think)(text)

    def _ending(self, body: Mapping[str, Any]) -> None:
        delta = body.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if isinstance(reason, str) and reason:
            self.finish = _FINISH.get(reason, "stop")
        self._count(body.get("usage"))

    def _count(self, usage: Any) -> None:
        """Take what is told about tokens; later figures count in place of earlier ones."""
        if not isinstance(usage, dict):
            return
        found = {name: count(usage.get(name)) for name in (*_INPUT, "output_tokens")}
        self._used |= {name: value for name, value in found.items() if value is not None}
        read = sum(self._used.get(name, 0) for name in _INPUT) if "input_tokens" in self._used else None
        self.usage = Usage(
            input_tokens=read,
            output_tokens=self._used.get("output_tokens"),
            cached_tokens=self._used.get("cache_read_input_tokens", 0),
            cache_writes=self._used.get("cache_creation_input_tokens", 0),
        )

    def _call(self, block: _Block) -> ToolCall | None:
        if block.kind != "tool_use":
            return None
        arguments = block.grown or arguments_text(block.fields.get("input") or {})
        return self.call(block.fields.get("name"), arguments, block.fields.get("id"))

    def _carry(self) -> str:
        """Return thinking blocks as they have to come back, with the lengths of the texts between them."""
        blocks = [block for _, block in sorted(self._blocks.items()) if block.kind in (*_THINKING, "text")]
        if all(block.kind == "text" for block in blocks):
            return ""
        order = [len(block.grown) if block.kind == "text" else _given_back(block) for block in blocks]
        return carry_of("anthropic", self._asked, order=order)


def _given_back(block: _Block) -> dict[str, Any]:
    if block.kind == "redacted_thinking":
        return {"type": block.kind, "data": _own(block, "data")}
    signature = "".join(block.signature) or _own(block, "signature")
    return {"type": block.kind, "thinking": block.grown, "signature": signature}


def _own(block: _Block, name: str) -> str:
    """Return a field of a block that is a text; anything else has no business in a later request."""
    value = block.fields.get(name)
    return value if isinstance(value, str) else ""
