"""Names that could be one person's, and characters that show nothing."""

from __future__ import annotations

import sys
import unicodedata
from itertools import combinations

import pytest

from remit.errors import UsageError
from remit.http.identity import as_identity
from remit.state.store import State
from remit_sandbox.names import same_person
from remit_sandbox.signoff import Asked, SignoffDecision, answered
from remit_sandbox.unseen import is_unseen

ALIKE = (
    "Ada",
    " ada ",
    "ADA",
    "\uff21\uff44\uff41",
    "ada\ufe0f",
    "a\u034fda",
    "ad\U000e0101a",
    "\u0430d\u0430",
    "\u0391da",
    "\u1d00\u1d05\u1d00",
    "\u13aada",
    "A\u0501a",
)


@pytest.mark.parametrize("other", ALIKE)
def test_a_name_that_looks_like_another_is_the_same_persons(other: str) -> None:
    assert same_person("ada", other) and same_person(other, "ada")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Bi1l", "Bill"), ("AI", "ai"), ("Alan", "AIan"), ("b0b", "bob"), ("\u041d\u0410\u041d\u0410", "HAHA")],
)
def test_digits_and_capitals_are_told_apart_by_no_eye(one: str, other: str) -> None:
    assert same_person(one, other)


def test_people_with_names_of_their_own_are_different_people() -> None:
    names = (
        "Ada",
        "Bob",
        "Neil",
        "Nell",
        "Ann",
        "Anna",
        "Ad\u00e1",
        "\u0418\u0432\u0430\u043d",
        "\u0410\u043d\u043d\u0430",
        "\u5f20\u4f1f",
        "",
    )
    pairs = [pair for pair in combinations(names, 2) if same_person(*pair)]
    assert pairs == []


def test_two_approvals_under_names_that_look_alike_are_one_persons() -> None:
    asked = Asked(digest="d", principal="ada", expires=10.0, approvers=2)

    def approve(before: Asked, by: str) -> tuple[Asked, str]:
        return answered(before, SignoffDecision(answer="once", digest="d", by=by), now=1.0)

    assert "is the one for whom it is done" in approve(asked, "ada\ufe0f")[1]
    once, _ = approve(asked, "bob")
    assert "another person must approve it" in approve(once, "b\u043eb")[1]
    assert approve(once, "grace")[0].state == "approved", "the control"


@pytest.mark.parametrize("name", ["root\ufe0f", "ro\u034fot", "\u3164", "a\u00a0b", "a\u200bb", "\U0001d159"])
def test_a_name_with_what_does_not_show_is_none(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    with State(tmp_path_factory.mktemp("state")) as state:
        with pytest.raises(UsageError, match="is no name"):
            state.add_token(name, by="ann")
        assert state.tokens() == () and state.add_token("Zo\u00eb B", by="ann")
    with pytest.raises(ValueError, match="is no name"):
        as_identity(name)
    assert as_identity("Zo\u00eb B") is not None


def test_whatever_unicode_says_shows_nothing_is_unseen() -> None:
    names = ("VARIATION SELECTOR", "FILLER", "BRAILLE PATTERN BLANK", "NULL NOTEHEAD", "OBJECT REPLACEMENT")
    for number in range(sys.maxunicode + 1):
        letter = chr(number)
        category, name = unicodedata.category(letter), ""
        if category[0] in "MLS":
            name = unicodedata.name(letter, "")
        unseen = category[0] == "C" or (category[0] == "Z" and letter != " ") or any(word in name for word in names)
        assert not unseen or is_unseen(letter), hex(number)
    assert [one for one in "a1.$\u00e9\u0301\u5317\u05d0\U0001f600 " if is_unseen(one)] == [], "the control"
