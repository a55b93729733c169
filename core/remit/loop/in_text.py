"""Models without function calling: skills, calls and results written in a text dialect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from remit.dialects import DIALECTS, Parser, Sample, examples, instructions, parse, render_call, render_result, stop
from remit.errors import UsageError
from remit.loop.interpreter import Heard, Names, offered, tells_of_cut
from remit.loop.prompt import system_prompt
from remit.loop.wording import ANSWER_NOW
from remit.models.protocol import Message, ModelReply, ModelRequest, ToolCall
from remit.models.wire import wire_schema
from remit.skills import RESERVED_PACK, Skill

MOST_EXAMPLES = 8
"""Few-shot examples in a request."""

LONGEST_REMINDER = 400
"""Characters of the question that are repeated after results."""


class TextInterpreter:
    """Writes the transcript in a dialect, and reads calls from the text of replies.

    The transcript stays what it is for native function calling, so a session can change its model.

    Raises:
        UsageError: there is no such dialect, or the tag is none.
    """

    def __init__(
        self,
        skills: Mapping[str, Skill],
        *,
        dialect: str,
        tag: str = "tool_call",
        examples: bool = True,
        prompt: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
    ) -> None:
        self.names = Names(skills)
        self._dialect = dialect
        self._tag = tag
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._schemas = {self.names.wire(full): _schema(skill) for full, skill in skills.items()}
        try:
            self._stop = stop(dialect, tag=tag)
            heads = [self._head_for(offered(skills, cut=cut), prompt, shots=examples) for cut in (False, True)]
        except ValueError as error:
            raise UsageError(str(error), remedy=f"use native, {', '.join(DIALECTS)}") from error
        self._head, self._head_after_cut = heads
        self._fixed = sum(len(message.wire) for message in self._head_after_cut) // 3 + (max_tokens or 0)

    def fixed_tokens(self) -> int:
        """Return an estimate of the tokens of system prompt, skills and examples, with room for the reply."""
        return self._fixed

    def request(self, messages: Sequence[Message]) -> ModelRequest:
        """Return the request that shows `messages` in the dialect."""
        head = self._head_after_cut if tells_of_cut(messages) else self._head
        return ModelRequest(
            messages=(*head, *self._written([*messages, *self._reminder(messages)])),
            stop=self._stop,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
        )

    def listen(self) -> Callable[[str], str]:
        """Return a filter that holds back what may belong to a call."""
        parser = Parser(self._dialect, self._schemas, tag=self._tag)
        return lambda text: "".join(delta.text for delta in parser.feed(text))

    def hear(self, reply: ModelReply) -> Heard:
        """Return what `reply` means. An endpoint that makes native calls nevertheless is understood, too."""
        if reply.calls:
            calls = tuple(ToolCall(id=c.id, name=self.names.wire(c.name), arguments=c.arguments) for c in reply.calls)
            return Heard(text=reply.text, calls=calls, reasoning=reply.reasoning)
        parsed = parse(reply.text, self._schemas, self._dialect, tag=self._tag)
        calls = tuple(
            ToolCall(name=call.name, arguments=call.arguments, repaired=call.repaired) for call in parsed.calls
        )
        reasoning = parsed.reasoning or reply.reasoning
        return Heard(text=parsed.text.strip(), calls=calls, errors=parsed.errors, reasoning=reasoning)

    def _head_for(self, skills: Mapping[str, Skill], prompt: str | None, *, shots: bool) -> tuple[Message, ...]:
        schemas = {name: self._schemas[name] for name in map(self.names.wire, skills)}
        told = instructions(schemas, self._dialect, tag=self._tag) if schemas else ""
        system = Message(role="system", content=system_prompt(prompt, told), origin="loop")
        return (system, *(self._shots(skills.values()) if shots else ()))

    def _written(self, messages: Sequence[Message]) -> Iterable[Message]:
        """Yield `messages` in the dialect; what follows each other on one side becomes one message."""
        skills: dict[str, str] = {}
        side, parts = "", list[str]()
        for message in messages:
            skills |= {call.id: call.name for call in message.calls}
            role = "assistant" if message.role == "assistant" else "user"
            if role != side and parts:
                yield _message(side, parts)
                parts = []
            side = role
            parts.append(self._text(message, skills))
        if parts:
            yield _message(side, parts)

    def _reminder(self, messages: Sequence[Message]) -> Iterable[Message]:
        """Yield a reminder of the question after results: small models, shown calls as examples, only call on.

        In ReAct, where an Observation says the same, it does more harm than good.
        """
        if self._dialect != "react" and messages and messages[-1].role == "tool":
            asked = next((m.content for m in reversed(messages) if m.origin == "person" and m.role == "user"), "")
            text = ANSWER_NOW.format(question=asked[:LONGEST_REMINDER])
            yield Message(role="user", content=text, origin="loop")

    def _text(self, message: Message, skills: Mapping[str, str]) -> str:
        if message.role == "tool":
            name = skills.get(message.call_id, "")
            return render_result(name, message.content, self._dialect, tag=self._tag)
        calls = (
            render_call(call.name, json.loads(call.arguments), self._dialect, tag=self._tag) for call in message.calls
        )
        return "\n".join(part for part in (message.content, *calls) if part)

    def _shots(self, skills: Iterable[Skill]) -> Iterable[Message]:
        samples = [sample for skill in skills if skill.pack != RESERVED_PACK for sample in self._samples(skill)]
        for question, call in examples(samples[:MOST_EXAMPLES], self._dialect, tag=self._tag):
            yield Message(role="user", content=question, origin="loop")
            yield Message(role="assistant", content=call, origin="loop")

    def _samples(self, skill: Skill) -> Iterable[Sample]:
        """Yield the first example of a skill's author, or one made from its schema."""
        name = self.names.wire(skill.full)
        for example in skill.examples:
            question, arguments = example.get("question"), example.get("arguments")
            if isinstance(question, str) and isinstance(arguments, Mapping):
                yield question, name, arguments
                return
        arguments = _made_up(skill.schema)
        given = ", ".join(f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
        yield f"Use {name}{' with ' if given else ''}{given}.", name, arguments


def _message(side: str, parts: Sequence[str]) -> Message:
    text = "\n\n".join(parts)
    if side == "assistant":
        return Message(role="assistant", content=text, origin="model")
    return Message(role="user", content=text)


def _schema(skill: Skill) -> dict[str, Any]:
    return {**wire_schema(skill.schema)[0], "description": skill.description}


def _made_up(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values for the required arguments."""
    properties = schema.get("properties", {})
    return {name: _value(properties.get(name, {})) for name in schema.get("required", ())}


def _value(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    for branch in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        return _value(branch)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    match kind:
        case "integer" | "number":
            return schema.get("minimum", 2)
        case "boolean":
            return True
        case "array":
            return [_value(schema["items"])] if isinstance(schema.get("items"), Mapping) else []
        case "object":
            return _made_up(schema)
        case _:
            return "example"
