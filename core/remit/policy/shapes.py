"""Arguments of rules against the schemas of skills: what exists, of what type, with what default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.policy.config import OperatorConfig

Schema = Mapping[str, Any]

_ACCEPTS: Mapping[str, frozenset[str]] = {
    "lt": frozenset({"number", "integer", "string"}),
    "gt": frozenset({"number", "integer", "string"}),
    "domain": frozenset({"string"}),
    "host": frozenset({"string"}),
    "path_under": frozenset({"string"}),
    "each": frozenset({"array"}),
    "any": frozenset({"array"}),
    "len": frozenset({"array", "object", "string"}),
}
_ALL = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_DEEPEST = 32


class Missing:
    """Stands for an argument that was not given; `known` is False when the skill has no such one."""

    def __init__(self, known: bool) -> None:
        self.known = known


def find_schema(schema: Schema, path: str) -> Schema | None:
    """Return the schema of an argument (dots lead into objects), or None when there is none."""
    return _find(schema, schema, path, 0)


def argument_names(schema: Schema) -> tuple[str, ...]:
    """Return the names of a skill's arguments."""
    return tuple(name for part in _variants(schema, schema, 0) for name in part.get("properties", ()))


def argument_value(schema: Schema, arguments: Mapping[str, Any], path: str) -> Any:
    """Return what the handler will get for an argument: as given, else the schema's default.

    An argument that was left out and whose default the schema does not tell gives a `Missing`, and so
    does a part of one that is no object this time (where a list or a text may stand, too): in doubt.
    """
    if path in arguments:
        return arguments[path]
    name, dot, rest = path.partition(".")
    part = find_schema(schema, path if not dot else name)
    if part is None:
        return Missing(known=False)
    if not dot:
        return part["default"] if "default" in part else Missing(known=True)
    value = arguments[name] if name in arguments else part.get("default", Missing(known=True))
    if isinstance(value, dict):
        return argument_value({**part, "$defs": schema.get("$defs", {})}, value, rest)
    return value if value is None else Missing(known=True)


def misfit(schema: Schema, part: Schema, config: OperatorConfig) -> str:
    """Return why `config` can never hold for values of `part`, or an empty text when it can."""
    for name, operand in config.given:
        why = _misfit_one(schema, part, name, operand)
        if why:
            return why
    return ""


def _misfit_one(schema: Schema, part: Schema, name: str, operand: Any) -> str:
    if name == "eq":
        return _impossible(schema, part, operand)
    if name == "in":
        return next(filter(None, (_impossible(schema, part, item) for item in operand)), "")
    fitting = [one for one in _variants(schema, part, 0) if _types(one) & _ACCEPTS[name]]
    if not fitting:
        wanted = " or ".join(sorted(_ACCEPTS[name]))
        return f"{name} needs {wanted}, the argument is {_words(schema, part)}"
    if name in ("lt", "gt"):
        return _misfit_order(schema, fitting, part, name, operand)
    if name == "len":
        return misfit(schema, {"type": "integer"}, operand)
    if name in ("each", "any"):
        reasons = [misfit(schema, one.get("items") or {}, operand) for one in fitting if "array" in _types(one)]
        return "" if "" in reasons else reasons[0]
    return ""


def _misfit_order(schema: Schema, fitting: list[Schema], part: Schema, name: str, operand: Any) -> str:
    kinds = {"string"} if isinstance(operand, str) else {"number", "integer"}
    if any(_types(one) & kinds for one in fitting):
        return ""
    return f"{name} {operand!r} does not compare with {_words(schema, part)}"


def _impossible(schema: Schema, part: Schema, value: Any) -> str:
    import jsonschema_rs

    whole = {**part, "$defs": schema.get("$defs", {})}
    try:
        fits = jsonschema_rs.is_valid(whole, value)
    except (ValueError, TypeError):
        return ""
    return "" if fits else f"{json.dumps(value, ensure_ascii=False, default=str)} is no value it can have"


def _find(root: Schema, part: Schema, path: str, depth: int) -> Schema | None:
    if depth > _DEEPEST:
        return None
    for one in _variants(root, part, depth):
        properties = one.get("properties", {})
        if path in properties:
            return _resolved(root, properties[path])
        name, dot, rest = path.partition(".")
        if dot and name in properties:
            found = _find(root, properties[name], rest, depth + 1)
            if found is not None:
                return found
        extra = one.get("additionalProperties")
        if depth and not dot and isinstance(extra, Mapping):
            return extra
    return None


def _resolved(root: Schema, part: Any) -> Schema:
    if not isinstance(part, Mapping):
        return {}
    if "$ref" in part:
        return {**_target(root, str(part["$ref"])), **{k: v for k, v in part.items() if k != "$ref"}}
    return part


def _target(root: Schema, reference: str) -> Schema:
    name = reference.removeprefix("#/$defs/")
    found = root.get("$defs", {}).get(name, {})
    return found if isinstance(found, Mapping) else {}


def _variants(root: Schema, part: Schema, depth: int) -> Iterator[Schema]:
    part = _resolved(root, part)
    choices = [one for key in ("anyOf", "oneOf", "allOf") for one in part.get(key, ())]
    if not choices or "type" in part or "properties" in part:
        yield part
    if depth <= _DEEPEST:
        for one in choices:
            yield from _variants(root, one, depth + 1)


def _types(part: Schema) -> frozenset[str]:
    kind = part.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    if isinstance(kind, (list, tuple)):
        return frozenset(kind)
    values = [part["const"]] if "const" in part else part.get("enum")
    if values is not None:
        return frozenset(_type_of(value) for value in values)
    return _ALL


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _words(root: Schema, part: Schema) -> str:
    found = {kind for one in _variants(root, part, 0) for kind in _types(one)} - {"null"}
    return " or ".join(sorted(found)) or "null"
