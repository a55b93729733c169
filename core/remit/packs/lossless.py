"""The one lossless rule: how a value may be bent so that it fits, and nothing beyond it.

Bent are text that spells exactly a JSON number or `true`/`false` where text is not allowed; one level of
JSON text where an object or array is due; `5.0` for `5`; and null or `""` for an optional parameter that
takes neither: it counts as not given. A text parameter is never re-read, and a value is never bent
towards an `enum` or `const`. Parameter names are folded to Unicode NFC. Every bend leaves a note.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from remit.packs.strict_json import MAX_INTEGER, BadJson, parse_strict
from remit.packs.types import allowed_types, type_name

Fits = Callable[[Mapping[str, Any], Any], bool]
"""Says whether a value is valid against a part of the schema."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SHOWN_NAME = 80
_BOOLEANS = {"true": True, "false": False}


@dataclass(kw_only=True)
class Bend:
    """A value after bending, with what was done to it.

    Attributes:
        value: the value, a new one where anything changed.
        notes: one sentence per bend, naming the argument and never its value.
        twice: paths of parameters that were given twice once their names were folded.
    """

    value: Any
    notes: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)

    def taken(self, other: Bend) -> Any:
        """Take over the notes of a part and return its value."""
        self.notes += other.notes
        self.twice += other.twice
        return other.value


def bend(schema: Mapping[str, Any], value: Any, fits: Fits, path: str = "", *, decode: bool = True) -> Bend:
    """Bend `value` towards `schema`; what cannot be bent without loss stays as it is."""
    result = Bend(value=value)
    types = allowed_types(schema)
    if types is not None:
        decode = _scalar(schema, types, result, path, decode)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches and isinstance(result.value, dict | list):
        result.value = result.taken(_branch(branches, result.value, fits, path, decode))
    if isinstance(result.value, dict):
        result.value = _members(schema, result, fits, path, decode)
    elif isinstance(result.value, list):
        result.value = _items(schema, result, fits, path, decode)
    return result


def child(path: str, name: str) -> str:
    """Return the path of a member: `items[0].colour`; odd or long names are escaped and cut."""
    shown = name if name.isprintable() else json.dumps(name)[1:-1]
    shown = shown if len(shown) <= _SHOWN_NAME else f"{shown[:_SHOWN_NAME]}..."
    return f"{path}.{shown}" if path else shown


def _scalar(schema: Mapping[str, Any], types: frozenset[str], result: Bend, path: str, decode: bool) -> bool:
    """Bend the value itself; return whether JSON text further inside may still be decoded."""
    open_types = allowed_types(schema, literals=False) or frozenset()
    where = path or "arguments"
    if isinstance(result.value, str) and "string" not in types:
        read = _spelled(result.value, open_types)
        if read is not None:
            result.value = read
            result.notes.append(f"{where}: text read as the {type_name(read)} it spells")
        elif decode and (inner := _json_text(result.value, open_types)) is not None:
            result.value = inner
            result.notes.append(f"{where}: JSON text read as the {type_name(inner)} it spells")
            decode = False
    if isinstance(result.value, float) and _is_due_integer(schema, types, open_types, result.value):
        result.value = int(result.value)
        result.notes.append(f"{where}: whole number with a fraction read as an integer")
    return decode


def _spelled(text: str, types: frozenset[str]) -> bool | int | float | None:
    if "boolean" in types and text in _BOOLEANS:
        return _BOOLEANS[text]
    if not types & {"number", "integer"} or not _NUMBER.fullmatch(text):
        return None
    try:
        number: int | float = parse_strict(text)
    except BadJson:
        return None
    whole = isinstance(number, int) or number.is_integer()
    return number if "number" in types or whole else None


def _json_text(text: str, types: frozenset[str]) -> Any:
    if not types & {"object", "array"}:
        return None
    try:
        inner = parse_strict(text)
    except BadJson:
        return None
    return inner if isinstance(inner, dict | list) and type_name(inner) in types else None


def _is_due_integer(schema: Mapping[str, Any], types: frozenset[str], open_types: frozenset[str], value: float) -> bool:
    if not value.is_integer() or abs(value) > MAX_INTEGER:
        return False
    if "integer" in open_types and "number" not in types:
        return True
    literals = schema.get("enum", [schema.get("const")])
    return not open_types and any(type(one) is int and one == value for one in literals)


def _branch(branches: list[Mapping[str, Any]], value: Any, fits: Fits, path: str, decode: bool) -> Bend:
    """Bend towards the alternative that then fits with the fewest bends, or the only one of its type."""
    kind = type_name(value)
    typed = [(branch, allowed_types(branch)) for branch in branches]
    meant = [branch for branch, types in typed if types is None or kind in types]
    bent = [(branch, bend(branch, value, fits, path, decode=decode)) for branch in meant]
    fitting = [one for branch, one in bent if fits(branch, one.value)]
    if not fitting:
        return bent[0][1] if len(bent) == 1 else Bend(value=value)
    return min(fitting, key=lambda one: len(one.notes))


def _members(schema: Mapping[str, Any], result: Bend, fits: Fits, path: str, decode: bool) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    required = schema.get("required", ())
    members: dict[str, Any] = {}
    for name, value in _folded(properties, result, path).items():
        part = properties.get(name, others)
        if not isinstance(part, dict):
            members[name] = value
            continue
        here = child(path, name)
        bent = bend(part, value, fits, here, decode=decode)
        if name in properties and name not in required and _is_not_given(part, bent.value, fits):
            result.notes.append(f"{here}: {'null' if value is None else 'empty text'} taken as not given")
            continue
        members[name] = result.taken(bent)
    return members


def _folded(properties: Mapping[str, Any], result: Bend, path: str) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in result.value.items():
        known = name
        if name not in properties and (folded := unicodedata.normalize("NFC", name)) in properties:
            known = folded
            result.notes.append(f"{child(path, folded)}: name folded to Unicode NFC")
        if known in members:
            result.twice.append(child(path, known))
        members[known] = value
    return members


def _is_not_given(schema: Mapping[str, Any], value: Any, fits: Fits) -> bool:
    return (value is None or value == "") and not fits(schema, value)


def _items(schema: Mapping[str, Any], result: Bend, fits: Fits, path: str, decode: bool) -> list[Any]:
    first = schema.get("prefixItems", ())
    rest = schema.get("items")
    items = []
    for index, value in enumerate(result.value):
        part = first[index] if index < len(first) else rest
        if isinstance(part, dict):
            value = result.taken(bend(part, value, fits, f"{path}[{index}]", decode=decode))
        items.append(value)
    return items
