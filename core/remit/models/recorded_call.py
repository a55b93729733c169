"""One call of a skill in a recording: what it gave, under the digest of what was asked. A file is not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from remit.values import Status

LONGEST = 32 * 1024 * 1024
"""Characters of what one call gave."""

MOST_FOLLOW_UPS = 64

KNOWN_LABELS = frozenset({"private", "untrusted"})

GIVEN: frozenset[str] = frozenset({"ok", "failed", "invalid", "timeout", "cancelled"}) & frozenset(get_args(Status))
"""How a call that ran can have ended. What policy or a person said of it is never played, but decided anew."""

_DIGEST = 64


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """What a call gave.

    Attributes:
        scope: whose call it was.
        skill: full name.
        digest: SHA-256 of skill and arguments, see `remit.pipeline.tape`.
        began: its number in the order in which the calls of its scope began; they stand in the order of their ends.
        status: how it ended.
        text: the result as JSON text for `ok`, which is taken no better than from a cell, else what the model reads;
            with placeholders.
        labels: of what it gave.
        follow_ups: skill and arguments (JSON text) of the calls that its pack asked for.
        withheld: why its result is not in the recording; empty when it is.
    """

    scope: str
    skill: str
    digest: str
    status: Status
    began: int = 0
    text: str = ""
    labels: frozenset[str] = frozenset()
    follow_ups: tuple[tuple[str, str], ...] = ()
    withheld: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the call as plain JSON, without what is empty."""
        body: dict[str, Any] = {"call": self.digest, "scope": self.scope, "skill": self.skill, "status": self.status}
        body["began"] = self.began
        if self.withheld:
            return {**body, "withheld": self.withheld}
        more = {"text": self.text, "labels": sorted(self.labels), "follow_ups": [list(one) for one in self.follow_ups]}
        return {**body, **{name: value for name, value in more.items() if value}}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> RecordedCall:
        """Read what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        call = cls(
            scope=_text(body, "scope", 1_000),
            skill=_text(body, "skill", 200),
            digest=_text(body, "call", _DIGEST),
            status=cast(Status, _text(body, "status", 20)),
            began=_number(body.get("began", 0)),
            text=_text({"text": "", **body}, "text", LONGEST),
            labels=frozenset(body.get("labels", ())),
            follow_ups=tuple(_follow_up(one) for one in body.get("follow_ups", ())),
            withheld=_text({"withheld": "", **body}, "withheld", 1_000),
        )
        if call.status not in GIVEN:
            raise ValueError(f"a call does not end {call.status!r} here")
        if not call.labels <= KNOWN_LABELS:
            raise ValueError("a label that is none")
        if len(call.follow_ups) > MOST_FOLLOW_UPS:
            raise ValueError(f"more than {MOST_FOLLOW_UPS} follow-up calls")
        return call


def _text(body: Mapping[str, Any], name: str, longest: int) -> str:
    value = body[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    if len(value) > longest:
        raise ValueError(f"{name} is longer than {longest} characters")
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError("a number that is none")
    return value


def _follow_up(one: Any) -> tuple[str, str]:
    skill, arguments = one
    return _text({"skill": skill}, "skill", 200), _text({"arguments": arguments}, "arguments", LONGEST)
