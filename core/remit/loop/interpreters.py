"""The interpreter for a dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remit.loop.interpreter import Interpreter
from remit.loop.native import NativeInterpreter, TextCalls
from remit.skills import Skill

NATIVE = "native"
"""Function calling of the endpoint itself."""


@dataclass(frozen=True, kw_only=True)
class Speech:
    """How a model is spoken to.

    Attributes:
        dialect: `native`, or how the model writes calls in text.
        prompt: the system prompt, None for the standard one.
        text_calls: see `TextCalls`; only for `native`.
        tag: of the tagged dialect.
        examples: show few-shot examples to text dialects.
        temperature: of every request.
        max_tokens: most tokens of a reply; None for the endpoint's own limit, in text dialects for 2048
            or half of the context.
        context: tokens that fit into the model: where they are few, less is said about the skills.
        strict: offer skills with `strict` schemas where theirs can be; only for `native`.
    """

    dialect: str = NATIVE
    prompt: str | None = None
    text_calls: TextCalls = "whole"
    tag: str = "tool_call"
    examples: bool = True
    temperature: float | None = 0.0
    max_tokens: int | None = None
    context: int | None = None
    strict: bool = False


def interpreter_for(skills: Mapping[str, Skill], speech: Speech) -> Interpreter:
    """Return an interpreter for `speech`.

    Raises:
        UsageError: there is no such dialect.
    """
    if speech.dialect == NATIVE:
        return NativeInterpreter(
            skills,
            prompt=speech.prompt,
            text_calls=speech.text_calls,
            temperature=speech.temperature,
            max_tokens=speech.max_tokens,
            context=speech.context,
            strict=speech.strict,
        )
    from remit.loop.in_text import TextInterpreter

    return TextInterpreter(
        skills,
        dialect=speech.dialect,
        tag=speech.tag,
        examples=speech.examples,
        prompt=speech.prompt,
        temperature=speech.temperature,
        max_tokens=speech.max_tokens,
        context=speech.context,
    )
