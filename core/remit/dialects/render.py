"""The other direction: how a model without function calling is told to call skills, and shown results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from remit.dialects.marks import result_tag
from remit.dialects.parsed import Skills
from remit.dialects.whole import DEFAULT_TAG, check_dialect

Sample = tuple[str, str, Mapping[str, Any]]
"""A few-shot example: the question, the skill's name on the wire, its arguments."""

_TAGGED = (
    "To call a skill, reply with nothing but one call in these tags, then stop:\n"
    '<{tag}>{{"name": SKILL, "arguments": {{...}}}}</{tag}>\n'
    "The result comes back in the next message. When no skill is needed, reply with the answer alone."
)
_REACT = (
    "To call a skill, reply in this form, then stop:\n"
    "Thought: why the skill is needed\n"
    "Action: SKILL\n"
    "Action Input: a JSON object with the arguments\n"
    "The result comes back as an Observation. When you know the answer, reply:\n"
    "Thought: what the answer rests on\n"
    "Final Answer: the answer"
)
_JSON = (
    "To call a skill, reply with nothing but one JSON object, then stop:\n"
    '{"name": SKILL, "arguments": {...}}\n'
    "The result comes back in the next message. When no skill is needed, reply with the answer alone."
)


def instructions(skills: Skills, dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> str:
    """Return the part of a system prompt that lists the skills and says how to call them.

    `auto` is instructed as `tagged`. Nothing in it is an example value that could be copied.
    """
    check_dialect(dialect, tag)
    listed = "\n".join(_listed(name, schema) for name, schema in skills.items())
    how = {"react": _REACT, "json": _JSON}.get(dialect) or _TAGGED.format(tag=tag)
    return f"These skills can be called:\n{listed}\n\n{how}"


def render_call(name: str, arguments: Mapping[str, Any], dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> str:
    """Return a call as the model would write it."""
    check_dialect(dialect, tag)
    given = json.dumps(dict(arguments), ensure_ascii=False)
    if dialect == "react":
        return f"Thought: I need the skill {name}.\nAction: {name}\nAction Input: {given}"
    call = f'{{"name": {json.dumps(name)}, "arguments": {given}}}'
    return call if dialect == "json" else f"<{tag}>{_inside_tag(call, tag)}</{tag}>"


def render_result(name: str, text: str, dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> str:
    """Return the result of a call as the next user message shows it."""
    check_dialect(dialect, tag)
    if dialect == "react":
        return f"Observation: {text}"
    if dialect == "json":
        return f"Result of {name}: {text}"
    mark = result_tag(tag)
    return f"<{mark}>{_inside_tag(json.dumps({'name': name, 'content': text}, ensure_ascii=False), mark)}</{mark}>"


def stop(dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> tuple[str, ...]:
    """Return the texts at which the model is to stop: where it would make up a result."""
    check_dialect(dialect, tag)
    if dialect == "react":
        return ("Observation:",)
    return () if dialect == "json" else (f"<{result_tag(tag)}>",)


def examples(
    samples: Sequence[Sample], dialect: str = "tagged", *, tag: str = DEFAULT_TAG
) -> tuple[tuple[str, str], ...]:
    """Return few-shot examples as (user message, assistant message) pairs.

    The assistant message holds only the call: examples that show a whole trajectory make small models
    skip the call and invent the answer.
    """
    return tuple((question, render_call(name, given, dialect, tag=tag)) for question, name, given in samples)


def _listed(name: str, schema: Mapping[str, Any]) -> str:
    parameters = {key: schema[key] for key in ("properties", "required") if schema.get(key)}
    description = " ".join(str(schema.get("description", "")).split())
    shown = json.dumps(parameters, ensure_ascii=False)
    return f"- {name}: {description} Arguments: {shown}" if description else f"- {name}: Arguments: {shown}"


def _inside_tag(text: str, tag: str) -> str:
    """Escape an end mark inside JSON text; both writings mean the same to a JSON reader."""
    return text.replace(f"</{tag}>", f"<\\/{tag}>")
