"""Pydantic's JSON Schema in the form that Remit publishes.

The root is always an object with `properties`, `required` and `additionalProperties: false`. Every
object with named properties is closed, no `$ref` has siblings, titles and discriminators are
gone, definitions that nothing refers to as well. Recursive types are refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from remit_sandbox.inside.annotations import CannotDescribe
from remit_sandbox.inside.docstrings import read_docstring

NODES = 20_000
"""Schema nodes at most; written-out references can multiply them."""

_PREFIX = "#/$defs/"
_MAPS = ("properties", "patternProperties", "$defs")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NODES = ("items", "additionalProperties", "propertyNames", "contains", "not", "contentSchema")
_DROPPED = ("title", "discriminator")


def tidy(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the published form of `raw`.

    Raises:
        CannotDescribe: a type contains itself, a property's name is not in NFC, or the whole is too large.
    """
    definitions: Mapping[str, Any] = raw.get("$defs", {})
    _refuse_recursion(definitions)
    work = _Tidy(definitions)
    properties = work.names(raw.get("properties", {}))
    root = {
        "type": "object",
        "properties": properties,
        "required": list(raw.get("required", [])),
        "additionalProperties": False,
    }
    used = work.definitions()
    return {**root, "$defs": used} if used else root


class _Tidy:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._wanted: dict[str, Any] = {}
        self._nodes = 0

    def definitions(self) -> dict[str, Any]:
        """Return what the nodes seen so far refer to, in order of their names."""
        done: dict[str, Any] = {}
        while missing := sorted(set(self._wanted) - set(done)):
            for name in missing:
                done[name] = self.definition(name)
        return dict(sorted(done.items()))

    def definition(self, name: str) -> dict[str, Any]:
        """Return one tidied definition, without the sections of its class's docstring."""
        node: dict[str, Any] = self.node(_described(dict(self._definitions[name])))
        return node

    def names(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tidied properties of one object."""
        for name in properties:
            if unicodedata.normalize("NFC", name) != name:
                raise CannotDescribe(f"the name {name!r} is not in normal form (NFC); write it composed")
        return {name: self.node(node) for name, node in properties.items()}

    def node(self, node: Any) -> Any:
        """Return one tidied schema."""
        self._nodes += 1
        if self._nodes > NODES:
            raise CannotDescribe(f"its schema has more than {NODES} nodes")
        if not isinstance(node, dict):
            return node
        node = {key: value for key, value in node.items() if key not in _DROPPED}
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._reference(node, reference.removeprefix(_PREFIX))
        return self._children(_closed(_one_number(node)))

    def _reference(self, node: dict[str, Any], name: str) -> Any:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        if siblings:
            return {**self.definition(name), **self._children(siblings)}
        self._wanted[name] = True
        return node

    def _children(self, node: dict[str, Any]) -> dict[str, Any]:
        for key in _MAPS:
            if isinstance(node.get(key), dict):
                node[key] = self.names(node[key])
        for key in _LISTS:
            if isinstance(node.get(key), list):
                node[key] = [self.node(item) for item in node[key]]
        for key in _NODES:
            if isinstance(node.get(key), dict):
                node[key] = self.node(node[key])
        return node


def _closed(node: dict[str, Any]) -> dict[str, Any]:
    return {**node, "additionalProperties": False} if "properties" in node else node


def _one_number(node: dict[str, Any]) -> dict[str, Any]:
    """An integer beside a number adds nothing."""
    choices = node.get("anyOf")
    if not isinstance(choices, list) or {"type": "number"} not in choices or {"type": "integer"} not in choices:
        return node
    return {**node, "anyOf": [choice for choice in choices if choice != {"type": "integer"}]}


def _described(node: dict[str, Any]) -> dict[str, Any]:
    """Cut sections out of a class's docstring."""
    text = node.pop("description", None)
    prose = read_docstring(text).prose if isinstance(text, str) else ""
    return {**node, "description": prose} if prose else node


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix(_PREFIX)
        for key, value in node.items():
            if key not in ("default", "examples", "const", "enum", "discriminator"):
                yield from _references(value)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


def _refuse_recursion(definitions: Mapping[str, Any]) -> None:
    edges = {name: set(_references(node)) for name, node in definitions.items()}
    while leaves := [name for name, targets in edges.items() if not targets & edges.keys()]:
        for name in leaves:
            del edges[name]
    if edges:
        raise CannotDescribe(
            f"the type {min(edges)} contains itself; a model's endpoint cannot read a recursive schema: "
            "take a flat list with parent names, or JSON text"
        )
