"""Replies of the Gemini API: whole, or in parts that each look like a whole one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit.models.gathering import Gathering, arguments_text, count
from remit.models.protocol import Finish, ModelReply, OnDelta, ToolCall, Usage
from remit.models.turns import carry_of

_FINISH: Mapping[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "stop",
    "UNEXPECTED_TOOL_CALL": "stop",
    "TOO_MANY_TOOL_CALLS": "stop",
    "MISSING_THOUGHT_SIGNATURE": "stop",
}
"""Why a reply ended; every other reason is one for which the rest is withheld."""

_UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"


class CandidateReading(Gathering):
    """Takes one reply in.

    Args:
        asked: name of the model that is asked; only it gets its signatures back.
        on_delta: gets text and thoughts as they come in.
    """

    def __init__(self, asked: str, on_delta: OnDelta | None = None) -> None:
        super().__init__(on_delta)
        self._asked = asked
        self._calls: list[ToolCall] = []
        self._signed: dict[str, str] = {}

    def chunk(self, body: Mapping[str, Any]) -> None:
        """Take one part of a stream."""
        self._frame(body)

    def whole(self, body: Mapping[str, Any]) -> bool:
        """Take a whole answer; False when it holds neither a candidate nor why there is none."""
        return self._frame(body)

    def reply(self, *, sent: bytes, received: bytes) -> ModelReply:
        """Return what came."""
        carry = carry_of("google", self._asked, signed=self._signed) if self._signed else ""
        return self.gathered(self._calls, sent=sent, received=received, carry=carry)

    def _frame(self, body: Mapping[str, Any]) -> bool:
        if isinstance(name := body.get("modelVersion"), str):
            self.model = name
        if isinstance(usage := body.get("usageMetadata"), dict):
            self.usage = _usage(usage)
        feedback = body.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            self.finish = "filter"
            self.note("the endpoint took offence at the question")
            return True
        candidates = body.get("candidates")
        candidate = candidates[0] if isinstance(candidates, list) and candidates else None
        if not isinstance(candidate, dict):
            return False
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                self._part(part)
        self._end(candidate.get("finishReason"))
        return True

    def _end(self, reason: Any) -> None:
        if not isinstance(reason, str) or reason in ("", _UNSPECIFIED):
            return
        self.finish = _FINISH.get(reason, "filter")
        if reason not in ("STOP", "MAX_TOKENS"):
            self.note(f"the endpoint ended the reply with {reason[:60]}")

    def _part(self, part: Mapping[str, Any]) -> None:
        call = part.get("functionCall")
        if isinstance(call, dict):
            where = self._call(call)
        else:
            where = "text"
            (self.think if part.get("thought") is True else self.say)(part.get("text"))
        signature = part.get("thoughtSignature")
        if isinstance(signature, str) and signature and where:
            self._signed[where] = signature

    def _call(self, call: Mapping[str, Any]) -> str:
        """Take a call; return the place of its signature, empty for one that is left out."""
        taken = self.call(call.get("name"), arguments_text(call.get("args") or {}), call.get("id"))
        if taken is None:
            return ""
        self._calls.append(taken)
        return str(len(self._calls) - 1)


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Return the tokens; what the model thought is part of what it wrote."""
    said, thought = count(usage.get("candidatesTokenCount")), count(usage.get("thoughtsTokenCount"))
    written = None if said is None and thought is None else (said or 0) + (thought or 0)
    cached = count(usage.get("cachedContentTokenCount")) or 0
    return Usage(input_tokens=count(usage.get("promptTokenCount")), output_tokens=written, cached_tokens=cached)
