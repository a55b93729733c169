"""What a model gets before anybody said a word, and what each part of it takes of its context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.loop.interpreter import Head
from remit.loop.prompt import Fragment, joined
from remit.loop.showing import Showing
from remit.loop.voices import Choir, Voice
from remit.models.protocol import Message, ModelRequest, ToolSpec
from remit.skills import Skill

if TYPE_CHECKING:
    from remit.memory.memory import Memory
    from remit.memory.message import Opening


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of what a model gets.

    Attributes:
        name: `fragment role`, `calls`, `examples`, `skills`, `memory`, `reply`.
        tokens: that it takes.
        most: that it may take, None where nothing but the context limits it.
    """

    name: str
    tokens: int
    most: int | None = None


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What the model of one agent gets.

    Attributes:
        agent: its name; empty for the one that a person asks.
        dialect: how it writes calls.
        prompt: the fragments of its system prompt.
        request: system prompt, examples, what is remembered, and skills.
        offered: full names of the skills in it.
        skills: full name to skill, of all that it may call.
        memory: what a new session begins with; None where nothing is told.
        parts: what takes how many tokens.
        context: tokens that fit into the model, None where nobody knows.
        counted_by: who counted.
    """

    agent: str
    dialect: str
    prompt: tuple[Fragment, ...]
    request: ModelRequest
    offered: tuple[str, ...]
    skills: Mapping[str, Skill]
    memory: Opening | None
    parts: tuple[Part, ...]
    context: int | None
    counted_by: str

    @property
    def left(self) -> int | None:
        """Tokens that are left for the conversation, None where nobody knows."""
        return None if self.context is None else max(0, self.context - sum(part.tokens for part in self.parts))


def preview(
    choir: Choir,
    prompt: tuple[Fragment, ...],
    showing: Showing,
    *,
    question: str = "",
    memory: Memory | None = None,
    agent: str = "",
) -> Preview:
    """Return what a model gets.

    Args:
        choir: its models; the first one counts.
        prompt: the fragments of its system prompt.
        showing: what of the skills it is shown.
        question: a first question, where skills are searched.
        memory: of the person; None where nothing is remembered, or told.
        agent: its name.

    Raises:
        StateError: what is remembered cannot be read.
    """
    voice = choir.voices(lambda model: model)[0]
    interpreter = voice.interpreter
    offered = showing.offered(interpreter.skills, question)
    told = _told(memory) if memory is not None else None
    begun = () if told is None else (told.message,)
    head = interpreter.head(offered)
    parts = (*_parts(voice, prompt, head.messages, head.tools), *_memory(voice, told, memory))
    return Preview(
        agent=agent,
        dialect=choir.dialect,
        prompt=prompt,
        request=interpreter.request(begun, offered=offered),
        offered=offered,
        skills=interpreter.skills,
        memory=told,
        parts=(*parts, *([Part(name="reply", tokens=interpreter.room)] if interpreter.room else ())),
        context=voice.context,
        counted_by=voice.counting.counted_by,
    )


def _told(memory: Memory) -> Opening | None:
    from remit.memory.message import opening  # only where something is remembered

    return opening(memory.facts(), memory.config.budget)


def _parts(
    voice: Voice, prompt: Sequence[Fragment], messages: Sequence[Message], tools: tuple[ToolSpec, ...]
) -> Iterator[Part]:
    def tokens(text: str) -> int:
        return voice.counting.bare(Message(role="system", content=text))

    for fragment in prompt:
        yield Part(name=f"fragment {fragment.name}", tokens=tokens(fragment.text))
    if instructions := instructions_in(messages[0].content, prompt):
        yield Part(name="calls", tokens=tokens(instructions))
    if shots := messages[1:]:
        yield Part(name="examples", tokens=sum(map(voice.counting.bare, shots)))
    if tools:
        yield Part(name="skills", tokens=voice.counting.bare_head(Head(messages=(), tools=tools)))


def instructions_in(system: str, prompt: Sequence[Fragment]) -> str:
    """Return what a dialect says in a system prompt behind its fragments."""
    return system.removeprefix(joined(prompt)).strip()


def _memory(voice: Voice, told: Opening | None, memory: Memory | None) -> Iterator[Part]:
    if told is not None and memory is not None:
        yield Part(name="memory", tokens=voice.counting.bare(told.message), most=memory.config.budget)
