"""Any returned value as strict JSON text."""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import types
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, SecretStr

from remit_sandbox.inside.media import media_type
from remit_sandbox.inside.results import NotJson, to_json


class Colour(enum.Enum):
    RED = "r"


class Weight(enum.IntEnum):
    LIGHT = 1


class Text(str):
    pass


@dataclasses.dataclass
class Day:
    when: datetime.date


class Model(BaseModel):
    a: int
    day: datetime.date
    inner: Day


Point = collections.namedtuple("Point", "x y")
UTC = datetime.UTC


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        ([], []),
        ((), []),
        ({}, {}),
        ("", ""),
        (0, 0),
        (False, False),
        (set(), []),
        (2**70, 2**70),
        (1.5, 1.5),
        (datetime.datetime(2024, 1, 2, 3, 4, tzinfo=UTC), "2024-01-02T03:04:00+00:00"),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (datetime.time(3, 4), "03:04:00"),
        (datetime.timedelta(days=1, seconds=2, microseconds=500_000), "P1DT2.5S"),
        (datetime.timedelta(hours=-1), "-PT3600S"),
        (datetime.timedelta(0), "PT0S"),
        (datetime.timedelta(days=2), "P2D"),
        (decimal.Decimal("1.10"), "1.10"),
        (decimal.Decimal("1E+400"), "1E+400"),
        (fractions.Fraction(1, 3), "1/3"),
        (Colour.RED, "r"),
        (Weight.LIGHT, 1),
        (Text("x"), "x"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (ipaddress.ip_address("::1"), "::1"),
        (AnyUrl("https://a.example/x"), "https://a.example/x"),
        (SecretStr("hidden"), "**********"),
        (Day(datetime.date(2024, 1, 2)), {"when": "2024-01-02"}),
        (Model(a=1, day=datetime.date(2024, 1, 2), inner=Day(datetime.date(2024, 1, 3))),
         {"a": 1, "day": "2024-01-02", "inner": {"when": "2024-01-03"}}),
        (Point(1, 2), {"x": 1, "y": 2}),
        ({2, 1, 10}, [1, 2, 10]),
        (frozenset({"b", "a", 3}), [3, "a", "b"]),
        (range(3), [0, 1, 2]),
        (collections.deque([1]), [1]),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.items(), [["a", 1]]),
        ({3: 1, (1, 2): 2, None: 3, True: 4, 1.5: 5, Colour.RED: 6, datetime.date(2024, 1, 2): 7},
         {"3": 1, "(1, 2)": 2, "null": 3, "true": 4, "1.5": 5, "r": 6, "2024-01-02": 7}),
        ("\udc80", "\\udc80"),
        ("a\u2028b\x85\r\x00", "a\u2028b\x85\r\x00"),
    ],
)  # fmt: skip
def test_values_with_a_form(value: Any, plain: Any) -> None:
    assert json.loads(to_json(value)) == plain
    assert to_json(value) == to_json(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "returned nan; JSON"),
        ([1, {"a": float("inf")}], "inf at result[1].a"),
        (decimal.Decimal("NaN"), "decimal NaN"),
        (object(), "returned a object, which has no JSON form"),
        ({"r": Model}, "at result.r"),
        (len, "builtin"),
        ({1: "a", "1": "b"}, "two keys become the same text '1'"),
        ({object(): 1}, "key is a object"),
        ([10**5000], "digits"),
        (1 + 2j, "complex"),
        ((n for n in "ab"), "generator"),
    ],
)
def test_values_without_a_form(value: Any, message: str) -> None:
    with pytest.raises(NotJson) as raised:
        to_json(value)
    assert message in str(raised.value)
    assert " at 0x" not in str(raised.value)


def test_values_that_contain_themselves() -> None:
    endless: list[Any] = []
    endless.append(endless)
    looped: dict[str, Any] = {}
    looped["self"] = [looped]
    for value in (endless, looped):
        with pytest.raises(NotJson, match="does it contain itself"):
            to_json(value)


def test_an_endless_sequence_is_refused() -> None:
    with pytest.raises(NotJson, match="more than 1000000 values"):
        to_json(range(10**12))


def test_depth_has_a_control() -> None:
    deep: Any = 0
    for _ in range(90):
        deep = [deep]
    assert to_json(deep).count(b"[") == 90


@pytest.mark.parametrize("value", ["x" * 2000, ["x" * 10] * 200, b"x" * 2000, {"x" * 2000: 1}, list(range(2000))])
def test_size_is_capped(value: Any) -> None:
    with pytest.raises(NotJson, match="bytes"):
        to_json(value, limit=1000)
    assert to_json(value, limit=20_000)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\x00\x00\x00\x00WEBP", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
        ("é".encode(), "text/plain; charset=utf-8"),
        (b"", "text/plain; charset=utf-8"),
        (bytes(range(256)), "application/octet-stream"),
        (b"a\x00b", "application/octet-stream"),
    ],
)
def test_bytes_keep_their_content_and_media_type(data: bytes, kind: str) -> None:
    assert media_type(data) == kind
    for value in (data, bytearray(data), memoryview(data)):
        found = json.loads(to_json({"file": value}))["file"]
        assert found == {"$bytes": base64.b64encode(data).decode(), "media_type": kind}


def test_secrets_are_masked_in_keys_and_values() -> None:
    text = to_json({"hunter22": ["the hunter22 word"]}, mask=lambda t: t.replace("hunter22", "[secret]"))
    assert json.loads(text) == {"[secret]": ["the [secret] word"]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_json_values_come_back_as_they_were(value: Any) -> None:
    assert json.loads(to_json(value)) == value


@settings(deadline=None)
@given(st.from_type(object))
def test_any_value_becomes_json_or_not_json(value: Any) -> None:
    try:
        json.loads(to_json(value))
    except NotJson:
        pass


hostile_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**4_250, max_value=10**4_290)
    | st.floats()
    | st.text(st.characters())
    | st.text(st.characters(categories=["Cs"]), max_size=2)
    | st.binary(max_size=5)
    | st.decimals()
    | st.sampled_from([Colour.RED, Weight.LIGHT, Text("t"), Point(1, 2), Day(datetime.date(2026, 1, 2)), object()])
    | st.builds(Model, a=st.integers(0, 9), day=st.dates(), inner=st.builds(Day, when=st.dates())),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(0, 3) | st.sampled_from(["1", None, Weight.LIGHT]), inner)
        | st.sets(st.integers() | st.text())
        | st.lists(inner, max_size=3).map(collections.deque)
    ),
    max_leaves=12,
)


def outcome(value: Any, **options: Any) -> bytes | str:
    try:
        return to_json(value, **options)
    except NotJson as error:
        return str(error)


@settings(deadline=None, max_examples=400)
@given(hostile_values, st.sampled_from([1, 20, 200, 10**6]))
def test_what_is_written_at_once_is_what_a_walk_would_write(value: Any, limit: int) -> None:
    walked = outcome(value, limit=limit, mask=lambda text: text)
    assert outcome(value, limit=limit) == walked


@pytest.mark.parametrize("depth", [99, 100, 101, 102])
def test_both_ways_stop_at_the_same_depth(depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    assert outcome(value) == outcome(value, mask=lambda text: text)


def test_both_ways_count_the_same() -> None:
    for size in (999_998, 999_999, 1_000_000):
        value = [None] * size
        assert outcome(value) == outcome(value, mask=lambda text: text)
