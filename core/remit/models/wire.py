"""The wire form of a skill: the schema and the name as a model's endpoint gets them.

Endpoints differ in what they take, so only `WIRE_KEYWORDS` are sent; every other keyword becomes part of
the description and stays enforced by Remit itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

WIRE_KEYWORDS = frozenset(
    {"type", "properties", "required", "items", "enum", "description", "additionalProperties", "anyOf"}
)
"""What a wire schema may hold. A nullable form is an `anyOf` with `{"type": "null"}`."""

MAX_NAME = 64
"""Longest name of a skill on the wire, in ASCII characters."""

_TOLD = {
    "format": "format {}",
    "pattern": "must match {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} members",
    "maxProperties": "at most {} members",
    "default": "default {}",
}
_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HASH_LENGTH = 8


def wire_schema(schema: Mapping[str, Any], *, strict: bool = False) -> tuple[dict[str, Any], bool]:
    """Return the parameters to send for an accepted schema, and whether they really are strict.

    With `strict` every property is required, optional ones become nullable (null then means *not given*),
    and every object is closed. A schema that cannot be made so (open-keyed objects, values of any type)
    is sent in its ordinary form with False: the flag is dropped, never guessed.
    """
    really = strict and _can_be_strict(schema)
    parameters = _node(schema, really)
    parameters.setdefault("properties", {})
    parameters.setdefault("required", [])
    parameters["additionalProperties"] = False
    return parameters, really


def wire_names(skills: Iterable[str]) -> dict[str, str]:
    """Map a wire name to the full name of each skill: `weather__get_weather` to `weather.get_weather`.

    A name that would not be legal on the wire (too long, not ASCII, taken) ends in a hash of the full name.
    """
    names: dict[str, str] = {}
    for full in skills:
        wire = full.replace(".", "__")
        if not _LEGAL.fullmatch(wire) or names.get(wire, full) != full:
            wire = _hashed(full)
        names[wire] = full
    return names


def _hashed(full: str) -> str:
    digest = hashlib.sha256(full.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", full.replace(".", "__"))
    return f"{readable[: MAX_NAME - _HASH_LENGTH - 1]}_{digest}"


def _node(schema: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    node: dict[str, Any] = {}
    told = [schema["description"]] if schema.get("description") else []
    told += [text for text in [_constraints(schema)] if text]
    if told:
        node["description"] = " ".join(told)
    node.update(_shape(schema, strict))
    return node


def _shape(schema: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    if "enum" in schema or "const" in schema:
        return _enumeration(list(schema.get("enum", [schema.get("const")])))
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return {"anyOf": [_node(branch, strict) for branch in branches]}
    named = schema.get("type")
    if isinstance(named, list):
        return {"anyOf": [_typed(name, schema, strict) for name in named]}
    return _typed(named, schema, strict) if named else {}


def _enumeration(values: list[Any]) -> dict[str, Any]:
    types = {type(value) for value in values}
    known = {str: "string", int: "integer", bool: "boolean", float: "number", type(None): "null"}
    only = known.get(types.pop()) if len(types) == 1 else None
    return {"type": only, "enum": values} if only else {"enum": values}


def _typed(name: str, schema: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    if name == "object":
        return _object(schema, strict)
    if name == "array":
        return {"type": "array", "items": _items(schema, strict)}
    return {"type": name}


def _object(schema: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    properties = schema.get("properties", {})
    required = list(schema.get("required", ()))
    others = schema.get("additionalProperties", True)
    parts = {name: _property(part, strict and name not in required, strict) for name, part in properties.items()}
    node: dict[str, Any] = {"type": "object", "properties": parts}
    node["required"] = list(properties) if strict else required
    node["additionalProperties"] = _node(others, strict) if isinstance(others, Mapping) else others
    if "patternProperties" in schema:
        node["additionalProperties"] = True
    return node


def _property(schema: Mapping[str, Any], make_nullable: bool, strict: bool) -> dict[str, Any]:
    node = _node(schema, strict)
    if not make_nullable or _takes_null(node):
        return node
    description = {"description": node.pop("description")} if "description" in node else {}
    branches = node.get("anyOf", [node])
    return {**description, "anyOf": [*branches, {"type": "null"}]}


def _takes_null(node: Mapping[str, Any]) -> bool:
    if "enum" in node:
        return None in node["enum"]
    return node.get("type") == "null" or any(_takes_null(branch) for branch in node.get("anyOf", ()))


def _items(schema: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    """Return the form of the items; a tuple's parts become alternatives, the description tells their order."""
    parts = [_node(part, strict) for part in schema.get("prefixItems", ())]
    rest = schema.get("items")
    if isinstance(rest, Mapping):
        parts.append(_node(rest, strict))
    alternatives = [part for index, part in enumerate(parts) if part not in parts[:index]]
    if len(alternatives) < 2:
        return alternatives[0] if alternatives else {}
    return {"anyOf": alternatives}


def _constraints(schema: Mapping[str, Any]) -> str:
    """Say in words what the wire form leaves out."""
    told = [
        text.format(value if isinstance(value, str) and keyword != "default" else json.dumps(value, ensure_ascii=False))
        for keyword, text in _TOLD.items()
        if (value := schema.get(keyword)) is not None
    ]
    told += [f"also {text[1:-1]}" for part in schema.get("allOf", ()) if (text := _constraints(part))]
    if "prefixItems" in schema:
        kinds = ", ".join(str(part.get("type", "any")) for part in schema["prefixItems"])
        told.append(f"items in this order: {kinds}")
    if "patternProperties" in schema:
        told.append(f"names must match {' or '.join(schema['patternProperties'])}")
    if names := schema.get("propertyNames"):
        told.append(f"names must fit {json.dumps(names, ensure_ascii=False)}")
    return f"({'; '.join(told)})" if told else ""


def _can_be_strict(schema: Any) -> bool:
    """Say whether every object can be closed and every value has a type that the wire form names."""
    if not isinstance(schema, Mapping):
        return False
    if "enum" in schema or "const" in schema:
        return True
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return all(map(_can_be_strict, branches))
    named = schema.get("type")
    names = [named] if isinstance(named, str) else list(named or ())
    return bool(names) and all(_is_strict_type(name, schema) for name in names)


def _is_strict_type(name: str, schema: Mapping[str, Any]) -> bool:
    if name == "object":
        closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
        return closed and all(map(_can_be_strict, schema.get("properties", {}).values()))
    if name == "array":
        parts = [*schema.get("prefixItems", ()), *([schema["items"]] if schema.get("items") else [])]
        return bool(parts) and all(map(_can_be_strict, parts))
    return True
