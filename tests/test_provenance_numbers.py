"""Values that stand in the user's words by accident, and numbers that can be read in two ways, are not named."""

from __future__ import annotations

from typing import Any

import pytest

from remit.provenance.judge import judge
from remit.provenance.ledger import Ledger
from remit.provenance.numbers import amount, amounts
from remit.provenance.words import Words
from remit.skills import Skill


def named(said: str, argument: str, value: Any, kind: str = "", skill: str = "do") -> bool:
    known = Ledger()
    known.hear(said)
    targets = {argument: kind} if kind else {}
    one = Skill(pack="p", name=skill, description="", schema={"type": "object"}, effect="write", targets=targets)
    return judge(one, {argument: value}, known, "targets").settled


@pytest.mark.parametrize(
    ("said", "control", "argument", "value"),
    [
        ("delete the 3 oldest", "delete number 3", "mail", 3),
        ("say no 7 times", "say it to no 7", "account_id", 7),
        ("say no 7 times", "say no. 7 out loud", "account_id", 7),
        ("there is no 7 in it, so delete it", "delete no 7 in the list", "entry", 7),
        ("delete the 3 mails", "delete mail 3", "mail", 3),
        ("delete the 3 mails", "delete the mail #3", "mail_id", "3"),
        ("in 10 hours", "in 10 minutes", "minutes", 10),
        ("call me in 5 minutes", "call 5", "call", 5),
        ("set the volume for 30 people", "set the volume to 30", "volume", 30),
        ("pay the 20 dollars", "pay from account 20", "account", 20),
        ("pay 1.500 EUR", "pay 1.5 EUR", "amount", 1.5),
        ("pay 1,500 USD", "pay 1,500.00 USD", "amount", 1500),
        ("pay 1 500", "pay 500", "amount", 500),
        ("pay 50", "take -50", "amount", -50.0),
    ],
)
def test_a_number_is_named_as_what_it_is(said: str, control: str, argument: str, value: Any) -> None:
    assert not named(said, argument, value)
    assert named(control, argument, value)


@pytest.mark.parametrize("kind", ["id", "account", "name"])
@pytest.mark.parametrize("value", [3, 3.0, "3"])
def test_what_says_which_one_is_no_amount(kind: str, value: Any) -> None:
    assert not named("delete the 3 oldest, and pay 3 dollars", "amount", value, kind)
    assert not named("it takes 3 days", "days", value, kind)
    assert named("delete item 3", "what", value, kind)


@pytest.mark.parametrize("value", ["3", "+3", "3.0", "3,00", "3.", "#3", '"3"', "3 ;", "+ 3"])
@pytest.mark.parametrize("kind", ["", "id", "name"])
def test_a_number_is_the_same_in_whatever_writing(kind: str, value: str) -> None:
    assert not named("delete the 3 oldest drafts", "mail", value, kind)
    assert named("delete mail 3", "mail", value, kind)


@pytest.mark.parametrize(
    ("said", "argument", "value"),
    [("pay 20 EUR", "amount", "20.00"), ("use version 3.0", "what", "3.0"), ("pay 12,5", "what", "12.5")],
)
def test_an_amount_in_text_and_a_fraction_as_it_stands_are_named(said: str, argument: str, value: str) -> None:
    assert named(said, argument, value)


@pytest.mark.parametrize(
    "said",
    [
        "Delete mails 3 and 4",
        "Delete mails 3 and 4.",
        "Move mail 3, 4 and 5 to the archive",
        "Move mail #3, #4, and #5, please",
        "Reply to mail 3 & 4 in my words",
    ],
)
@pytest.mark.parametrize("argument", ["mails", "mail_ids"])
def test_each_number_of_a_list_is_called_what_the_first_is(said: str, argument: str) -> None:
    assert named(said, argument, [3, 4])
    assert not named(said, argument, [3, 6])
    assert "#" in said or not named(said, "accounts", [3, 4])
    assert "#" in said or not named(said, "s", [3, 4])


@pytest.mark.parametrize(
    "said",
    [
        "Delete mail 3 and 4 drafts",
        "Send mail 3 and 4 EUR to Bob",
        "Send mail 3, 4 EUR to Bob",
        "Send mail 3 and 4.5 to Bob",
        "Send mail 3 and $4 to Bob",
        "Send mail 3 and 4% to Bob",
        "Send mail 3 and 4 times that",
        "Delete mail 3 or 4",
    ],
)
def test_what_only_follows_a_number_is_none_of_its_kind(said: str) -> None:
    assert named(said, "mail", 3)
    assert not named(said, "mail", 4)


@pytest.mark.parametrize("value", ["3*", "~3", "/3", "-3", "3/.", "(3)"])
def test_a_number_with_marks_that_lead_elsewhere_is_another_one(value: str) -> None:
    assert not named("delete mail 3", "mail", value)
    assert named("delete mail 3", "mail", "3.")


def test_what_a_skill_does_makes_no_number_one_of_a_thing() -> None:
    assert not named("delete 3 old mails", "number", 3, skill="delete_mail")
    assert named("delete number 3", "number", 3, skill="delete_mail")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("98.70", 98.7),
        ("12,5", 12.5),
        ("1,200.50", 1200.5),
        ("1.200,50", 1200.5),
        ("1,234,567", 1234567.0),
        ("1.234.567", 1234567.0),
        ("1'234'567.5", 1234567.5),
        ("0.125", 0.125),
        ("1234.567", 1234.567),
        ("-7", -7.0),
        ("1.500", None),
        ("1,500", None),
        ("3.4.5", None),
        ("1,23,456", None),
        ("1.2,3.4", None),
        ("x", None),
        ("", None),
    ],
)
def test_an_amount_is_what_everybody_reads(text: str, number: float | None) -> None:
    assert amount(text) == number
    if text:
        assert list(amounts(f"pay {text}.")) == ([] if number is None else [number])


def test_an_ambiguous_number_names_its_own_form() -> None:
    assert named("pay 1.500 EUR", "sum", "1.500")
    assert not named("pay 11.500 EUR", "sum", "1.500")
    assert not named("pay 1.5 EUR", "sum", "1.500")


@pytest.mark.parametrize(
    ("said", "control", "value"),
    [
        ("Hmm ... tidy up", "tidy up '..'", ".."),
        ("Hmm... tidy up", "tidy up `..`", ".."),
        ("read and / or tidy up", 'tidy up "/"', "/"),
        ("compute 2 * 3", "all that fits '*'", "*"),
        ("Tell Bob. Eve wrote", "Tell Bob, Eve", "Bob, Eve"),
        ("Tell Bob. Eve wrote", "Tell Bob Eve", "Bob Eve"),
        ("Tell Bob, Eve wrote", "Tell Bob Eve", "Bob Eve"),
        ("Tell Bob\nEve wrote", "Tell Bob Eve", "Bob Eve"),
        ("Tell Bob Eve", "Tell bob\neve", "Bob\nEve"),
        ("Tell Bob Eve", "Tell bob;eve", "Bob;Eve"),
        ("Delete my draft. Notes stay", "Delete draft.notes", "draft.notes"),
        ("Delete my draft. Notes stay", "Delete draft notes", "draft-notes"),
        ("Delete draft notes", "Delete draft?notes", "draft?notes"),
        ("Delete draft notes", "Delete draft[notes]", "draft[notes]"),
        ("Delete draft notes", "Delete {draft,notes}", "{draft,notes}"),
        ("Delete draft notes", "Delete draft$(notes)", "draft$(notes)"),
        ("Open the file notes.txt", "Open file:notes.txt", "file:notes.txt"),
        ("Tell bob the bcc eve thing", "Tell bob\nbcc: eve", "bob\nbcc: eve"),
        ("From 2026-01-02 mail bob about alice", "alice 2026-01-02 bob", "alice 2026-01-02 bob"),
        ("The path user home", "%user%home", "%user%home"),
    ],
)
def test_what_stands_there_by_accident_is_not_named(said: str, control: str, value: str) -> None:
    assert not named(said, "what", value)
    assert not named(said, "what", value, "path")
    assert named(control, "what", value)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("Open 'budget 2024', please.", "budget-2024"),
        ("Write to Dr. Smith.", "Dr. Smith"),
        ("Title: Lunch, then a walk", "Lunch, then a walk"),
        ("Remind me: are you coming?", "Are you coming?"),
        ("At 10:00 sharp", "10:00"),
        ("Call it 50% off", "50% off"),
        ("Ping #general!", "general"),
        ("Use it's fine", "it's fine"),
    ],
)
def test_what_the_user_wrote_is_named_as_ever(said: str, value: str) -> None:
    words = Words()
    words.hear(said)
    assert words.name(value)
