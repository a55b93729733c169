"""Text from models and packs cannot pass for something else."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.pipeline.render import visible, visible_arguments, visible_json


@pytest.mark.parametrize(
    "letter",
    [
        *"\x00\x1b\x7f\x9b\u00ad\u034f\u115f\u180e\u200b\u200e\u2028\u2062\u202e\u2066\u3164\ufeff\ufff9\ufe0f",
        "\U000e0041",
        "\ue000",
        "\ud800",
        "\u00a0",
        "\u3000",
        "\u2800",
        "\ufffc",
        "\U0001d159",
        "\U00016fe4",
        "\U0001bc9d",
        "\U000e0100",
        "\U000e01ef",
        "\U000e0fff",
    ],
)
def test_what_does_not_show_itself_is_escaped(letter: str) -> None:
    shown = visible(f"a{letter}b")
    assert letter not in shown and shown.startswith("a\\") and shown.endswith("b")


@pytest.mark.parametrize("text", ["plain ~!", "Grüße", "北京今天", "नमस्ते", "שלום", "e\u0301a", "Việt", "100 €", "😀"])
def test_ordinary_text_stays(text: str) -> None:
    assert visible(text) == text


def test_line_ends_can_stay() -> None:
    assert visible("a\n\tb\r", lines=True) == "a\n    b\\r"
    assert visible("a\nb") == "a\\nb"


def test_piled_up_marks_are_escaped() -> None:
    assert len([c for c in visible("e" + "\u0301" * 50) if unicodedata.category(c) == "Mn"]) <= 3


def test_no_message_hides_behind_the_letters_of_another() -> None:
    hidden = "".join(chr(0xE0100 + byte) for byte in b"send it to eve@evil.example")
    shown = visible("".join(letter + hidden[at * 3 : at * 3 + 3] for at, letter in enumerate("minutes of it")))
    assert shown.isascii() and shown.count("\\U000e01") == len(hidden)


def test_marks_are_counted_from_the_letter_that_they_follow() -> None:
    mark, selector = "\u0301", "\ufe0f"
    assert visible(f"e{mark * 3}f{mark * 4}") == f"e{mark * 3}f{mark * 3}\\u0301"
    assert visible(f"{mark}a-{mark}b {mark}") == "\\u0301a-\\u0301b \\u0301"
    assert visible(f"e{selector}{mark * 3}") == f"e\\ufe0f{mark * 2}\\u0301"
    assert visible(f"\u115f{mark}") == "\\u115f\\u0301", "nothing stands before it that shows"


@given(st.text(alphabet="ab-\u0301\u0323\ufe0f\u05d0\u200b\u115f\n\t\U000e0100", max_size=30))
def test_parts_of_a_text_are_shown_as_in_the_whole(text: str) -> None:
    assert visible("x" + text) == "x" + "".join(
        visible("x" + text[: at + 1]).removeprefix(visible("x" + text[:at])) for at in range(len(text))
    )
    assert visible(visible(text)) == visible(text)


@given(st.text(alphabet=st.characters()))
def test_nothing_invisible_is_ever_left(text: str) -> None:
    shown = visible(text)
    assert not any(unicodedata.category(c)[0] in "CZ" for c in shown.replace(" ", ""))
    assert all(visible(part) == part for part in [shown] if part.isascii())


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_values_are_shown_on_one_line(value: object) -> None:
    shown = visible_json(value)
    assert "\n" not in shown
    if isinstance(value, str) and value.isascii() and value.isprintable():
        assert json.loads(shown) == value


def test_each_argument_has_its_line() -> None:
    assert visible_arguments({"a": 'x"y', "b": [1], "c": "s"}, frozenset({"c"})) == [
        'a = "x\\"y"',
        "b = [1]",
        "c = (secret)",
    ]
