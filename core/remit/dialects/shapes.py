"""From JSON values to calls: which shapes count, and what the model is told about those that do not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from remit.dialects.parsed import ParsedCall, Skills
from remit.dialects.scan import ScanError, ScannedObject, scan, skip_space

NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "action_input", "tool_input", "input")
_TELLING_KEYS = ARGUMENT_KEYS[:4]
_LABELS = frozenset({"id", "type", "index", "tool_call_id", "call_id"})
_PREFIXES = ("functions.", "function.", "tools.")
_PLACEHOLDER = re.compile(
    r"<?(?:your_|the_|some_)?(?:tool|skill|function|action)(?:_?name)?(?:_here)?>?", re.IGNORECASE
)
_LOOKS_LIKE_CALL = re.compile(
    r"""[\[{\s]{0,20}["']?(?:"""
    r"""(?:name|tool|tool_name|function|action|tool_calls|function_call|arguments|parameters)["']?\s{0,9}:"""
    r"""|type["']?\s{0,9}:\s{0,9}["']function)"""
)
_MAX_SHOWN = 120

HOW = 'Write a call as JSON: {"name": "SKILL", "arguments": {...}}.'
"""How to write a call right, in one line; where a dialect has another way, `parse` puts that in its place."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one JSON value amounts to: a call, or an error for the model."""

    call: ParsedCall | None = None
    error: str = ""


def calls_in(value: Any, skills: Skills, *, wrapped: bool, repairs: list[str]) -> list[Found] | None:
    """Return the calls and errors in a value, or None when it has no call's shape.

    Args:
        wrapped: the value stands where only a call may stand, so that anything else is an error.
        repairs: the repairs that were needed to read the value; more are added.
    """
    if isinstance(value, list) and value:
        return _in_list(value, skills, wrapped=wrapped, repairs=repairs)
    if isinstance(value, dict):
        for key in ("tool_calls", "tool_call", "function_call"):
            if isinstance(value.get(key), list | dict):
                inner = value[key]
                return calls_in(inner, skills, wrapped=True, repairs=repairs) if inner else None
        if isinstance(value.get("function"), dict):
            return calls_in(value["function"], skills, wrapped=wrapped, repairs=repairs)
        if wrapped or has_shape(value, skills):
            return [_read(value, skills, repairs)]
    if wrapped:
        return [Found(error=f"A call was expected, but {shown(value)} was written. {HOW}")]
    return None


def _in_list(value: list[Any], skills: Skills, *, wrapped: bool, repairs: list[str]) -> list[Found] | None:
    each = [calls_in(item, skills, wrapped=wrapped, repairs=repairs) for item in value if isinstance(item, dict)]
    if len(each) < len(value) or any(found is None for found in each):
        return [Found(error=f"A list of calls was expected. {HOW}")] if wrapped else None
    return [found for group in each for found in group or ()]


def has_shape(value: dict[str, Any], skills: Skills) -> bool:
    """Say whether an object is shaped like a call: a known name, or any name beside arguments."""
    name = next((value[key] for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if name is None:
        return False
    if any(isinstance(value.get(key), dict | str) for key in _TELLING_KEYS if key in value):
        return True
    known = resolve(name, skills) is not None
    return known and (any(key in value for key in ARGUMENT_KEYS) or not _others(value))


def looks_like_call(text: str, start: int) -> bool:
    """Say whether damaged JSON at `start` begins like a call."""
    return _LOOKS_LIKE_CALL.match(text, start, start + 400) is not None


def resolve(name: str, skills: Skills) -> str | None:
    """Return the skill that a written name means, or None; only marks of templates are taken off."""
    name = name.split("<|", 1)[0].strip()
    candidates = [name, *(name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix))]
    for candidate in candidates:
        for form in (candidate, candidate.replace(".", "__")):
            if form in skills:
                return form
    return None


_OTHER = "Use one of the skills you were given."


def unknown(name: str, skills: Skills) -> str:
    """Return the message for a name that is no skill's."""
    if _PLACEHOLDER.fullmatch(name.strip()):
        return f"{shown(name)} is a placeholder, not the name of a skill. {HOW}"
    near = get_close_matches(name[:64], list(skills), n=1)
    hint = f"Did you mean {near[0]}? Write the call again with that name." if near else _OTHER
    return f"There is no skill named {shown(name)}. {hint}"


def shown(value: Any) -> str:
    """Quote a value for a message, cut to a line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def damaged(text: str, start: int, error: ScanError) -> str:
    """Return the message for a call that could not be read."""
    what = "is cut off" if error.cut else f"cannot be read ({error})"
    return f"The call {shown(text[start : start + _MAX_SHOWN])} {what}, so it was not run. {HOW}"


def _others(value: dict[str, Any]) -> list[str]:
    return [key for key in value if key not in _LABELS and key not in NAME_KEYS and key not in ARGUMENT_KEYS]


def _read(value: dict[str, Any], skills: Skills, repairs: list[str]) -> Found:
    written = next((value[key] for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if written is None:
        return Found(error=f"The call {shown(value)} has no name. {HOW}")
    name = resolve(written, skills)
    if name is None:
        return Found(error=unknown(written, skills))
    key = next((key for key in ARGUMENT_KEYS if key in value), None)
    if key is None and _others(value):
        return Found(error=f'The arguments of {name} must stand inside "arguments". {HOW}')
    return make_call(name, value[key] if key else {}, skills, repairs)


def make_call(name: str, arguments: Any, skills: Skills, repairs: list[str]) -> Found:
    """Make the call of a known skill; arguments given as a JSON string are decoded once."""
    if isinstance(arguments, str) and arguments.strip():
        return _decoded(name, arguments, skills, repairs)
    if arguments in (None, "", []) or (isinstance(arguments, str) and not arguments.strip()):
        arguments = {}
    if not isinstance(arguments, dict):
        return Found(error=f"The arguments of {name} must be a JSON object, not {shown(arguments)}. {HOW}")
    text = arguments.text if isinstance(arguments, ScannedObject) else None
    if text is None:
        text = json.dumps(arguments, ensure_ascii=False)
    return Found(call=ParsedCall(name=name, arguments=text, repaired=bool(repairs)))


def named_call(written: str, text: str, at: int, skills: Skills, *, closer: str = "") -> tuple[Found, list[str], int]:
    """Read the arguments at `at` of a call whose name stands outside of them; return what it is, repairs, end.

    Raises:
        ScanError: the arguments cannot be read.
    """
    name = resolve(written, skills)
    read = scan(text, at, closer=closer)
    if name is None:
        return Found(error=unknown(written, skills)), [], read.end
    return make_call(name, read.value, skills, read.repairs), read.repairs, read.end


def _decoded(name: str, text: str, skills: Skills, repairs: list[str]) -> Found:
    try:
        found = scan(text, 0)
    except ScanError as error:
        return Found(error=damaged(text, 0, error))
    if skip_space(text, found.end) < len(text) or not isinstance(found.value, dict):
        return Found(error=f"The arguments of {name} must be a JSON object, not the text {shown(text)}. {HOW}")
    repairs += found.repairs
    return make_call(name, found.value, skills, repairs)


def sequence(text: str, start: int, *, closer: str = "") -> Iterator[tuple[Any, int, list[str]]]:
    """Read JSON values that follow each other, with white space, commas or semicolons between them.

    Yields (value, end, repairs) and stops before what is no object or list.

    Raises:
        ScanError: a value that begins but cannot be read.
    """
    at = skip_space(text, start)
    while text.startswith(("{", "["), at):
        found = scan(text, at, closer=closer)
        yield found.value, found.end, found.repairs
        at = skip_space(text, found.end)
        if text.startswith((",", ";"), at):
            at = skip_space(text, at + 1)
