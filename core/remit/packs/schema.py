"""The acceptor: which JSON Schema a pack may publish for a skill, and the one form Remit keeps of it.

A schema comes from a pack and is hostile until accepted. What comes out has an object with closed
properties at its root, no references (they are written out in place), and only the keywords of `KEPT`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from remit.errors import SchemaError
from remit.packs.keywords import DROPPED, KEPT, OBJECT_KEYWORDS, check_keyword, check_pattern
from remit.packs.strict_json import BadJson, parse_strict
from remit.packs.types import fits_type

MAX_BYTES = 64 * 1024
"""Largest schema, in bytes of its JSON text."""

MAX_NODES = 2000
"""Most subschemas once every reference is written out."""

MAX_DEPTH = 40
"""Deepest nesting of subschemas."""

_BRANCHES = ("anyOf", "oneOf", "allOf")
_OWN_WORDS = frozenset({"description", "default"})


def accept_schema(text: bytes) -> Mapping[str, Any]:
    """Accept the JSON Schema of one skill's arguments and return it in Remit's own form.

    The root is `{type: object, properties, required, additionalProperties: false}`, with a `description`
    where there was one; nested objects that list properties are closed unless they say otherwise.

    Raises:
        SchemaError: what is wrong and where, as a JSON pointer. Only the skill it belongs to is refused.
    """
    if len(text) > MAX_BYTES:
        raise SchemaError(f"The schema has {len(text)} bytes; at most {MAX_BYTES} are accepted.")
    try:
        document = parse_strict(text.decode())
    except UnicodeDecodeError:
        raise SchemaError("The schema is not UTF-8 text.") from None
    except BadJson as error:
        raise SchemaError(f"The schema cannot be read: {error}.") from None
    if not isinstance(document, dict):
        raise SchemaError("The schema is not a JSON object.")
    schema = _root(_Acceptor(document).node(document, "#", (), 0))
    _compile(schema)
    return schema


class _Acceptor:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._nodes = 0

    def node(self, raw: Any, at: str, refs: tuple[str, ...], depth: int) -> dict[str, Any]:
        """Return the accepted form of one subschema; `refs` are the references that led to it."""
        self._count(at, depth)
        if raw is True:
            return {}
        if not isinstance(raw, dict):
            raise SchemaError(f"{at} is no schema that a value can fit.")
        node: dict[str, Any] = {}
        for keyword, value in raw.items():
            self._keyword(node, keyword, value, at, refs, depth)
        if "$ref" in raw:
            node = _merged(self._target(raw["$ref"], at, refs, depth), node, at)
        return _finished(node, at)

    def _count(self, at: str, depth: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise SchemaError(f"The schema has more than {MAX_NODES} parts once its references are written out.")
        if depth > MAX_DEPTH:
            raise SchemaError(f"The schema is nested more than {MAX_DEPTH} levels deep at {at[:200]}.")

    def _keyword(
        self, node: dict[str, Any], keyword: str, value: Any, at: str, refs: tuple[str, ...], depth: int
    ) -> None:
        if keyword in DROPPED or keyword == "$ref":
            return
        if keyword not in KEPT:
            raise SchemaError(f"{at} uses the keyword {keyword!r}, which is not accepted.")
        here = f"{at}/{keyword}"
        kind = KEPT[keyword]
        if kind == "schema":
            node[keyword] = self._closing(keyword, value, here, refs, depth)
        elif kind == "schemas":
            node[keyword] = self._each(value, here, refs, depth)
        elif kind == "named":
            node[keyword] = self._named(keyword, value, here, refs, depth)
        else:
            check_keyword(keyword, kind, value, at)
            node[keyword] = value

    def _closing(self, keyword: str, value: Any, at: str, refs: tuple[str, ...], depth: int) -> Any:
        if isinstance(value, bool) and (keyword == "additionalProperties" or value is False):
            if value is False and keyword not in ("additionalProperties", "items"):
                raise SchemaError(f"{at} is false, so no value can fit.")
            return value
        return self.node(value, at, refs, depth + 1)

    def _each(self, value: Any, at: str, refs: tuple[str, ...], depth: int) -> list[dict[str, Any]]:
        if not isinstance(value, list) or not value:
            raise SchemaError(f"{at} must be a list of schemas.")
        return [self.node(part, f"{at}/{index}", refs, depth + 1) for index, part in enumerate(value)]

    def _named(self, keyword: str, value: Any, at: str, refs: tuple[str, ...], depth: int) -> dict[str, dict[str, Any]]:
        if not isinstance(value, dict):
            raise SchemaError(f"{at} must map names to schemas.")
        for name in value:
            if keyword == "properties":
                _check_name(name, value, at)
            else:
                check_pattern(name, at)
        return {name: self.node(part, f"{at}/{_escaped(name)}", refs, depth + 1) for name, part in value.items()}

    def _target(self, ref: Any, at: str, refs: tuple[str, ...], depth: int) -> dict[str, Any]:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            raise SchemaError(f"{at} refers to {str(ref)[:100]!r}; only references inside the document are followed.")
        if ref in refs or at == ref or at.startswith(ref + "/"):
            raise SchemaError(f"{at} refers to {ref!r}, which contains itself: recursive types are not accepted.")
        return self.node(_resolve(self._document, ref), ref, (*refs, ref), depth + 1)


def _resolve(document: Any, ref: str) -> Any:
    """Follow a JSON pointer (RFC 6901) in URI fragment form."""
    found = document
    for token in unquote(ref[1:]).split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and _is_index(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            raise SchemaError(f"The schema refers to {ref!r}, which leads nowhere.")
    return found


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit() and len(key) < 8 and (key == "0" or key[0] != "0")


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _check_name(name: str, names: Mapping[str, Any], at: str) -> None:
    if not name or len(name) > 128 or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise SchemaError(f"{at} names a parameter {name[:40]!r}, which is no usable name.")
    folded = unicodedata.normalize("NFC", name)
    if folded == name:
        return
    if folded in names:
        raise SchemaError(f"{at} names two parameters that are one after Unicode NFC folding: {folded!r}.")
    raise SchemaError(f"{at} names a parameter {name!r} that is not in Unicode NFC form; write {folded!r}.")


def _merged(target: dict[str, Any], beside: dict[str, Any], at: str) -> dict[str, Any]:
    """Lay the keywords that stand beside a reference (or a lone `allOf`) over what it refers to."""
    for keyword, value in beside.items():
        if keyword not in _OWN_WORDS and keyword in target and target[keyword] != value:
            raise SchemaError(f"{at} says {keyword!r} twice in different ways, once by reference.")
    return {**target, **beside}


def _finished(node: dict[str, Any], at: str) -> dict[str, Any]:
    if len(node.get("allOf", ())) == 1:
        (only,) = node.pop("allOf")
        node = _merged(only, node, at)
    for keyword in _BRANCHES:
        _check_branches(node, keyword, at)
    if "type" in node and isinstance(node["type"], list) and len(node["type"]) == 1:
        node["type"] = node["type"][0]
    if "type" not in node and "properties" in node:
        node["type"] = "object"
    if "type" not in node and ("items" in node or "prefixItems" in node):
        node["type"] = "array"
    if "properties" in node:
        node.setdefault("additionalProperties", False)
    _check_required(node, at)
    _check_values(node, at)
    return _portable_pattern(node)


def _check_branches(node: Mapping[str, Any], keyword: str, at: str) -> None:
    """Refuse alternatives whose closed objects could never agree with what stands beside them."""
    branches = node.get(keyword, ())
    if not any(OBJECT_KEYWORDS & branch.keys() for branch in branches):
        return
    if keyword == "allOf":
        raise SchemaError(f"{at} joins objects with allOf; write their properties in one object.")
    if OBJECT_KEYWORDS & node.keys() or sum(other in node for other in _BRANCHES) > 1:
        raise SchemaError(f"{at} mixes properties with {keyword}; write each alternative out whole.")


def _check_required(node: Mapping[str, Any], at: str) -> None:
    if node.get("additionalProperties") is not False or "patternProperties" in node:
        return
    known = node.get("properties", {})
    for name in node.get("required", ()):
        if name not in known:
            raise SchemaError(f"{at} requires {name!r}, which is not among its properties, so nothing can fit.")


def _check_values(node: Mapping[str, Any], at: str) -> None:
    if "type" not in node or not ("enum" in node or "const" in node):
        return
    values = node["enum"] if "enum" in node else [node["const"]]
    if not any(fits_type(value, node["type"]) for value in values):
        raise SchemaError(f"{at} allows only values that are not of its type, so nothing can fit.")


_DECIMAL_LOOKAHEAD = "^(?!^[-+.]*$)"


def _portable_pattern(node: dict[str, Any]) -> dict[str, Any]:
    """Rewrite the look-ahead with which pydantic describes a decimal: it only asks for one digit."""
    pattern = node.get("pattern", "")
    if not pattern.startswith(_DECIMAL_LOOKAHEAD):
        return node
    digit: dict[str, Any] = {"pattern": "[0-9]"}
    pattern = "^" + pattern.removeprefix(_DECIMAL_LOOKAHEAD)
    return {**node, "pattern": pattern, "allOf": [*node.get("allOf", ()), digit]}


def _root(node: dict[str, Any]) -> dict[str, Any]:
    for keyword in (*_BRANCHES, "enum", "const", "patternProperties"):
        if keyword in node:
            raise SchemaError(
                f"The schema has {keyword!r} at its root; a skill's arguments must be one object with named properties."
            )
    if node.get("type", "object") != "object":
        raise SchemaError(f"The schema's root has the type {node['type']!r}; it must be 'object'.")
    if isinstance(node.get("additionalProperties"), dict):
        raise SchemaError("The schema's root takes arguments of any name; name each parameter.")
    known = node.get("properties", {})
    required = [name for name in known if name in node.get("required", ())]
    if missing := [name for name in node.get("required", ()) if name not in known]:
        raise SchemaError(f"The schema requires {missing[0]!r}, which is not among its properties.")
    root = {"type": "object", "properties": known, "required": required, "additionalProperties": False}
    return {**root, **{key: node[key] for key in ("description",) if key in node}}


def _compile(schema: Mapping[str, Any]) -> None:
    from remit.packs.validator import compile_schema

    compile_schema(schema)
