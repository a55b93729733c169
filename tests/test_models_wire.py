"""The wire form of schemas and names."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.models.wire import MAX_NAME, WIRE_KEYWORDS, wire_names, wire_schema
from remit.packs.arguments import Arguments, Checked
from remit.packs.schema import accept_schema


def accept(*required: str, **parts: Any) -> Any:
    schema = {"type": "object", "properties": parts, "required": list(required)}
    return accept_schema(json.dumps(schema).encode())


def wire(schema: Any, *, strict: bool = False) -> dict[str, Any]:
    return wire_schema(schema, strict=strict)[0]


def keywords(node: Any, *, is_schema: bool = True) -> set[str]:
    if not isinstance(node, dict):
        return set()
    found = set(node) if is_schema else set()
    for key, value in node.items():
        if key == "properties":
            found |= set().union(*(keywords(part) for part in value.values()), set())
        elif isinstance(value, dict):
            found |= keywords(value)
        elif key == "anyOf":
            found |= set().union(*map(keywords, value))
    return found


TEXT = {"type": "string"}


def test_no_parameters() -> None:  # field case L16
    assert wire(accept()) == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_other_keywords_move_to_the_description() -> None:  # field case L19
    schema = accept(
        n={"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5, "description": "How many."},
        u={"type": "string", "format": "uri", "pattern": "^\\d+$"},
        c={"const": "x"},
        t={"type": ["integer", "null"]},
        p={"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "minItems": 2},
    )
    sent = wire(schema)
    assert keywords(sent) <= WIRE_KEYWORDS
    parts = sent["properties"]
    assert parts["n"] == {"type": "integer", "description": "How many. (more than 0; a multiple of 5)"}
    assert parts["u"]["description"] == "(format uri; must match ^\\d+$)"
    assert parts["c"] == {"type": "string", "enum": ["x"]}
    assert parts["t"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert parts["p"]["items"] == {"anyOf": [TEXT, {"type": "integer"}]}


def test_mixed_literals_have_no_single_type() -> None:  # field case L31
    assert wire(accept(v={"enum": ["lo", 3, None]}))["properties"]["v"] == {"enum": ["lo", 3, None]}
    assert wire(accept(v={"enum": [True, False]}))["properties"]["v"]["type"] == "boolean"


def test_strict_requires_everything_and_null_means_not_given() -> None:  # field case L17
    schema = accept("city", city=TEXT, days={"type": "integer", "default": 3}, unit={"anyOf": [TEXT, {"type": "null"}]})
    sent, really = wire_schema(schema, strict=True)
    assert really
    assert sent["required"] == ["city", "days", "unit"]
    assert sent["properties"]["days"] == {
        "description": "(default 3)",
        "anyOf": [{"type": "integer"}, {"type": "null"}],
    }
    assert sent["properties"]["unit"] == {"anyOf": [TEXT, {"type": "null"}]}
    result = Arguments(schema).check('{"city":"Oulu","days":null,"unit":null}')
    assert isinstance(result, Checked)
    assert result.value == {"city": "Oulu", "unit": None}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": True},
        {"type": "object", "patternProperties": {"^a": TEXT}, "additionalProperties": False},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"anyOf": [TEXT, {"type": "object"}]},
        {},
    ],
)
def test_what_cannot_be_strict_is_not_claimed_to_be(part: dict[str, Any]) -> None:  # field case L18
    schema = accept("x", "y", x=part, y=TEXT)
    sent, really = wire_schema(schema, strict=True)
    assert not really
    assert sent == wire(schema)
    assert wire_schema(accept("y", y=TEXT), strict=True)[1]


def test_open_objects_stay_open() -> None:  # field case L18
    sent = wire(accept(env={"type": "object"}, labels={"type": "object", "additionalProperties": TEXT}))
    assert sent["properties"]["env"]["additionalProperties"] is True
    assert sent["properties"]["labels"]["additionalProperties"] == TEXT


def test_strict_reaches_every_depth() -> None:
    inner = {"type": "object", "properties": {"a": TEXT, "b": {"enum": ["x"]}}, "required": ["a"]}
    sent, really = wire_schema(accept(x={"type": "array", "items": inner}), strict=True)
    assert really
    (array, null) = sent["properties"]["x"]["anyOf"]
    assert null == {"type": "null"}
    assert array["items"]["required"] == ["a", "b"]
    assert array["items"]["additionalProperties"] is False
    assert array["items"]["properties"]["b"]["anyOf"][1] == {"type": "null"}


def test_names() -> None:
    names = wire_names(["weather.get_weather", "local.größe", "local." + "x" * 90, "local." + "x" * 91])
    assert names["weather__get_weather"] == "weather.get_weather"
    assert len(names) == 4
    assert wire_names(["a.b", "a__b", "a.b"]) == {
        "a__b": "a.b",
        next(n for n in wire_names(["a.b", "a__b"]) if n != "a__b"): "a__b",
    }


@given(st.lists(st.text(), unique=True, max_size=20))
def test_names_are_legal_and_map_back(fulls: list[str]) -> None:
    names = wire_names(fulls)
    assert sorted(names.values()) == sorted(fulls)
    for name in names:
        assert name.isascii()
        assert 0 < len(name) <= MAX_NAME
