"""Which JSON types a value has and a schema allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def type_name(value: Any) -> str:
    """Return the JSON Schema name of the type of a parsed JSON value (`5.0` is a number, `5` an integer)."""
    return _NAMES[type(value)]


_NAMES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    dict: "object",
    list: "array",
    type(None): "null",
}


def fits_type(value: Any, allowed: str | list[str]) -> bool:
    """Say whether `value` is of a type that the keyword `type` names."""
    names = {allowed} if isinstance(allowed, str) else set(allowed)
    name = type_name(value)
    if name == "integer":
        return bool(names & {"integer", "number"})
    if name == "number":
        return "number" in names or ("integer" in names and value.is_integer())
    return name in names


def allowed_types(schema: Mapping[str, Any], *, literals: bool = True) -> frozenset[str] | None:
    """Return the names of the types that `schema` allows, or None where any value may stand.

    With `literals=False` the types that only an `enum` or `const` allows are left out: a value is never
    bent towards those.
    """
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return frozenset(map(type_name, values)) if literals else frozenset()
    own = _own_types(schema)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            own = _both(own, _either([allowed_types(part, literals=literals) for part in schema[keyword]]))
    return own


def _own_types(schema: Mapping[str, Any]) -> frozenset[str] | None:
    named = schema.get("type")
    if named is None:
        return None
    return frozenset({named}) if isinstance(named, str) else frozenset(named)


def _either(parts: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if len(known) == len(parts) else None


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
