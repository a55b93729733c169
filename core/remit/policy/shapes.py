"""Arguments of rules against the schemas of skills: what exists, of what type, with what default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from remit.argument_paths import branches, schema_at, split, spread

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


class Missing:
    """Stands for an argument that was not given; `known` is False when the skill has no such one."""

    def __init__(self, known: bool) -> None:
        self.known = known


def find_schema(schema: Schema, path: str) -> Schema | None:
    """Return the schema of what a rule says something about, or None when there is none.

    Dots lead into objects. Where `[]` or `{}` lead to any number of values, it is a list of them.
    """
    found = schema_at(schema, path)
    if found is None or not spread(path) or path in schema.get("properties", {}):
        return found
    return {"type": "array", "items": found}


def argument_names(schema: Schema) -> tuple[str, ...]:
    """Return the names of a skill's arguments."""
    return tuple(name for part in branches(schema, schema) for name in part.get("properties", ()))


def argument_value(schema: Schema, arguments: Mapping[str, Any], path: str) -> Any:
    """Return what the handler will get for an argument: as given, else the schema's default.

    An argument that was left out and whose default the schema does not tell gives a `Missing`, and so
    does a part of one that is no object or list this time (where a text may stand, too): in doubt.
    A path with `[]` or `{}` gives the list of all that stands there, in which some may be `Missing`.
    """
    if path in arguments:
        return arguments[path]
    if path in schema.get("properties", {}):
        return _default(find_schema(schema, path))
    found = _values(schema, schema, arguments, path)
    return list(found) if spread(path) else next(found)


def _values(root: Schema, part: Schema, value: Any, path: str) -> Iterator[Any]:
    if not path or isinstance(value, Missing):
        yield value
    elif path.startswith("[]"):
        yield from _each(root, part, value, path[2:].removeprefix("."))
    elif path == "{}":
        yield from value if isinstance(value, dict) else _none_or_doubt(value)
    elif value is None:
        yield None
    elif isinstance(value, Mapping):
        name, rest = split(path, _listed(root, part))
        inner = _below(root, part, name)
        given = value[name] if name in value else _default(inner)
        yield from _values(root, inner or {}, given, rest)
    else:
        yield Missing(known=True)


def _each(root: Schema, part: Schema, value: Any, rest: str) -> Iterator[Any]:
    if not isinstance(value, (list, dict)):
        yield from _none_or_doubt(value)
        return
    inner = _below(root, part, "[]") or {}
    for below in value.values() if isinstance(value, dict) else value:
        yield from _values(root, inner, below, rest)


def _none_or_doubt(value: Any) -> Iterator[Any]:
    """Nothing stands in what was given as null; in what is neither list nor object nobody knows."""
    if value is not None:
        yield Missing(known=True)


def _below(root: Schema, part: Schema, step: str) -> Schema | None:
    return schema_at({**part, "$defs": root.get("$defs", {})}, step)


def _listed(root: Schema, part: Schema) -> frozenset[str]:
    return frozenset(name for one in branches(root, part) for name in one.get("properties", ()))


def _default(part: Schema | None) -> Any:
    return Missing(known=False) if part is None else part.get("default", Missing(known=True))


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
    fitting = [one for one in branches(schema, part) if _types(one) & _ACCEPTS[name]]
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
    found = {kind for one in branches(root, part) for kind in _types(one)} - {"null"}
    return " or ".join(sorted(found)) or "null"
