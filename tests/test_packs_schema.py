"""The acceptor of schemas: the closed set of keywords, references, caps and names."""

import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from remit.errors import SchemaError
from remit.packs.arguments import Arguments, Checked
from remit.packs.schema import MAX_BYTES, accept_schema
from remit.packs.types import allowed_types, fits_type


def accept(schema: Any) -> Any:
    return accept_schema(json.dumps(schema).encode())


def refused(schema: Any) -> str:
    with pytest.raises(SchemaError) as error:
        accept(schema)
    return str(error.value)


def with_property(part: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}, **more}


def test_root_is_normalised() -> None:
    assert accept({"type": "object"}) == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    assert accept(with_property({}, additionalProperties=True))["additionalProperties"] is False


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_alternatives_at_the_root_are_refused(keyword: str) -> None:  # field case L15
    branches = [{"type": "object", "properties": {name: {"type": "string"}}} for name in ("file", "url")]
    assert keyword in refused({keyword: branches})
    assert accept(with_property({keyword: branches}))


@pytest.mark.parametrize("root", [{"type": "array"}, {"enum": [1]}, {"const": {}}, [], 1, None, True])
def test_root_must_be_an_object(root: Any) -> None:
    refused(root)


def test_open_root_is_refused() -> None:
    assert "any name" in refused({"type": "object", "additionalProperties": {"type": "string"}})


def test_references_are_written_out_with_what_stands_beside_them() -> None:
    schema = with_property(
        {"$ref": "#/$defs/a~1b~0c%20d", "description": "mine", "default": None},
        **{"$defs": {"a/b~c d": {"type": "integer", "description": "theirs"}}},
    )
    assert accept(schema)["properties"]["x"] == {"type": "integer", "description": "mine", "default": None}


def test_references_into_arrays_are_resolved() -> None:  # field case L14
    schema = with_property({"$ref": "#/$defs/u/anyOf/1"}, **{"$defs": {"u": {"anyOf": [{}, {"type": "null"}]}}})
    assert accept(schema)["properties"]["x"] == {"type": "null"}


def test_recursive_references_are_refused_with_the_pointer() -> None:  # field case L14
    tree = {
        "type": "object",
        "properties": {
            "l": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/x"}]},
            "r": {"$ref": "#/properties/x/properties/l/anyOf/1"},
        },
    }
    assert "'#/properties/x'" in refused(with_property(tree))
    loop = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    assert "recursive" in refused(loop)
    assert "recursive" in refused(with_property({"$ref": "#"}))


@pytest.mark.parametrize(
    "ref", ["http://127.0.0.1/x", "file:///etc/passwd", "other.json", "#name", 7, "", "#/nowhere", "#/x/01"]
)
def test_references_out_of_the_document_are_refused(ref: Any) -> None:
    refused(with_property({"$ref": ref}))


def test_many_references_cannot_blow_up() -> None:
    defs = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(12)}
    assert "parts" in refused({"$ref": "#/$defs/d0", "$defs": {**defs, "d12": {}}})


def test_deep_and_large_schemas_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(60):
        deep = {"type": "array", "items": deep}
    assert "nested" in refused(with_property(deep))
    assert "bytes" in refused(with_property({"description": "a" * MAX_BYTES}))
    with pytest.raises(SchemaError, match="nested"):
        accept_schema(b'{"a":' * 10_000)


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(?<!a)b", "(", "a" * 2000, "\\d{1000}{1000}"])
def test_patterns_must_compile_in_the_linear_engine(pattern: str) -> None:
    refused(with_property({"type": "string", "pattern": pattern}))
    refused(with_property({"type": "object", "patternProperties": {pattern: {}}}))


def test_a_hostile_pattern_costs_nothing() -> None:
    arguments = Arguments(accept(with_property({"type": "string", "pattern": "^(a+)+$"})))
    assert not isinstance(arguments.check(json.dumps({"x": "a" * 50_000 + "!"})), Checked)
    assert isinstance(arguments.check(json.dumps({"x": "aaa"})), Checked)


def test_too_many_patterns_are_refused() -> None:
    parts = {f"p{i}": {"type": "string", "pattern": f"^{i}$"} for i in range(60)}
    assert "patterns" in refused({"type": "object", "properties": parts})


@pytest.mark.parametrize("keyword", ["$id", "$anchor", "$dynamicRef", "if", "not", "unevaluatedProperties", "x-mine"])
def test_unknown_keywords_are_named(keyword: str) -> None:
    assert repr(keyword) in refused(with_property({keyword: {}}))


def test_known_annotations_are_dropped_on_purpose() -> None:
    noise = {"title": "T", "$comment": "c", "examples": [1], "deprecated": True, "uniqueItems": True}
    assert accept(with_property({"type": "array", **noise}))["properties"]["x"] == {"type": "array"}


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text"},
        {"type": []},
        {"minLength": -1},
        {"minLength": True},
        {"maximum": "5"},
        {"multipleOf": 0},
        {"enum": []},
        {"enum": "ab"},
        {"required": ["a", "a"]},
        {"anyOf": []},
        {"properties": []},
        {"description": 5},
        {"items": False, "propertyNames": False},
        {"type": "string", "const": 1},
        {"type": "integer", "enum": ["a", True]},
        {"type": "object", "properties": {}, "required": ["a"]},
        False,
        7,
    ],
)
def test_misused_keywords_are_refused(part: Any) -> None:
    refused(with_property(part))


def test_names_are_nfc() -> None:  # field case L39
    assert accept({"type": "object", "properties": {"länge": {}, "幅": {}}})
    assert "folding" in refused({"type": "object", "properties": {"la\u0308nge": {}, "länge": {}}})
    assert "NFC" in refused({"type": "object", "properties": {"la\u0308nge": {}}})
    assert "name" in refused({"type": "object", "properties": {"a\nb": {}}})


def test_nested_objects_are_closed_unless_they_say_otherwise() -> None:
    nested = {"type": "object", "properties": {"a": {}}}
    assert accept(with_property(nested))["properties"]["x"]["additionalProperties"] is False
    open_one = {**nested, "additionalProperties": True}
    assert accept(with_property(open_one))["properties"]["x"]["additionalProperties"] is True
    assert accept(with_property({"type": "object"}))["properties"]["x"] == {"type": "object"}


def test_joined_objects_are_refused_and_a_lone_all_of_is_merged() -> None:
    objects = [{"properties": {"a": {}}}, {"properties": {"b": {}}}]
    assert "allOf" in refused(with_property({"allOf": objects}))
    assert "mixes" in refused(with_property({"properties": {"c": {}}, "anyOf": objects}))
    assert accept(with_property({"allOf": [{"type": "null"}], "description": "d"}))["properties"]["x"] == {
        "type": "null",
        "description": "d",
    }


def test_decimal_pattern_of_pydantic_is_carried_over() -> None:
    part = {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}]}
    arguments = Arguments(accept(with_property(part)))
    for text, good in [("1.50", True), ("-.5", True), ("-", False), ("", False), ("1,5", False), (".", False)]:
        assert isinstance(arguments.check(json.dumps({"x": text})), Checked) is (good or text == ""), text


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float = Field(gt=0)


class Box(BaseModel):
    """A box."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["box"] = "box"
    sides: tuple[int, int]


class Drawing(BaseModel):
    shape: Circle | Box = Field(discriminator="kind")
    tags: set[str] = set()
    layers: dict[Literal["front", "back"], list[Circle]] = {}


def test_what_pydantic_publishes_is_accepted_and_works() -> None:
    arguments = Arguments(accept(Drawing.model_json_schema()))
    good = {"shape": {"kind": "box", "sides": [1, 2]}, "tags": ["a", "a"], "layers": {"front": []}}
    assert isinstance(arguments.check(json.dumps(good)), Checked)
    for bad in (
        {**good, "shape": {"kind": "box", "sides": [1]}},
        {**good, "shape": {"kind": "box", "sides": [1, 2], "z": 1}},
        {**good, "layers": {"middle": []}},
        {**good, "shape": {"kind": "circle", "radius": 0}},
    ):
        assert not isinstance(arguments.check(json.dumps(bad)), Checked), bad


def test_accepting_twice_changes_nothing() -> None:
    once = accept(Drawing.model_json_schema())
    assert accept(once) == once


def test_types() -> None:
    assert allowed_types({"type": ["integer", "null"]}) == {"integer", "null"}
    assert allowed_types({"anyOf": [{"type": "string"}, {}]}) is None
    assert allowed_types({"enum": ["a", 1]}) == {"string", "integer"}
    assert allowed_types({"enum": ["a", 1]}, literals=False) == frozenset()
    assert fits_type(5.0, "integer")
    assert not fits_type(True, "integer")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "anyOf", "$ref", "items", "enum", "const", "pattern", "allOf", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_any_json_is_accepted_or_refused(document: Any) -> None:
    try:
        schema = accept(document)
    except SchemaError:
        return
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_accepted_or_refused(data: bytes) -> None:
    try:
        accept_schema(data)
    except SchemaError:
        pass
