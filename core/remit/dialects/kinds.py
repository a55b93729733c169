"""Which JSON types a schema allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEEPEST = 8
_NAMES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}
_TEXT = {"type": "string"}


def property_schema(schema: Mapping[str, Any], key: str) -> Any:
    """Return the schema of an argument; of one that the schema does not know, that of a text."""
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return properties[key]
    more = schema.get("additionalProperties")
    return more if isinstance(more, Mapping) else _TEXT


def kinds_of(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """Return the types that `schema` names; none when it allows anything.

    Args:
        root: the schema that references point into.
    """
    schema = resolved(schema, root)
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return frozenset()
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset({declared})
    if isinstance(declared, list):
        return frozenset(kind for kind in declared if isinstance(kind, str))
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            branches = [kinds_of(branch, root, depth + 1) for branch in schema[key]]
            return frozenset().union(*branches) if all(branches) or key == "allOf" else frozenset()
    values = [*schema["enum"]] if isinstance(schema.get("enum"), list) else []
    values += [schema["const"]] if "const" in schema else []
    return frozenset(_NAMES[type(value)] for value in values if type(value) in _NAMES)


def resolved(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Follow a reference inside the schema, a few steps."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str) or not reference.startswith("#/") or depth > _DEEPEST:
        return schema
    target: Any = root
    for step in reference[2:].split("/"):
        target = target.get(step) if isinstance(target, Mapping) else None
    return resolved(target, root, depth + 1)
