"""Native function calling, and calls that such an endpoint left in the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from remit.loop.interpreter import Heard, Names, offered, split_reasoning, tells_of_cut
from remit.loop.prompt import system_prompt
from remit.models.protocol import Message, ModelReply, ModelRequest, ToolCall, ToolSpec, tool_wire
from remit.models.wire import wire_schema
from remit.skills import Skill

TextCalls = Literal["whole", "any", "off"]
"""When a call that stands in the text counts: if the reply as a whole is one; anywhere; never."""


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
    ) -> None:
        self.names = Names(skills)
        self._system = Message(role="system", content=system_prompt(prompt), origin="loop")
        self._tools = self._specs(offered(skills, cut=False))
        self._all_tools = self._specs(offered(skills, cut=True))
        self._text_calls = text_calls
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._fixed = (len(self._system.wire) + len(tool_wire(self._all_tools))) // 3 + (max_tokens or 0)

    def fixed_tokens(self) -> int:
        """Return an estimate of the tokens of system prompt and skills, with room for the reply."""
        return self._fixed

    def request(self, messages: Sequence[Message]) -> ModelRequest:
        """Return the request that shows `messages` to the model."""
        return ModelRequest(
            messages=(self._system, *messages),
            tools=self._all_tools if tells_of_cut(messages) else self._tools,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
        )

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
            return Heard(text=text, calls=calls, reasoning=reasoning)
        if self._text_calls == "off" or not any(mark in text for mark in "{<["):
            return Heard(text=text, reasoning=reasoning)
        return self._in_text(text, reasoning)

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
        return {tool.name: tool.parameters for tool in self._all_tools}

    def _specs(self, skills: Mapping[str, Skill]) -> tuple[ToolSpec, ...]:
        return tuple(_spec(self.names.wire(full), skill) for full, skill in skills.items())


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
        opening = self._held.lstrip()[:1]
        if self._passes is None and opening:
            self._passes = opening not in "{[<`"
        held, self._held = (self._held, "") if self._passes else ("", self._held)
        return held


def _spec(name: str, skill: Skill) -> ToolSpec:
    parameters, strict = wire_schema(skill.schema)
    return ToolSpec(name=name, description=skill.description, parameters=parameters, strict=strict)


def _named(call: ToolCall, name: str) -> ToolCall:
    return ToolCall(id=call.id, name=name, arguments=call.arguments, repaired=call.repaired)
