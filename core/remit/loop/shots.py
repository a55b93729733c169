"""Few-shot examples: which calls a model in a text dialect is shown.

Small models copy what they see, so that only what an author wrote down as an example is shown; one is
made up only where nobody wrote any, because without any they do not call at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from remit.dialects import Sample
from remit.skills import READ_RESULT, Skill

MOST_SHOTS = 8
"""Few-shot examples in a request."""


def shots(skills: Mapping[str, Skill], most: int = MOST_SHOTS) -> list[Sample]:
    """Return at most `most` examples, the first of each skill in the order of the skills.

    Where there are more, every pack has its first before any has its second: small models answer with
    what they see most.

    Args:
        skills: wire name to skill.
        most: how many at most.
    """
    own = {name: skill for name, skill in skills.items() if skill.full != READ_RESULT}
    written = {name: samples[0] for name, skill in own.items() if (samples := list(_written(name, skill)))}
    if not written:
        return [_made(name, skill) for name, skill in list(own.items())[: min(most, 1)]]
    chosen = _in_turn({name: own[name].pack for name in written})[:most]
    return [sample for name, sample in written.items() if name in chosen]


def _in_turn(packs: Mapping[str, str]) -> list[str]:
    """Return the names of the skills so that each pack has its first before any has its second."""
    seen: dict[str, int] = {}
    order: list[tuple[int, str]] = []
    for name, pack in packs.items():
        seen[pack] = seen.get(pack, 0) + 1
        order.append((seen[pack], name))
    return [name for _, name in sorted(order, key=lambda item: item[0])]


def _written(name: str, skill: Skill) -> Iterable[Sample]:
    """Yield the examples that a skill's author wrote."""
    for example in skill.examples:
        question, arguments = example.get("question"), example.get("arguments")
        if isinstance(question, str) and isinstance(arguments, Mapping):
            yield question, name, arguments


def _made(name: str, skill: Skill) -> Sample:
    arguments = _made_up(skill.schema)
    given = ", ".join(f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
    return f"Use {name}{' with ' if given else ''}{given}.", name, arguments


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
