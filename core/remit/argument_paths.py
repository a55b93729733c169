"""Ways to values inside arguments, as manifests and rules write them: `to`, `address.city`, `files[].path`.

A dot leads to a field of an object, `[]` to each item of a list or each value of an object with free names, `{}` to
each of those names. An argument whose own name has such a sign is found by its whole name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_FIELD = re.compile(r"[^.\[{]+")
_PLAIN = re.compile(r"[^\W\d][\w-]*")
_DEEPEST = 40

LEFT_OUT = " (left out)"
"""Stands behind the place of a field that an object does not have; no written place ends like that."""


class Below(str):
    """A step to the value under a free name, one that no schema lists; the same as one to a field of that name."""

    __slots__ = ()


@dataclass(frozen=True)
class Name:
    """A step to a free name itself."""

    name: str


Step = str | int | Name
"""A field or `Below` a free name, an item of a list, or a free name itself."""

Place = tuple[Step, ...]
"""Where one value stands in the arguments of one call; no two values have the same."""


@dataclass(frozen=True)
class Declared:
    """One value at a way that was declared.

    Attributes:
        place: where it stands.
        way: as it was declared.
        kind: what was declared of it.
        value: what stands there.
    """

    place: Place
    way: str
    kind: str
    value: Any


def declared(arguments: Mapping[str, Any], kinds: Mapping[str, str]) -> Iterator[Declared]:
    """Yield each value that stands at one of the ways in `kinds`; nothing for a way that leads nowhere this time."""
    for way, kind in kinds.items():
        for place, value in standing_at(arguments, way):
            yield Declared(place=place, way=way, kind=kind, value=value)


def standing_at(value: Any, way: str, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield place and value of everything that stands at `way` in `value`.

    A name that is all of a way may be one that the caller chose, and then hides nothing that the way leads to.
    """
    if not way:
        yield place, value
        return
    for step, below, rest in _onward(value, way):
        yield from standing_at(below, rest, (*place, step))


def _onward(value: Any, way: str) -> Iterator[tuple[Step, Any, str]]:
    """Yield each step on a way, what stands there, and the rest of the way."""
    if way.startswith("[]"):
        yield from ((step, below, way[2:].removeprefix(".")) for step, below in _each(value))
    if isinstance(value, Mapping):
        if way == "{}":
            yield from ((Name(name), name, "") for name in value)
        for field, rest in dict.fromkeys((split(way, value), split(way, ()))):
            if field in value:
                yield field, value[field], rest


def _each(value: Any) -> Iterator[tuple[Step, Any]]:
    if isinstance(value, list | tuple):
        yield from enumerate(value)
    elif isinstance(value, Mapping):
        yield from ((Below(str(name)), below) for name, below in value.items())


def fixed(arguments: Mapping[str, Any], ways: Iterable[str]) -> dict[str, Any]:
    """Return what stands at some ways, by place, to be compared with another call.

    Where a way leads no further, what stands there counts, or that nothing does.
    """
    return {name: value for way in ways for name, value in _fixed(arguments, way, ())}


def _fixed(value: Any, way: str, place: Place) -> Iterator[tuple[str, Any]]:
    steps = list(_onward(value, way)) if way else []
    for step, below, rest in steps:
        yield from _fixed(below, rest, (*place, step))
    if way and not steps and isinstance(value, Mapping) and way[0] not in "[{":
        yield written((*place, split(way, ())[0])) + LEFT_OUT, True
    elif not steps:
        yield written(place), value


def split(way: str, names: Container[str]) -> tuple[str, str]:
    """Return the field that a way begins with, and the rest; one of `names` that is all of the way comes first."""
    if way in names:
        return way, ""
    found = _FIELD.match(way)
    return (found[0], way[found.end() :].removeprefix(".")) if found else (way, "")


def spread(way: str) -> bool:
    """Tell whether a way leads to any number of values, which then count as a list."""
    return "[]" in way or way.endswith("{}")


def is_covered(way: str, by: Iterable[str]) -> bool:
    """Tell whether a way is one of others, or leads on from one of them."""
    return any(way == one or way.startswith((f"{one}.", f"{one}[", f"{one}{{")) for one in by)


def schema_at(root: Mapping[str, Any], way: str) -> Mapping[str, Any] | None:
    """Return the schema of what stands at `way`, None where nothing can stand there.

    Args:
        root: JSON Schema of all arguments.
        way: as it was declared.
    """
    return _schema_at(root, root, way, 0)


def _schema_at(root: Mapping[str, Any], part: Any, way: str, depth: int) -> Mapping[str, Any] | None:
    if not way:
        return resolved_part(root, part)
    if depth > _DEEPEST:
        return None
    inside = (found for one in branches(root, part, depth) for found in _inside(root, one, way, depth))
    return next(inside, None)


def _inside(root: Mapping[str, Any], one: Mapping[str, Any], way: str, depth: int) -> Iterator[Mapping[str, Any]]:
    free, properties = one.get("additionalProperties"), one.get("properties", {})
    below: list[tuple[Any, str]]
    if way in properties:
        below = [(properties[way], "")]
    elif way.startswith("[]"):
        below = [(part, way[2:].removeprefix(".")) for part in (one.get("items"), *one.get("prefixItems", ()), free)]
    elif way == "{}":
        below = [({"type": "string", **one.get("propertyNames", {})}, "")] if isinstance(free, Mapping) else []
    else:
        field, rest = split(way, ())
        below = [(properties.get(field, free), rest)]
    for part, rest in below:
        found = _schema_at(root, part, rest, depth + 1) if isinstance(part, Mapping) else None
        if found is not None:
            yield found


def branches(root: Mapping[str, Any], part: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas that a value of `part` may fit: itself, and what it is a choice of."""
    part = resolved_part(root, part)
    choices = [one for key in ("anyOf", "oneOf", "allOf") for one in part.get(key, ())]
    if not choices or "type" in part or "properties" in part:
        yield part
    if depth <= _DEEPEST:
        for one in choices:
            yield from branches(root, one, depth + 1)


def resolved_part(root: Mapping[str, Any], part: Any) -> Mapping[str, Any]:
    """Return a schema with the definition that it refers to in its place."""
    if not isinstance(part, Mapping):
        return {}
    if "$ref" in part:
        found = root.get("$defs", {}).get(str(part["$ref"]).removeprefix("#/$defs/"), {})
        return {**(found if isinstance(found, Mapping) else {}), **{k: v for k, v in part.items() if k != "$ref"}}
    return part


def leaves(root: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield way and schema of everything in the arguments that is neither an object nor a list, each way once or more.

    Args:
        root: JSON Schema of all arguments.
    """
    yield from _leaves(root, root, "", 0)


def _leaves(root: Mapping[str, Any], part: Any, way: str, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if depth > _DEEPEST:
        return
    for one in branches(root, part, depth):
        inner = list(_inner(one, way))
        for below, under in inner:
            yield from _leaves(root, under, below, depth + 1)
        if way and not inner:
            yield way, one


def _inner(one: Mapping[str, Any], way: str) -> Iterator[tuple[str, Any]]:
    for name, under in one.get("properties", {}).items():
        yield (f"{way}.{name}" if way else str(name)), under
    for under in (one.get("items"), *one.get("prefixItems", ())):
        if isinstance(under, Mapping):
            yield f"{way}[]", under
    free = one.get("additionalProperties")
    if way and isinstance(free, Mapping):
        yield f"{way}[]", free
        yield f"{way}{{}}", {"type": "string", **one.get("propertyNames", {})}


def may_be_text(root: Mapping[str, Any], way: str) -> bool:
    """Tell whether a text can stand at `way`, or in a list or an object that stands there."""
    below = (one for found, one in leaves(root) if is_covered(found, [way]))
    return any(one.get("type", "string") in ("string", "object", "array") for one in below)


def listed_names(root: Mapping[str, Any]) -> frozenset[str]:
    """Return every name of a field that a schema lists, at whatever depth; all other names are the caller's."""
    names: set[str] = set()
    rest: list[tuple[Any, int]] = [(root, 0)]
    while rest:
        part, depth = rest.pop()
        if depth > _DEEPEST or not isinstance(part, Mapping | list | tuple):
            continue
        if isinstance(part, Mapping):
            properties = part.get("properties")
            names.update(properties if isinstance(properties, Mapping) else ())
        rest += [(one, depth + 1) for one in (part.values() if isinstance(part, Mapping) else part)]
    return frozenset(names)


def written(place: Place) -> str:
    """Return a place for people, no two the same: `files[0].path`, `headers["X-To"]`."""
    return _joined(place, lambda name: json.dumps(name, ensure_ascii=False))


def covert(place: Place) -> str:
    """Return a place without free names, which are values: `headers[]`."""
    return _joined(place, lambda name: "")


def _joined(place: Place, shown: Callable[[str], str]) -> str:
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        elif isinstance(step, Below):
            text += f"[{shown(step)}]"
        elif isinstance(step, Name):
            text += f"{{{shown(step.name)}}}"
        else:
            field = step if _PLAIN.fullmatch(step) else json.dumps(step, ensure_ascii=False)
            text += f".{field}" if text else field
    return text
