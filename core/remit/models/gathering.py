"""What has come of one reply so far, whatever the endpoint's format."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from remit.models.protocol import Finish, ModelDelta, ModelReply, OnDelta, ToolCall, Usage

LONGEST_CARRY = 512 * 1024
"""Most characters that an endpoint may want back with a message; the transcript keeps them."""

MOST_TOKENS = 1_000_000_000
"""Most tokens that an endpoint is believed to have read or written for one reply."""


class Gathering:
    """Collects text, reasoning and what is known about a reply; readers of one format build on it.

    Args:
        on_delta: gets text and reasoning as they come in.

    Attributes:
        model: the name that the endpoint gives itself.
        usage: tokens, as far as they were told.
        finish: why the reply ended; None while it has not.
        over: the endpoint said that nothing more comes.
    """

    def __init__(self, on_delta: OnDelta | None = None) -> None:
        self.model = ""
        self.usage = Usage()
        self.finish: Finish | None = None
        self.over = False
        self._on_delta = on_delta
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._notes: dict[str, None] = {}

    @property
    def finished(self) -> bool:
        """A finish reason has come."""
        return self.finish is not None

    @property
    def text(self) -> str:
        """What the model has said so far."""
        return "".join(self._text)

    def say(self, text: Any) -> None:
        """Take the next part of the text; anything but a text is nothing."""
        self._take(self._text, text, reasoning=False)

    def think(self, text: Any) -> None:
        """Take the next part of the reasoning."""
        self._take(self._reasoning, text, reasoning=True)

    def note(self, note: str) -> None:
        """Note what is odd, once."""
        self._notes[note] = None

    def call(self, name: Any, arguments: str, id_: Any = "") -> ToolCall | None:
        """Return a call; None with a note for one without a name. An id that is no text is none."""
        if not isinstance(name, str) or not name:
            self.note("a call without a name was left out")
            return None
        return ToolCall(id=id_ if isinstance(id_, str) else "", name=name, arguments=arguments)

    def gathered(self, calls: Sequence[ToolCall] = (), *, sent: bytes, received: bytes, carry: str = "") -> ModelReply:
        """Return the reply."""
        if len(carry) > LONGEST_CARRY:
            self.note("what the endpoint wants back with its reply is too long and was not kept")
            carry = ""
        return ModelReply(
            text=self.text,
            calls=tuple(calls),
            reasoning="".join(self._reasoning),
            finish=self.finish or "stop",
            usage=self.usage,
            model=self.model,
            notes=tuple(self._notes),
            carry=carry,
            sent=sent,
            received=received,
        )

    def _take(self, parts: list[str], text: Any, *, reasoning: bool) -> None:
        if not isinstance(text, str) or not text:
            return
        parts.append(text)
        if self._on_delta is not None:
            self._on_delta(ModelDelta(kind="reasoning" if reasoning else "text", text=text))


def arguments_text(value: Any) -> str:
    """Return arguments that came as JSON values as the text of a call; what nests too deeply is no JSON any more."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"


def arguments_object(text: str) -> dict[str, Any]:
    """Return the arguments of a call for endpoints that want them as an object; `{}` for what is none.

    A number beyond every float stays text: JSON has no infinity.
    """
    try:
        value = json.loads(text or "{}", parse_float=_finite, parse_constant=str)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _finite(digits: str) -> float | str:
    return number if math.isfinite(number := float(digits)) else digits


def count(value: Any) -> int | None:
    """Return a number of tokens as an endpoint tells it, None for anything else, such as more than can be."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None
