"""Canonical JSON: the bytes of RFC 8785, and a form for what JSON cannot hold."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from remit_sandbox.canonical import canonical, digest

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | FLOATS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda k: not k.startswith("$")), inner),
    max_leaves=12,
)


@given(JSON)
def test_plain_data_has_the_bytes_of_the_rfc(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(JSON)
def test_reading_it_back_gives_equal_data(value: Any) -> None:
    assert json.loads(canonical(value), parse_int=float) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.0, -0.0, 1e-7, 1e21, 0.1]}, '{"a":[1,0,1e-7,1e+21,0.1],"b":1}'),
        (2**53, '{"$int":"9007199254740992"}'),
        (float(2**53), "9007199254740992"),
        (math.inf, '{"$float":"inf"}'),
        (Decimal("1.10"), '{"$decimal":"1.10"}'),
        ("\ud800", '{"$text":"\\\\ud800"}'),
        ({"$int": "1", "$$int": 2}, '{"$$$int":2,"$$int":"1"}'),
        ({1: "a"}, '{"int:1":"a"}'),
        ((1, {3, 2}), "[1,[2,3]]"),
        (object(), '{"$type":"object"}'),
    ],
)
def test_what_json_cannot_hold(value: Any, text: str) -> None:
    assert canonical(value).decode() == text


def test_it_never_raises() -> None:
    deep: Any = 0
    for _ in range(5_000):
        deep = {"a": [deep]}
    assert b"nested too deeply" in canonical(deep)
    assert canonical(10**100_000).startswith(b'{"$int":"0x')
    assert len(digest(b"bytes")) == 64


def test_data_cannot_pass_for_a_form_of_ours() -> None:
    assert digest(2**60) != digest({"$int": str(2**60)})
    assert digest({"$int": "1"}) != digest({"$$int": "1"})
