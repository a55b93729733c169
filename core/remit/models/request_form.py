"""A request in the form in which it is recorded and found again: what a model is shown, without what varies by chance.

Left out on purpose, and put back into the reply when it is replayed:

- ids of calls, which endpoints invent: the first one is `<call 1>`;
- handles of kept results (`r-5f0c9a1b2c3d`): `<handle 1>`;
- folders that the caller names, such as a temporary workspace: the name it gives them.

The *loose* form leaves out the present, too: in system prompts and results a date-time, a date or seconds since 1970
within a day of the clock; and in a message that holds one of these, times of day and English names of weekdays.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from remit.models.protocol import Document, Message, ModelRequest, Picture, whole_text

Hide = Callable[[str], str]
"""Returns a text without what must not be kept."""

_HANDLE = re.compile(r"\br-[0-9a-f]{12}\b")
_MOMENT = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_SECONDS = re.compile(r"(?<![\d.])\d{10}(?:\.\d{1,9})?(?![\d.])")
_CLOCK = re.compile(r"\b\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?\b")
_WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b")
_NEAR = timedelta(hours=38)
"""A date-time without an offset can be in any zone: a day, and fourteen hours."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """One request as it is kept.

    Attributes:
        parts: label (`message 3`, `skills`, `options`) and canonical JSON text of each part, in order.
        loose_parts: the texts without the present.
        stands_for: placeholder to what it stands for in this run.
    """

    parts: tuple[tuple[str, str], ...]
    loose_parts: tuple[str, ...]
    stands_for: Mapping[str, str] = field(default_factory=dict)

    @property
    def exact(self) -> str:
        """SHA-256 over the parts."""
        return digest_of(text for _, text in self.parts)

    @property
    def loose(self) -> str:
        """SHA-256 over the parts without the present."""
        return digest_of(self.loose_parts)


def digest_of(texts: Any) -> str:
    """Return the SHA-256 over texts in order, 64 hexadecimal digits."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(hashlib.sha256(text.encode()).digest())
    return whole.hexdigest()


def form_of(
    request: ModelRequest,
    *,
    hide: Hide | None = None,
    places: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Form:
    """Return the form of a request.

    Args:
        request: what a model is asked.
        hide: takes out of every text what must not be kept; equal for equal requests.
        places: folder to the name that stands for it.
        now: the time; None for the clock.
    """
    naming = _Naming(places or {})
    messages = [
        naming.message({**json.loads(message.wire), **_images(message, request)}) for message in request.messages
    ]
    if hide is not None:
        for told in messages:  # what is recognised late in a conversation is hidden early in it, too
            _mapped(told, hide)
        messages = [_mapped(told, hide) for told in messages]
    skills = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
        for tool in request.tools
    ]
    options = {
        "tool_choice": request.tool_choice,
        "stop": list(request.stop),
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "answer_schema": request.answer_schema,
    }
    parts = [(f"message {number}", canonical(told)) for number, told in enumerate(messages, 1)]
    parts += [("skills", canonical(skills)), ("options", canonical(options))]
    moment = now or datetime.now(UTC)
    loose = [canonical(_without_present(told, moment)) for told in messages]
    return Form(
        parts=tuple(parts),
        loose_parts=(*loose, *(text for _, text in parts[len(messages) :])),
        stands_for={mark: real for real, mark in naming.marks.items()},
    )


def _images(message: Message, request: ModelRequest) -> dict[str, Any]:
    """Return the digests of the images and documents that are sent along with a message."""
    sent: dict[str, Picture | Document] = {**request.pictures, **request.documents}
    shown = [sent[handle].data for handle in message.images if handle in sent]
    return {"images": [hashlib.sha256(data).hexdigest() for data in shown]} if shown else {}


def canonical(value: Any) -> str:
    """Return JSON data as text that is equal for equal data; lone surrogates become U+FFFD."""
    return whole_text(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


def marked(text: str, stands_for: Mapping[str, str]) -> str:
    """Return `text` with placeholders for what they stand for."""
    for mark, real in stands_for.items():
        text = text.replace(real, mark)
    return text


def unmarked(text: str, stands_for: Mapping[str, str]) -> str:
    """Return `text` with what its placeholders stand for in this run."""
    for mark, real in stands_for.items():
        text = text.replace(mark, real)
    return text


class _Naming:
    """Gives what varies between runs names that do not, in the order in which it comes."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self.marks: dict[str, str] = dict(places)
        self._handles = 0
        self._calls: dict[str, str] = {}

    def message(self, told: dict[str, Any]) -> Any:
        """Return a message of a chat completion request with names in it."""
        for call in told.get("tool_calls") or ():
            call["id"] = self._calls.setdefault(call["id"], f"<call {len(self._calls) + 1}>")
        if "tool_call_id" in told:
            own = told["tool_call_id"]
            told["tool_call_id"] = self._calls.get(own, "<unknown call>")
        return _mapped(told, self._text)

    def _text(self, text: str) -> str:
        for place in sorted(self.marks, key=len, reverse=True):
            text = text.replace(place, self.marks[place])
        return _HANDLE.sub(self._handle, text)

    def _handle(self, found: re.Match[str]) -> str:
        self._handles += 1
        return self.marks.setdefault(found[0], f"<handle {self._handles}>")


def _mapped(value: Any, change: Hide) -> Any:
    """Return JSON data with every text in it changed; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _mapped(one, change) for name, one in value.items()}
    if isinstance(value, Sequence):
        return [_mapped(one, change) for one in value]
    return value


def _without_present(told: Mapping[str, Any], now: datetime) -> Any:
    if told.get("role") not in ("system", "tool"):
        return told
    return _mapped(told, lambda text: _timeless(text, now))


def _timeless(text: str, now: datetime) -> str:
    found = _MOMENT.sub(lambda match: "<now>" if _is_near(match[0], now) else match[0], text)
    found = _DATE.sub(lambda match: "<today>" if _is_today(match[0], now) else match[0], found)
    seconds = now.timestamp()
    found = _SECONDS.sub(lambda match: "<now>" if abs(float(match[0]) - seconds) < 86_400 else match[0], found)
    if found == text:
        return text
    return _WEEKDAY.sub("<weekday>", _CLOCK.sub("<time>", found))


def _is_near(text: str, now: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return False
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return abs(known - now) < (timedelta(days=1) if moment.tzinfo is not None else _NEAR)


def _is_today(text: str, now: datetime) -> bool:
    try:
        return abs(date.fromisoformat(text) - now.date()) <= timedelta(days=1)
    except ValueError:
        return False
