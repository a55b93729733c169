"""One reply from its parts: the chunks of a stream, or a whole message as its only chunk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.models.gathering import Gathering, arguments_text, count
from remit.models.protocol import Finish, ModelReply, OnDelta, ToolCall, Usage

_FINISH: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filter",
    "error": "filter",
}


MOST_CALLS = 4096
"""Calls of one reply that are kept, against endpoints that never stop; how many are made is up to the loop."""

MOST_LOOKED_AT = 16 * 1024 * 1024
"""Characters of arguments that are looked through in one reply for whether they are complete."""


@dataclass
class _Slot:
    index: int | None
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        """The arguments so far."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""


class Assembler(Gathering):
    """Builds a `ModelReply` from chat completions; never raises for what an endpoint sends.

    Endpoints differ in how they cut calls: without an index, with the name in every chunk, with
    arguments as an object. An id that is new, or a name after complete arguments, opens a call;
    a part with neither index nor id continues the last one.
    """

    def __init__(self, names: Iterable[str] = (), on_delta: OnDelta | None = None) -> None:
        super().__init__(on_delta)
        self._names = frozenset(names)
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self._looked_at = 0

    def chunk(self, body: Mapping[str, Any]) -> None:
        """Take one chunk of a stream."""
        self._frame(body, "delta")

    def whole(self, body: Mapping[str, Any]) -> bool:
        """Take a whole answer; False when it holds no message."""
        return self._frame(body, "message")

    def reply(self, *, sent: bytes, received: bytes) -> ModelReply:
        """Return what came. Calls without a name are left out with a note."""
        calls = [ToolCall(id=s.id, name=s.name, arguments=s.arguments) for s in self._named()]
        return self.gathered(calls, sent=sent, received=received)

    def _named(self) -> list[_Slot]:
        named = [slot for slot in self._slots if slot.name]
        if len(named) < len(self._slots):
            self.note("a call without a name was left out")
        return named

    def _frame(self, body: Mapping[str, Any], key: str) -> bool:
        if isinstance(name := body.get("model"), str):
            self.model = name
        if isinstance(usage := body.get("usage"), dict):
            self.usage = _usage(usage)
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return False
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.finish = _FINISH.get(reason, "stop")
        message = choice.get(key)
        if isinstance(message, dict):
            self._message(message, numbered=key == "message")
        return isinstance(message, dict)

    def _message(self, message: Mapping[str, Any], *, numbered: bool) -> None:
        self.think(_text(message.get("reasoning_content")) or _text(message.get("reasoning")))
        self.say(_text(message.get("content")) or _text(message.get("refusal")))
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            for position, call in enumerate(calls):
                self._call(call, position if numbered else None)
        elif isinstance(old := message.get("function_call"), dict):
            self._call({"index": 0, "function": old}, None)

    def _call(self, part: Any, position: int | None) -> None:
        if not isinstance(part, dict):
            self.note("a call that is no object was left out")
            return
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        name = name if isinstance(name, str) else ""
        index = part.get("index") if position is None else position
        index = index if isinstance(index, int) else None
        id_ = part["id"] if isinstance(part.get("id"), str) else ""
        slot = self._slot(index, id_, name)
        if slot is None:
            self.note(f"calls beyond {MOST_CALLS} were left out")
            return
        if id_ and not slot.id:
            slot.id, self._by_id[id_] = id_, slot
        self._name(slot, name)
        _arguments(slot, arguments)

    def _slot(self, index: int | None, id_: str, name: str) -> _Slot | None:
        """Return the slot that a part belongs to, a new one where it opens a call; None where there is no room."""
        if (found := self._find(index, id_, name)) is not None:
            return found
        if len(self._slots) == MOST_CALLS:
            return None
        self._slots.append(slot := _Slot(index))
        if index is not None:
            self._by_index[index] = slot
        return slot

    def _find(self, index: int | None, id_: str, name: str) -> _Slot | None:
        if index is not None:
            slot = self._by_index.get(index)
            return None if slot is not None and id_ and slot.id and slot.id != id_ else slot
        if id_:
            return self._by_id.get(id_)
        if not self._slots:
            return None
        last = self._slots[-1]
        return None if name and last.name and self._is_whole(last) else last

    def _is_whole(self, slot: _Slot) -> bool:
        """Say whether the arguments so far are a complete JSON text."""
        if self._looked_at > MOST_LOOKED_AT:
            return False
        text = slot.arguments
        self._looked_at += len(text)
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
        return True

    def _name(self, slot: _Slot, part: str) -> None:
        """Set the name, which many endpoints repeat; join the parts of one that was split."""
        joined = slot.name + part
        split = slot.name and slot.name not in self._names and any(n.startswith(joined) for n in self._names)
        if part:
            slot.name = joined if split else part


def _arguments(slot: _Slot, part: Any) -> None:
    if isinstance(part, str):
        slot.parts.append(part)
    elif part is not None:
        slot.parts = [arguments_text(part)]


def _text(content: Any) -> str:
    """Return the text of a content field: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _usage(usage: Mapping[str, Any]) -> Usage:
    about = usage.get("prompt_tokens_details")
    cached = count(about.get("cached_tokens")) if isinstance(about, dict) else None
    return Usage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_tokens=cached or 0,
    )
