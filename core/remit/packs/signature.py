"""A schema in short, for a model that has to mend its call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MAX_LENGTH = 1500
"""Longest short form, in characters."""

_SHOWN_DEPTH = 3


def signature(schema: Mapping[str, Any]) -> str:
    """Return the parameters in short: `{city: string, days?: integer = 3}` (`?` marks what may be left out)."""
    text = _object(schema, 0)
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 4]} ..."


def _object(schema: Mapping[str, Any], depth: int) -> str:
    required = schema.get("required", ())
    parts = [
        f"{name}{'' if name in required else '?'}: {_type(part, depth + 1)}{_default(part)}"
        for name, part in schema.get("properties", {}).items()
    ]
    if schema.get("additionalProperties") is not False:
        others = schema.get("additionalProperties")
        parts.append(f"any name: {_type(others, depth + 1) if isinstance(others, dict) else 'any'}")
    return "{" + ", ".join(parts) + "}"


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    return "" if default is None else f" = {json.dumps(default, ensure_ascii=False)[:60]}"


def _type(schema: Mapping[str, Any], depth: int) -> str:
    if depth > _SHOWN_DEPTH:
        return "..."
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " | ".join(json.dumps(value, ensure_ascii=False)[:60] for value in values[:30])
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return " | ".join(dict.fromkeys(_type(branch, depth) for branch in branches))
    named = schema.get("type", "any")
    names = [named] if isinstance(named, str) else named
    return " | ".join(_named(name, schema, depth) for name in names)


def _named(name: str, schema: Mapping[str, Any], depth: int) -> str:
    if name == "object" and ("properties" in schema or "additionalProperties" in schema):
        return _object(schema, depth)
    if name == "array":
        items = schema.get("items")
        return f"array of {_type(items, depth + 1)}" if isinstance(items, dict) and items else "array"
    return f"{name} ({schema['format']})" if name == "string" and "format" in schema else name
