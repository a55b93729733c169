"""The other direction: how a model without function calling is told to call skills, and shown results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from remit.dialects.parsed import Skills
from remit.dialects.table import dialect_named
from remit.dialects.whole import DEFAULT_TAG, check_dialect

Sample = tuple[str, str, Mapping[str, Any]]
"""A few-shot example: the question, the skill's name on the wire, its arguments."""

_HOW = (
    "To call a skill, reply with nothing but one {what}, then stop:\n{how}\n"
    "The result comes back in the next message. When no skill is needed, reply with the answer alone{answer}."
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


def instructions(skills: Skills, dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> str:
    """Return the part of a system prompt that lists the skills and says how to call them.

    `auto` is instructed as `tagged`. Nothing in it is an example value that could be copied.
    """
    check_dialect(dialect, tag)
    listed = "\n".join(_listed(name, schema) for name, schema in skills.items())
    return f"These skills can be called:\n{listed}\n\n{_REACT if dialect == 'react' else _how(dialect, tag)}"


def _how(dialect: str, tag: str) -> str:
    writing = dialect_named(dialect).writing
    how = writing.how.replace("{tag}", dialect_named(dialect).tag or tag)
    what = (
        "JSON object" if how.startswith("{") else "call in these tags" if how.startswith("<") else "call in this form"
    )
    answer = f", in this form: {writing.how_to_answer}" if writing.how_to_answer else ""
    return _HOW.format(what=what, how=how, answer=answer)


def render_call(name: str, arguments: Mapping[str, Any], dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> str:
    """Return a call as the model would write it."""
    check_dialect(dialect, tag)
    return dialect_named(dialect).writing.call(name, dict(arguments), dialect_named(dialect).tag or tag)


def render_answer(text: str, dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> str:
    """Return an answer that needed no skill as the model would write it."""
    check_dialect(dialect, tag)
    return dialect_named(dialect).writing.answer(text)


def render_result(name: str, text: str, dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> str:
    """Return the result of a call as the next user message shows it."""
    check_dialect(dialect, tag)
    return dialect_named(dialect).writing.result(name, text, dialect_named(dialect).tag or tag)


def stop(dialect: str = "tagged", *, tag: str = DEFAULT_TAG) -> tuple[str, ...]:
    """Return the texts at which the model is to stop: where it would make up a result."""
    check_dialect(dialect, tag)
    return dialect_named(dialect).writing.stop(dialect_named(dialect).tag or tag)


def examples(
    samples: Sequence[Sample], dialect: str = "tagged", *, tag: str = DEFAULT_TAG
) -> tuple[tuple[str, str], ...]:
    """Return few-shot examples as (user message, assistant message) pairs.

    The assistant message holds only the call: examples that show a whole trajectory make small models
    skip the call and invent the answer.
    """
    return tuple((question, render_call(name, given, dialect, tag=tag)) for question, name, given in samples)


def _listed(name: str, schema: Mapping[str, Any]) -> str:
    """Return a skill's lines: not its JSON Schema, whose words small models copy into the arguments."""
    properties = schema.get("properties") or {}
    head = f"- {name}: {_one_line(schema)}".rstrip()
    if not properties:
        return f"{head} It takes no arguments."
    required = schema.get("required") or ()
    arguments = (_argument(key, value, required=key in required) for key, value in properties.items())
    return "\n".join([f"{head} Arguments:", *arguments])


def _argument(name: str, schema: Mapping[str, Any], *, required: bool) -> str:
    about = f"{name} ({_kind(schema)}{'' if required else ', optional'})"
    description = _one_line(schema)
    return f"    {about}: {description}" if description else f"    {about}"


def _kind(schema: Mapping[str, Any]) -> str:
    """Return what a value may be, in words where that says all, else as JSON Schema."""
    if schema.get("enum"):
        return "one of " + ", ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    branches = schema.get("anyOf")
    if branches:
        return " or ".join(_kind(branch) for branch in branches)
    kind, items = schema.get("type"), schema.get("items")
    if kind == "array" and isinstance(items, Mapping):
        return f"list of {_kind(items)}"
    if kind == "object" and schema.get("properties"):
        return json.dumps({key: value for key, value in schema.items() if key != "description"}, ensure_ascii=False)
    return str(kind) if isinstance(kind, str) else "any value"


def _one_line(schema: Mapping[str, Any]) -> str:
    return " ".join(str(schema.get("description", "")).split())
