"""Strict conversion of JSON to a handler's arguments."""

# ruff: noqa: UP007, UP045 (both spellings of a union are under test)

from __future__ import annotations

import datetime
import enum
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Optional, TypedDict, Union

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from remit_sandbox.inside.convert import ERRORS, DoesNotFit, convert
from remit_sandbox.inside.describe import describe_function
from remit_sandbox.inside.signature import prepare


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Item:
    sku: str
    qty: int = 1
    colours: list[Colour] = field(default_factory=list)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    item: Item


class Reading(TypedDict, total=False):
    int: int
    float: float


UNSEEN = ('"20240102"',)
"""What a validator of formats may let pass, and conversion does not."""


def take(annotation: Any, value: str) -> Any:
    def tool(v: Any) -> Any:
        return v

    tool.__annotations__["v"] = annotation
    positional, named = bind(tool, f'{{"v": {value}}}')
    assert not positional
    return named["v"]


def published(annotation: Any) -> jsonschema_rs.Validator:
    """The schema that a model reads, as the host checks it."""

    def tool(v: Any) -> None: ...

    tool.__annotations__["v"] = annotation
    described = describe_function(tool)
    return jsonschema_rs.validator_for(json.loads(described.schema), validate_formats=True)


def bind(tool: Callable[..., Any], arguments: str) -> tuple[list[Any], dict[str, Any]]:
    prepared = prepare(tool)
    return prepared.bind(convert(prepared, arguments.encode()), None)


def errors(tool: Callable[..., Any], arguments: str) -> dict[str, str]:
    with pytest.raises(DoesNotFit) as raised:
        convert(prepare(tool), arguments.encode())
    return {error.path: error.message for error in raised.value.errors}


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (float, "1", 1.0),
        (int, "3", 3),
        (str, '"1"', "1"),
        (Union[float, str], "1", 1.0),
        (Union[float, str], '"1"', "1"),
        (datetime.date, '"2024-01-02"', datetime.date(2024, 1, 2)),
        (datetime.timedelta, '"PT1H"', datetime.timedelta(hours=1)),
        (Path, '"a/b"', Path("a/b")),
        (Colour, '"red"', Colour.RED),
        (Decimal, '"1.10"', Decimal("1.10")),
        (uuid.UUID, f'"{uuid.UUID(int=1)}"', uuid.UUID(int=1)),
        (set[int], "[1, 2]", {1, 2}),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (bytes, '"ab"', b"ab"),
        (Literal["lo", 3, None], "3", 3),
        (dict[int, str], '{"1": "a"}', {1: "a"}),
        (Reading, '{"int": 1}', {"int": 1}),
        (Optional[Item], "null", None),
        (list[Item], '[{"sku": "a", "colours": ["red"]}]', [Item("a", 1, [Colour.RED])]),
        (dict[str, list[Item]], '{"k": [{"sku": "c"}]}', {"k": [Item("c")]}),
        (object, '{"a": [1]}', {"a": [1]}),
    ],
)
def test_values_that_fit(annotation: Any, text: str, value: Any) -> None:
    made = take(annotation, text)
    assert made == value
    assert type(made) is type(value)
    assert published(annotation).is_valid({"v": json.loads(text)})


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, '"3"'),
        (int, "3.5"),
        (int, "true"),
        (float, '"1"'),
        (str, "1"),
        (bool, "1"),
        (bool, '"true"'),
        (datetime.date, "1"),
        (datetime.date, '"20240102"'),
        (datetime.datetime, "1700000000"),
        (Colour, '"RED"'),
        (Literal["lo", "hi", 3, None], '"3"'),
        (Literal["lo", "hi", 3, None], "true"),
        (list[str], '"oak, elm"'),
        (Optional[Item], '""'),
        (str, "null"),
    ],
)
def test_values_that_do_not_fit(annotation: Any, text: str) -> None:
    with pytest.raises(DoesNotFit):
        take(annotation, text)
    if text not in UNSEEN:
        assert not published(annotation).is_valid({"v": json.loads(text)})


def test_unknown_keys_are_refused_at_every_depth() -> None:
    def tool(items: list[Item], o: Optional[Open] = None, r: Optional[Reading] = None) -> None: ...

    assert errors(tool, '{"items": [{"sku": "a", "colour": 1}]}') == {"items[0].colour": "there is no such argument"}
    assert set(errors(tool, '{"items": [], "o": {"item": {"sku": "a", "x": 1}, "y": 1}, "r": {"z": 1}, "q": 2}')) == {
        "o.item.x",
        "o.y",
        "r.z",
        "q",
    }


def test_missing_arguments_are_named() -> None:
    def tool(items: list[Item], n: int) -> None: ...

    assert errors(tool, '{"items": [{}]}') == {"items[0].sku": "it is required", "n": "it is required"}
    assert set(errors(tool, "")) == {"items", "n"}


def test_branches_of_unions_are_no_part_of_a_path() -> None:
    def tool(v: Union[int, list[int]], w: Optional[dict[str, Item]] = None) -> None: ...

    assert set(errors(tool, '{"v": ["a"], "w": {"k": {"sku": 1}}}')) == {"v", "v[0]", "w.k.sku"}


def test_errors_are_few_and_short() -> None:
    def tool(many: list[int]) -> None: ...

    found = errors(tool, json.dumps({"many": ["x" * 10_000] * 100}))
    assert len(found) == ERRORS
    assert all(len(message) <= 300 for message in found.values())


@pytest.mark.parametrize("text", ["{", "[]", "null", "1", '{"a": 1} x', "\x00", '{"v": ' + "[" * 5000, '{"v": 1e999}'])
def test_what_is_no_object_does_not_fit(text: str) -> None:
    def tool(v: int = 0) -> None: ...

    with pytest.raises(DoesNotFit):
        convert(prepare(tool), text.encode())


def test_validators_of_the_pack_report_like_the_rest() -> None:
    class Even(BaseModel):
        n: int

        def model_post_init(self, context: Any) -> None:
            if self.n % 2:
                raise ValueError("must be even")

    def tool(even: Any) -> None: ...

    tool.__annotations__["even"] = Even
    assert errors(tool, '{"even": {"n": 1}}') == {"even": "Value error, must be even"}


def test_defaults_are_the_functions_own() -> None:
    shared: list[int] = []

    def tool(a: int, b: list[int] = shared, /, c: Any = shared, *, d: int = 4) -> None: ...

    positional, named = bind(tool, '{"a": 1}')
    assert positional[0] == 1
    assert positional[1] is shared
    assert named == {}
    assert bind(tool, '{"a": 1, "b": [2], "c": 3, "d": 5}') == ([1, [2]], {"c": 3, "d": 5})


def test_ctx_by_position_and_by_name() -> None:
    def first(ctx, a: int, /, b: int) -> None: ...  # type: ignore[no-untyped-def]

    def named(a: int, *, ctx) -> None: ...  # type: ignore[no-untyped-def]

    marker = object()
    prepared = prepare(first)
    assert prepared.bind(convert(prepared, b'{"a": 1, "b": 2}'), marker) == ([marker, 1], {"b": 2})
    prepared = prepare(named)
    assert prepared.bind(convert(prepared, b'{"a": 1}'), marker) == ([], {"a": 1, "ctx": marker})


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_fit_or_do_not(text: bytes) -> None:
    def tool(v: Any = None, n: int = 0) -> None: ...

    try:
        convert(prepare(tool), text)
    except DoesNotFit as error:
        assert error.errors
