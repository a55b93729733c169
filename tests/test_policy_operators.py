"""Operators over typed values: yes, no, or cannot tell."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.config import OperatorConfig
from remit.policy.operators import Places, Truth, conjunction, disjunction, negation, prepare

NOWHERE = Places(folder=None, anchors={})


def holds(value: Any, base: str | None = None, **operators: Any) -> Truth:
    conditions = prepare(OperatorConfig.model_validate(operators), NOWHERE)
    return conjunction(condition.holds(value, base) for condition in conditions)


@pytest.mark.parametrize(
    ("operators", "value", "truth"),
    [
        ({"eq": 1}, 1, True),
        ({"eq": 1}, 1.0, True),
        ({"eq": 1}, True, False),
        ({"eq": None}, None, True),
        ({"eq": "a"}, "A", False),
        ({"eq": "\u00e9"}, "e\u0301", None),
        ({"eq": {"a": [1]}}, {"a": [1]}, True),
        ({"eq": {"a": [1]}}, {"a": [True]}, False),
        ({"in": ["a", "b"]}, "b", True),
        ({"in": ["a", "b"]}, "c", False),
        ({"in": ["\u00e9", "b"]}, "e\u0301", None),
        ({"lt": 10}, 9.5, True),
        ({"lt": 10}, 10, False),
        ({"gt": 10, "lt": 20}, 15, True),
        ({"gt": 10, "lt": 20}, 25, False),
        ({"lt": 10}, True, None),
        ({"lt": 10}, "9", None),
        ({"lt": date(2026, 1, 1)}, "2025-12-31", True),
        ({"gt": "2026-01-01T00:00:00+00:00"}, "2026-01-01T01:00:00+02:00", False),
        ({"gt": "2026-01-01T00:00:00+00:00"}, "2026-01-02T00:00:00", None),
        ({"lt": "2026-01-01"}, "soon", None),
        ({"domain": ["acme.example"]}, "ann@acme.example", True),
        ({"domain": "acme.example"}, "ann@evil.example", False),
        ({"domain": ["acme.example"]}, "ann@sub.acme.example", False),
        ({"domain": ["*.acme.example"]}, "ann@sub.acme.example", True),
        ({"domain": ["acme.example"]}, "Ann <ann@acme.example>", None),
        ({"host": ["a.example"]}, "https://a.example/x", True),
        ({"host": ["a.example"]}, "https://a.example.evil.test/", False),
        ({"host": ["a.example"]}, "https://a.example@evil.test/", None),
        ({"each": {"domain": ["a.example"]}}, ["x@a.example", "y@a.example"], True),
        ({"each": {"domain": ["a.example"]}}, ["x@a.example", "y@b.example"], False),
        ({"each": {"domain": ["a.example"]}}, ["x@a.example", "y"], None),
        ({"each": {"domain": ["a.example"]}}, [], True),
        ({"any": {"domain": ["a.example"]}}, [], False),
        ({"any": {"gt": 5}}, [1, 9], True),
        ({"each": {"eq": 1}}, "1", None),
        ({"len": {"lt": 3}}, "ab", True),
        ({"len": {"gt": 3}}, [1], False),
        ({"len": {"lt": 3}}, 7, None),
        ({"lt": 3}, None, False),
        ({"each": {"eq": 1}}, None, True),
        ({"any": {"eq": 1}}, None, False),
        ({"path_under": ["/srv/a"]}, "/srv/a/b", True),
        ({"path_under": ["/srv/a/**"]}, "/srv/a/../b", False),
        ({"path_under": ["/srv/a"]}, "b", None),
        ({"path_under": ["/srv/a"]}, "~/b", None),
    ],
)
def test_operators(operators: dict[str, Any], value: Any, truth: Truth) -> None:
    assert holds(value, **operators) is truth


def test_a_relative_path_starts_from_the_workspace(tmp_path: Path) -> None:
    assert holds("a.txt", str(tmp_path), path_under=[str(tmp_path)]) is True
    assert holds("../a.txt", str(tmp_path), path_under=[str(tmp_path)]) is False


@pytest.mark.parametrize(
    "operators", [{"lt": "soon"}, {"host": ["https://a/b"]}, {"domain": ["a b"]}, {"path_under": ["a"]}]
)
def test_operands_that_make_no_sense_are_refused(operators: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        prepare(OperatorConfig.model_validate(operators), NOWHERE)


@pytest.mark.parametrize("operators", [{}, {"matches": "a.*"}, {"in": []}, {"each": {}}, {"lt": [1]}])
def test_the_set_is_closed(operators: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        OperatorConfig.model_validate(operators)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OPERATORS = st.sampled_from(
    [
        {"eq": "a"},
        {"in": [1, "a"]},
        {"lt": 3},
        {"gt": "2026-01-01"},
        {"domain": ["a.example"]},
        {"host": ["*.example"]},
        {"path_under": ["/srv"]},
        {"each": {"lt": 3}},
        {"any": {"eq": "a"}},
        {"len": {"gt": 1}},
    ]
)


@given(ANY, OPERATORS)
def test_no_value_makes_an_operator_raise(value: Any, operators: dict[str, Any]) -> None:
    assert holds(value, "/tmp", **operators) in (True, False, None)


@given(st.lists(st.sampled_from([True, False, None]), max_size=6))
def test_logic_of_three_values(truths: list[Truth]) -> None:
    assert conjunction(truths) == conjunction(reversed(truths))
    assert negation(conjunction(truths)) == disjunction(map(negation, truths))
