"""Type hints and docstrings as JSON Schema."""

# ruff: noqa: UP007, UP045 (both spellings of a union are under test)

from __future__ import annotations

import enum
import functools
import json
import typing
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, Union
from uuid import UUID

import jsonschema_rs
import pytest
from pydantic import AnyUrl, BaseModel, Field

from remit_sandbox.inside.describe import describe_function


def schema_of(function: Any) -> dict[str, Any]:
    described = describe_function(function)
    assert not described.error, described.error
    schema: dict[str, Any] = json.loads(described.schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert set(schema) <= {"type", "properties", "required", "additionalProperties", "$defs"}
    jsonschema_rs.validator_for(schema)
    return schema


def refusal_of(function: Any) -> str:
    described = describe_function(function)
    assert described.error
    assert described.schema == b""
    return described.error


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Box:
    w: int
    h: int = 1


class Shelf(BaseModel):
    """A shelf.

    Note:
        ticket 4711
    """

    box: Box
    boxes: list[Box] = []


class Reading(TypedDict, total=False):
    int: int
    float: float


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Left:
    right: Optional[Right] = None


@dataclass
class Right:
    left: Optional[Left] = None


class Odd:
    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous truth value")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise ValueError("no text")

    def __bool__(self) -> bool:
        raise ValueError("no truth")


Level = Literal["lo", "hi", 3, None]
Sku = NewType("Sku", str)


def test_a_function_without_parameters() -> None:
    def tool() -> str:
        """Ping."""
        return "pong"

    assert schema_of(tool) == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert describe_function(tool).description == "Ping."


def test_names_that_pydantic_uses_itself() -> None:
    def tool(model_config: str, schema: str, json: str = "{}", copy: bool = False, self_: int = 0) -> None: ...

    schema = schema_of(tool)
    assert list(schema["properties"]) == ["model_config", "schema", "json", "copy", "self_"]
    assert schema["required"] == ["model_config", "schema"]
    assert schema["properties"]["json"] == {"type": "string", "default": "{}"}


def test_names_that_begin_with_underscores_or_shadow_types() -> None:
    def tool(_x: str, int: float, __y: bool = True) -> None: ...  # noqa: A002

    assert list(schema_of(tool)["properties"]) == ["_x", "int", "__y"]


def test_ctx_is_left_out_when_it_is_a_context() -> None:
    def bare(x: int, ctx) -> None: ...  # type: ignore[no-untyped-def]

    def named(x: int, ctx: Context) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def dotted(x: int, ctx: "remit.Context") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037

    for tool in (bare, named, dotted):
        assert list(schema_of(tool)["properties"]) == ["x"]


def test_ctx_of_another_type_is_an_argument() -> None:
    def tool(config: str, ctx: str = "", context: str = "", run_id: str = "") -> None: ...

    assert list(schema_of(tool)["properties"]) == ["config", "ctx", "context", "run_id"]


def test_another_name_with_the_context_type_is_refused() -> None:
    def tool(surroundings: Context) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert "surroundings" in refusal_of(tool)


def test_variadic_parameters_are_refused_by_name() -> None:
    def tool(name: str, *rest: int, **extra: str) -> None: ...

    assert "*rest and **extra" in refusal_of(tool)


def test_positional_only() -> None:
    def tool(x: int, /, y: int = 0) -> None: ...

    assert schema_of(tool)["required"] == ["x"]


def test_optional_dataclass_has_no_ref_with_siblings() -> None:
    def tool(box: Optional[Box] = None) -> None: ...

    schema = schema_of(tool)
    assert schema["properties"]["box"] == {"anyOf": [{"$ref": "#/$defs/Box"}, {"type": "null"}], "default": None}


def test_a_default_of_a_class_is_written_out_beside_no_ref() -> None:
    def tool(box: Box = Box(2), colour: Colour = Colour.BLUE) -> None:  # noqa: B008
        """Draw.

        Args:
            colour: which colour
        """

    schema = schema_of(tool)
    assert schema["properties"]["box"]["default"] == {"w": 2, "h": 1}
    assert schema["properties"]["box"]["required"] == ["w"]
    assert schema["properties"]["colour"] == {
        "type": "string",
        "enum": ["red", "blue"],
        "description": "which colour",
        "default": "blue",
    }
    assert "$defs" not in schema


def test_none_as_default_accepts_null() -> None:
    def tool(filtro: str = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    assert schema_of(tool)["properties"]["filtro"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}


def test_parameters_without_annotations_take_anything() -> None:
    def tool(x, y=None) -> None: ...  # type: ignore[no-untyped-def]

    assert schema_of(tool)["properties"] == {"x": {}, "y": {"default": None}}


def test_nested_objects_are_closed_and_their_sections_cut() -> None:
    def tool(shelves: dict[str, list[Shelf]]) -> None: ...

    definitions = schema_of(tool)["$defs"]
    assert definitions["Shelf"]["additionalProperties"] is False
    assert definitions["Shelf"]["description"] == "A shelf."
    assert definitions["Box"]["additionalProperties"] is False


def test_open_dictionaries_stay_open() -> None:
    def tool(env: dict[str, Any], raw: dict, labels: dict[str, str]) -> None: ...  # type: ignore[type-arg]

    properties = schema_of(tool)["properties"]
    assert properties["env"]["additionalProperties"] is True
    assert properties["raw"]["additionalProperties"] is True
    assert properties["labels"]["additionalProperties"] == {"type": "string"}


def test_typed_dict_whose_fields_shadow_builtins() -> None:
    def tool(reading: Reading, many: list[Reading]) -> None: ...

    definition = schema_of(tool)["$defs"]["Reading"]
    assert definition["properties"] == {"int": {"type": "integer"}, "float": {"type": "number"}}
    assert not definition.get("required")


def test_literal_newtype_and_remarks() -> None:
    def tool(level: Level, sku: Sku, when: Annotated[Optional[Union[int, float]], "hours"] = None) -> None: ...

    properties = schema_of(tool)["properties"]
    assert properties["level"] == {"enum": ["lo", "hi", 3, None]}
    assert properties["sku"] == {"type": "string"}
    assert properties["when"] == {
        "anyOf": [{"type": "number"}, {"type": "null"}],
        "description": "hours",
        "default": None,
    }


def test_types_with_a_format() -> None:
    def tool(a: Path, b: AnyUrl, c: date, d: datetime, e: time, f: timedelta, g: UUID, h: Decimal) -> None: ...

    formats = {name: node.get("format") for name, node in schema_of(tool)["properties"].items()}
    assert formats == {
        "a": "path",
        "b": "uri",
        "c": "date",
        "d": "date-time",
        "e": "time",
        "f": "duration",
        "g": "uuid",
        "h": None,
    }


def test_field_as_default_or_annotation() -> None:
    def tool(
        a: Annotated[int, Field(gt=0, description="how many")],
        b: int = Field(3, le=10),
        c: str = Field(description="needed"),
    ) -> None: ...

    schema = schema_of(tool)
    assert schema["required"] == ["a", "c"]
    assert schema["properties"]["a"] == {"type": "integer", "exclusiveMinimum": 0, "description": "how many"}
    assert schema["properties"]["b"] == {"type": "integer", "maximum": 10, "default": 3}


def test_an_unusual_default_is_left_out_and_never_compared() -> None:
    def tool(a: int, flag: object = Odd(), n: float = float("nan"), many: Any = ()) -> None: ...

    schema = schema_of(tool)
    assert schema["required"] == ["a"]
    assert "default" not in schema["properties"]["flag"]
    assert "default" not in schema["properties"]["n"]
    assert schema["properties"]["many"] == {"default": []}


@pytest.mark.parametrize("kind", [Node, list[Node], Optional[Left]])
def test_recursive_types_are_refused(kind: Any) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = kind
    assert "contains itself" in refusal_of(tool)


def test_a_literal_of_an_enum_member_is_refused() -> None:
    def tool(x: Literal[Colour.RED]) -> None: ...

    assert "Literal[Colour.RED]" in refusal_of(tool)

    def control(x: Colour, y: Literal["red"]) -> None: ...

    schema_of(control)


@pytest.mark.parametrize("kind", [typing.Callable[[], int], range, Odd, "Nowhere", list["Nowhere"]])  # type: ignore[name-defined]  # noqa: F821
def test_types_without_a_schema_are_refused(kind: Any) -> None:
    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = kind
    message = refusal_of(tool)
    assert "errors.pydantic.dev" not in message
    assert len(message) <= 500


def test_names_that_fold_to_one_are_refused() -> None:
    import inspect

    def tool(**arguments: Any) -> None: ...

    def signature(*names: str) -> inspect.Signature:
        return inspect.Signature([inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, annotation=int) for n in names])

    tool.__signature__ = signature("la\u0308nge", "l\u00e4nge")  # type: ignore[attr-defined]
    assert "same name" in refusal_of(tool)
    tool.__signature__ = signature("la\u0308nge")  # type: ignore[attr-defined]
    assert list(schema_of(tool)["properties"]) == ["l\u00e4nge"]


def test_decorated_and_partial_functions() -> None:
    def plain(box: Box, n: int = 1) -> None:
        """Draw."""

    @functools.wraps(plain)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        return plain(*args, **kwargs)

    assert list(schema_of(wrapped)["properties"]) == ["box", "n"]
    assert describe_function(wrapped).description == "Draw."
    assert list(schema_of(functools.partial(plain, n=2))["properties"]) == ["box", "n"]


def test_documented_but_absent_parameters_are_a_note() -> None:
    def tool(x: int, ctx) -> None:  # type: ignore[no-untyped-def]
        """Halve.

        Args:
            x: even
            ctx: given
            ghost: absent
        """

    described = describe_function(tool)
    assert described.notes == ("the docstring describes 'ghost', which is no parameter",)


def test_unions_with_a_discriminator() -> None:
    class Cat(BaseModel):
        kind: Literal["cat"]

    class Dog(BaseModel):
        kind: Literal["dog"]

    def tool(pet: Any) -> None: ...

    tool.__annotations__["pet"] = Annotated[Union[Cat, Dog], Field(discriminator="kind")]
    schema = schema_of(tool)
    assert "discriminator" not in json.dumps(schema)
    assert schema["properties"]["pet"]["oneOf"] == [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]


def test_a_property_called_title_stays() -> None:
    class Page(BaseModel):
        title: str
        properties: int = 0

    def tool(title: str, page: Any) -> None: ...

    tool.__annotations__["page"] = Page
    schema = schema_of(tool)
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["$defs"]["Page"]["properties"]["title"] == {"type": "string"}


def test_written_out_references_cannot_explode() -> None:
    inner: Any = Box
    for _ in range(20):

        class Level(BaseModel):
            a: inner = None
            b: inner = None

        inner = Level

    def tool(x: Any) -> None: ...

    tool.__annotations__["x"] = inner
    described = describe_function(tool)
    assert described.error or len(described.schema) < 5_000_000
