"""Between a transcript and a model: what the model is shown, and what its reply means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from remit.loop.transcript import bare_name
from remit.models.protocol import Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from remit.models.wire import wire_names
from remit.skills import READ_RESULT, Skill

MOST_CALLS = 256
"""Calls of one reply that are made, whichever model wrote it."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A reply as the loop understands it.

    Attributes:
        text: what was said beside calls and reasoning.
        calls: what is asked for, in order, each by its wire name.
        errors: what looked like a call and is none, in words for the model.
        reasoning: what the model thought aloud.
        carry: what its endpoint wants back with it, see `ModelReply`.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    errors: tuple[str, ...] = ()
    reasoning: str = ""
    carry: str = ""

    @property
    def within_limits(self) -> Heard:
        """The reply with the first `MOST_CALLS` of its calls; the model is told of the others."""
        more = len(self.calls) - MOST_CALLS
        if more <= 0:
            return self
        told = f"One reply may have {MOST_CALLS} calls: its last {more} were left out. Ask for them in your next one."
        return replace(self, calls=self.calls[:MOST_CALLS], errors=(*self.errors, told))


class Names:
    """The names of the skills: as people and the pipeline write them, and as they are on the wire."""

    def __init__(self, skills: Mapping[str, Skill]) -> None:
        self._full = wire_names(skills)
        self._wire = {full: wire for wire, full in self._full.items()}

    def wire(self, written: str) -> str:
        """Return the wire name of what a model wrote, what it wrote where no skill has that name."""
        name = bare_name(written)
        return self._wire.get(name, name)

    def full(self, wire: str) -> str:
        """Return the full name of a wire name, what was written where no skill has that name."""
        return self._full.get(wire, wire)


@dataclass(frozen=True, kw_only=True)
class Head:
    """What every request begins with while the same skills are offered: system prompt, examples and skills."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()


class Interpreter(Protocol):
    """Speaks one way of calling skills: natively, or in a text dialect.

    Attributes:
        names: of all skills.
        skills: full name to skill, of all that may be called.
        room: tokens that are kept for the reply.
    """

    names: Names
    skills: Mapping[str, Skill]
    room: int

    def head(self, offered: Sequence[str], *, closing: bool = False) -> Head:
        """Return what a request begins with where these skills are offered, by full name."""
        ...

    def request(
        self,
        messages: Sequence[Message],
        *,
        closing: bool = False,
        choice: str = "",
        offered: Sequence[str] | None = None,
    ) -> ModelRequest:
        """Return the request that shows `messages` to the model.

        Args:
            messages: of the transcript.
            closing: the model may only answer.
            choice: `required` or the full name of a skill, where it must call one; empty leaves it to the model.
            offered: full names of the skills that are offered; None for all, `remit.read_result` only where a result
                among `messages` was cut.
        """
        ...

    def listen(self) -> Callable[[str], str]:
        """Return a filter for the text of one reply as it comes in: it gives what may be shown already."""
        ...

    def hear(self, reply: ModelReply) -> Heard:
        """Return what `reply` means. Never raises."""
        ...


def all_offered(skills: Mapping[str, Skill], messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the full names of all skills, of `remit.read_result` only where a result among `messages` was cut.

    It is of no use before, and small models call it instead of answering.
    """
    cut = any(message.role == "tool" and READ_RESULT in message.content for message in messages)
    return tuple(full for full in skills if cut or full != READ_RESULT)


_THOUGHT = re.compile(r"\s*<(think|thinking|reasoning)>(.*?)</\1>\s*", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str]:
    """Return `text` without the reasoning block it opens with, and that reasoning."""
    found = _THOUGHT.match(text)
    return (text[found.end() :], found[2].strip()) if found else (text, "")
