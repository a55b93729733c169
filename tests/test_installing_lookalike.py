"""Names that look like others: pointed out, and ordinary names left alone."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.installing.lookalike import FIRST_PARTY, lookalike, plain_letters, strange_letters
from tests.packaging import ROOT

KNOWN = (*FIRST_PARTY, "acme-tide", "pydantic", "idna")


@pytest.mark.parametrize(
    ("name", "meant", "how"),
    [
        ("remit-clac", "remit-calc", "one letter differs"),
        ("remit-calcs", "remit-calc", "one letter differs"),
        ("remit-weahter", "remit-weather", "one letter differs"),
        ("remit-wheathr", "remit-weather", "2 letters differ"),
        ("remitcalc", "remit-calc", "the same letters with other separators"),
        ("re-mit-calc", "remit-calc", "the same letters with other separators"),
        ("calc-remit", "remit-calc", "the same words in another order"),
        ("rernit-files", "remit-files", "letters that look the same"),
        ("remit-fi1es", "remit-files", "letters that look the same"),
        ("tide-acme", "acme-tide", "the same words in another order"),
        ("pydantlc", "pydantic", "letters that look the same"),
        ("ldna", "idna", "letters that look the same"),
    ],
)
def test_look_alikes_are_found(name: str, meant: str, how: str) -> None:
    assert lookalike(name, KNOWN) == (meant, how)


@pytest.mark.parametrize(
    "name",
    [
        "remit-calc",
        "Remit_Calc",
        "remit.calc",
        "REMIT--CALC",
        "remit-mail",
        "tide",
        "numpy",
        "acme-moon",
        "remit-ebb",
        "r",
    ],
)
def test_others_are_left_alone(name: str) -> None:
    assert lookalike(name, KNOWN) is None


def test_letters_that_no_index_has_are_named() -> None:
    assert strange_letters("remit-calc") == ""
    assert strange_letters("rem\u0456t\u2010calc") == (
        "U+0456 cyrillic small letter byelorussian-ukrainian i, U+2010 hyphen"
    )
    assert plain_letters("r\u0435m\u0456t-\uff43alc") == "remit-calc"


@given(st.text(max_size=30), st.lists(st.text(max_size=12), max_size=4))
def test_any_text_is_judged(name: str, known: list[str]) -> None:
    found = lookalike(name, known)
    assert found is None or found[1]


def test_every_first_party_pack_is_known() -> None:
    names = {
        tomllib.loads(path.read_text("utf-8"))["project"]["name"] for path in ROOT.glob("plugins/*/pyproject.toml")
    }
    assert names <= set(FIRST_PARTY)
