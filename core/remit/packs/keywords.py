"""The closed set of JSON Schema keywords that Remit takes from a pack, and what each may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from remit.errors import SchemaError

Kind = Literal["schema", "schemas", "named", "text", "count", "number", "names", "types", "values", "any", "pattern"]

KEPT: Mapping[str, Kind] = {
    "type": "types",
    "properties": "named",
    "patternProperties": "named",
    "additionalProperties": "schema",
    "propertyNames": "schema",
    "required": "names",
    "minProperties": "count",
    "maxProperties": "count",
    "items": "schema",
    "prefixItems": "schemas",
    "minItems": "count",
    "maxItems": "count",
    "enum": "values",
    "const": "any",
    "anyOf": "schemas",
    "oneOf": "schemas",
    "allOf": "schemas",
    "format": "text",
    "pattern": "pattern",
    "minLength": "count",
    "maxLength": "count",
    "minimum": "number",
    "maximum": "number",
    "exclusiveMinimum": "number",
    "exclusiveMaximum": "number",
    "multipleOf": "number",
    "description": "text",
    "default": "any",
}
"""Keywords that are kept and enforced (`description` and `default` are only shown)."""

DROPPED = frozenset(
    {
        "$schema",
        "$defs",
        "definitions",
        "$comment",
        "title",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "discriminator",
        "uniqueItems",
        "contentSchema",
        "contentMediaType",
        "contentEncoding",
    }
)
"""Keywords left out on purpose.

`$defs` and `definitions` are written out where they are referred to; `discriminator` only repeats its
`oneOf`; `uniqueItems` comes from sets, which pydantic fills from any list; the `content*` keywords
describe what a text holds, which the cell checks; the rest is for readers.
"""

OBJECT_KEYWORDS = frozenset({"properties", "patternProperties", "additionalProperties", "propertyNames"})

TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})

MAX_PATTERN = 1000
"""Longest regular expression, in characters."""


def check_keyword(keyword: str, kind: Kind, value: Any, at: str) -> None:
    """Raise `SchemaError` unless `value` is what `keyword` may hold."""
    if kind == "pattern":
        check_pattern(value, at)
    elif not _FITS[kind](value) or (keyword == "multipleOf" and value <= 0):
        raise SchemaError(f"{at} gives {keyword!r} a value that it cannot have.")


def check_pattern(pattern: Any, at: str) -> None:
    """Raise `SchemaError` for a pattern too long to be compiled safely; compiling is the validator's part."""
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN:
        raise SchemaError(f"{at} has a pattern that is no text of at most {MAX_PATTERN} characters.")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


def _are_types(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and _are_names(names) and TYPES.issuperset(names)


_FITS: Mapping[Kind, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "count": _is_count,
    "number": _is_number,
    "names": _are_names,
    "types": _are_types,
    "values": lambda value: isinstance(value, list) and len(value) > 0,
    "any": lambda value: True,
}
