"""Native function calling, and calls that such an endpoint left in the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

from remit.loop.brevity import Form, bare, first_sentence, longest_that_fits
from remit.loop.context import ROOM
from remit.loop.interpreter import Head, Heard, Names, all_offered, split_reasoning
from remit.loop.prompt import system_prompt
from remit.loop.remembering import with_memory_joined
from remit.models.estimate import BYTES_PER_TOKEN, tokens
from remit.models.protocol import Message, ModelReply, ModelRequest, ToolCall, ToolSpec, tool_wire
from remit.models.wire import wire_schema
from remit.skills import Skill

TextCalls = Literal["whole", "any", "off"]
"""When a call that stands in the text counts: if the reply as a whole is one; anywhere; never."""

MOST_HEADS = 64
"""Sets of offered skills whose rendering is kept."""

_THOUGHT, _FINAL = "Thought:", "Final Answer:"
_LABELS = (_THOUGHT, _FINAL)
"""What models that were taught ReAct write around an answer, also where nobody asked for it."""


class NativeInterpreter:
    """Offers the skills as tools; every message goes out as it is in the transcript."""

    def __init__(
        self,
        skills: Mapping[str, Skill],
        *,
        prompt: str | None = None,
        text_calls: TextCalls = "whole",
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        context: int | None = None,
        strict: bool = False,
    ) -> None:
        self.names = Names(skills)
        self._strict = strict
        self._system = Message(role="system", content=system_prompt(prompt), origin="loop")
        self.skills = skills
        self.room = max_tokens or (context or 0) // ROOM
        self._context = context
        self._heads = lru_cache(maxsize=MOST_HEADS)(self._head)
        self._spec = lru_cache(maxsize=None)(self._made_spec)
        self._text_calls = text_calls
        self._temperature = temperature
        self._max_tokens = max_tokens

    def head(self, offered: Sequence[str], *, closing: bool = False) -> Head:
        """Return system prompt and skills, see `Interpreter`; the same object for the same skills."""
        return self._heads(tuple(offered))

    def request(
        self,
        messages: Sequence[Message],
        *,
        closing: bool = False,
        choice: str = "",
        offered: Sequence[str] | None = None,
    ) -> ModelRequest:
        """Return the request that shows `messages` to the model, see `Interpreter`.

        The skills stay in it when the model may only answer: endpoints want to know them where the
        messages hold calls, and can go on with the beginning that they have read.
        """
        head = self.head(all_offered(self.skills, messages) if offered is None else offered)
        return ModelRequest(
            messages=(*head.messages, *with_memory_joined(messages)),
            tools=head.tools,
            tool_choice=self._choice(closing, choice) if head.tools else "",
            temperature=self._temperature,
            max_tokens=self._max_tokens,
        )

    def _choice(self, closing: bool, choice: str) -> str:
        if closing:
            return "none"
        return self.names.wire(choice) if choice and choice != "required" else choice

    def listen(self) -> Callable[[str], str]:
        """Return a filter that holds back a reply that, as a whole, may be a call or opens with reasoning."""
        if self._text_calls == "off":
            return lambda text: text
        if self._text_calls == "any":
            from remit.dialects import Parser

            parser = Parser("auto", self._schemas())
            return lambda text: "".join(delta.text for delta in parser.feed(text))
        return _Opening().feed

    def hear(self, reply: ModelReply) -> Heard:
        """Return what `reply` means: its native calls, else calls in its text as far as they count."""
        text, thought = split_reasoning(reply.text)
        reasoning = reply.reasoning or thought
        if reply.calls:
            calls = tuple(_named(call, self.names.wire(call.name)) for call in reply.calls)
            return Heard(text=text, calls=calls, reasoning=reasoning, carry=reply.carry)
        if self._text_calls == "off":
            return Heard(text=text, reasoning=reasoning, carry=reply.carry)
        if any(mark in text for mark in "{<["):
            heard = self._in_text(text, reasoning)
            if heard.calls or heard.errors:
                return heard
        text, thought = _without_labels(text)
        return Heard(text=text, reasoning=reasoning or thought, carry=reply.carry)

    def _in_text(self, text: str, reasoning: str) -> Heard:
        from remit.dialects import parse

        parsed = parse(text, self._schemas(), "auto")
        prose = parsed.text.strip()
        if not (parsed.calls or parsed.errors) or (self._text_calls == "whole" and prose):
            return Heard(text=text, reasoning=reasoning)
        calls = tuple(
            ToolCall(name=call.name, arguments=call.arguments, repaired=call.repaired) for call in parsed.calls
        )
        return Heard(text=prose, calls=calls, errors=parsed.errors, reasoning=reasoning or parsed.reasoning)

    def _schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the schemas of all skills: one that is not offered now may be called, too."""
        return {tool.name: tool.parameters for tool in (self._spec(full, False) for full in self.skills)}

    def _head(self, offered: tuple[str, ...]) -> Head:
        known = [full for full in offered if full in self.skills]

        def make(form: Form) -> tuple[ToolSpec, ...]:
            return tuple(self._spec(full, form.terse) for full in known)

        return Head(messages=(self._system,), tools=longest_that_fits(make, self._tokens, self._context))

    def _made_spec(self, full: str, terse: bool) -> ToolSpec:
        name, skill = self.names.wire(full), self.skills[full]
        parameters, strict = wire_schema(skill.schema, strict=self._strict)
        if terse:
            description = first_sentence(skill.description)
            return ToolSpec(name=name, description=description, parameters=bare(parameters), strict=strict)
        return ToolSpec(name=name, description=skill.description, parameters=parameters, strict=strict)

    def _tokens(self, tools: tuple[ToolSpec, ...]) -> int:
        return tokens(self._system) + len(tool_wire(tools)) // BYTES_PER_TOKEN


class _Opening:
    """Holds back a text that opens like a call; lets any other pass as it comes."""

    def __init__(self) -> None:
        self._held = ""
        self._passes: bool | None = None

    def feed(self, text: str) -> str:
        """Return what of the text so far may be shown and was not."""
        if self._passes:
            return text
        self._held += text
        if self._passes is None:
            self._passes = _may_be_shown(self._held.lstrip())
        held, self._held = (self._held, "") if self._passes else ("", self._held)
        return held


def _may_be_shown(opening: str) -> bool | None:
    """Tell whether a text that opens so is for the reader; None while that is open."""
    if opening[:1] in ("{", "[", "<", "`") or opening.startswith(_LABELS):
        return False
    return None if any(label.startswith(opening) for label in _LABELS) else True


def _without_labels(text: str) -> tuple[str, str]:
    """Return the answer and the thought of a reply that is written as ReAct; any other text as it is."""
    thought, label, answer = text.lstrip().partition(_FINAL)
    if not label or (thought and not (thought.startswith(_THOUGHT) and thought.rstrip(" ").endswith("\n"))):
        return text, ""
    return answer.strip(), thought.removeprefix(_THOUGHT).strip()


def _named(call: ToolCall, name: str) -> ToolCall:
    return ToolCall(id=call.id, name=name, arguments=call.arguments, repaired=call.repaired)
