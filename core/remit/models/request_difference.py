"""Where two requests part: the first difference, in words for a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

AROUND = 30
"""Characters that are shown on each side of a difference."""

Parts = Sequence[tuple[str, str]]


def first_difference(recorded: Parts, asked: Parts) -> str:
    """Return what differs first between a recorded request and one that is asked.

    Args:
        recorded: label and canonical JSON of each part.
        asked: the same.
    """
    try:
        return _difference(recorded, asked)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):  # a file is not trusted
        return "the recorded request cannot be read"


def _difference(recorded: Parts, asked: Parts) -> str:
    for (label, old), (_, new) in zip(_messages(recorded), _messages(asked), strict=False):
        if old != new:
            return _of_message(label, json.loads(old), json.loads(new))
    count, now = len(_messages(recorded)), len(_messages(asked))
    for label in ("skills", "options"):
        old, new = dict(recorded).get(label, "null"), dict(asked).get(label, "null")
        if old != new:
            return _of_skills(json.loads(old), json.loads(new)) if label == "skills" else _of_options(old, new)
    return f"the request has {now} messages, the recorded one {count}"


def _messages(parts: Parts) -> list[tuple[str, str]]:
    return [part for part in parts if part[0].startswith("message ")]


def _of_message(label: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if old.get("role") != new.get("role"):
        return f"{label} is of {_who(new)}, was of {_who(old)}"
    told, tells = old.get("content") or "", new.get("content") or ""
    if told != tells:
        return f"{label} ({_who(new)}): {_texts(_flat(told), _flat(tells))}"
    if old.get("images") != new.get("images"):
        return f"{label} ({_who(new)}): its images"
    calls, now = _calls(old), _calls(new)
    for number, (was, is_) in enumerate(zip(calls, now, strict=False), 1):
        if was != is_:
            return f"{label} ({_who(new)}), call {number}: {_texts(was, is_)}"
    return f"{label} ({_who(new)}): {len(now)} calls, were {len(calls)}"


def _who(message: Mapping[str, Any]) -> str:
    return {"tool": "a skill", "assistant": "the model", "user": "the user", "system": "the system prompt"}.get(
        str(message.get("role")), "somebody"
    )


def _calls(message: Mapping[str, Any]) -> list[str]:
    functions = [call.get("function", {}) for call in message.get("tool_calls") or ()]
    return [f"{function.get('name')}({function.get('arguments')})" for function in functions]


def _flat(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def _texts(old: str, new: str) -> str:
    """Return both texts around the first character that is not the same."""
    at = next(
        (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    return f"at character {at + 1}: {_around(new, at)}, was {_around(old, at)}"


def _around(text: str, at: int) -> str:
    start, end = max(0, at - AROUND), at + AROUND
    cut = f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
    return json.dumps(cut, ensure_ascii=False)


def _of_skills(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> str:
    was, is_ = {one["name"]: one for one in old}, {one["name"]: one for one in new}
    if gone := sorted(was.keys() - is_.keys()):
        return f"the skill {gone[0]} is not offered any more"
    if added := sorted(is_.keys() - was.keys()):
        return f"the skill {added[0]} is offered, and was not"
    for name, skill in is_.items():
        for key in ("description", "parameters", "strict"):
            if skill.get(key) != was[name].get(key):
                left, right = (
                    json.dumps(one.get(key), ensure_ascii=False, sort_keys=True) for one in (was[name], skill)
                )
                return f"{key} of the skill {name}: {_texts(left, right)}"
    return "the order of the skills"


def _of_options(old: str, new: str) -> str:
    was, is_ = json.loads(old), json.loads(new)
    changed = [name for name in is_ if is_[name] != was.get(name)] or ["an option"]
    return f"{changed[0]} is {json.dumps(is_.get(changed[0]))}, was {json.dumps(was.get(changed[0]))}"
