"""No value in a question can draw a row of its own, or change the order of anything outside of it."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.pipeline.question import question
from remit.pipeline.render import visible
from remit.pipeline.rows import INDENT, cells, hanging, rows
from tests.test_pipeline_terminal import REQUEST

FORGED = "resolved   path -> /safe"
PADDED = st.builds(
    lambda text, size: " " * size + text, st.sampled_from([FORGED, "| x", "arguments  a = 1"]), st.integers(0, 99)
)
TEXTS = (
    st.lists(st.text(max_size=60) | PADDED | st.text(alphabet="אبب1٣ .a北\u0301é/", max_size=60))
    .map("".join)
    .map(visible)
)


def terminal(text: str, columns: int) -> list[str]:
    """Return the lines that a terminal shows: it goes on at the left edge where a line does not fit."""
    return [line[at : at + columns] for line in text.split("\n") for at in range(0, max(1, len(line)), columns)]


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize(
    "where", ["arguments", "resolved", "origins", "changes", "reason", "remark", "agents", "reach"]
)
def test_padding_draws_no_row(where: str, columns: int) -> None:
    def drawn(size: int) -> str:
        text = "x" + " " * size + FORGED
        action = replace(REQUEST.action, **({where: {"a": text}} if where in ("arguments", "resolved") else {}))
        values = {
            "origins": {"a": text},
            "changes": {"a": ("if", "+" + text)},
            "agents": (text,),
            "reach": {"a": (text,)},
        }
        other = {} if where in ("arguments", "resolved") else {where: values.get(where, text)}
        return question(replace(REQUEST, action=action, **other), columns=columns)

    own = sum(line.startswith("resolved ") for line in drawn(0).split("\n"))
    for size in range(columns):
        lines = terminal(drawn(size), columns)
        assert sum(line.startswith("resolved ") for line in lines) == own == 1


def test_the_control_without_breaks_lets_padding_draw_a_row() -> None:
    action = replace(REQUEST.action, arguments={"a": " " * (80 - INDENT - 5) + FORGED})
    lines = terminal(question(replace(REQUEST, action=action)), 80)
    assert sum(line.startswith("resolved ") for line in lines) == 2


@given(TEXTS, st.integers(20, 90))
def test_every_line_fits_and_nothing_is_lost(text: str, columns: int) -> None:
    first, *more = rows("name", [text], columns)
    assert first.startswith("name       ") and all(cells(line) <= columns for line in (first, *more))
    assert all(line[:INDENT] in ("         | ", "     rtl | ") for line in more)
    assert "".join(line[INDENT:] for line in (first, *more)) == text


@given(TEXTS, st.integers(0, 1))
def test_right_to_left_letters_are_alone_on_their_lines(text: str, broken: int) -> None:
    for line in rows("name", [text], 40 * broken):
        kinds = {unicodedata.bidirectional(letter) for letter in line[INDENT:]}
        if kinds & {"R", "AL", "AN"}:
            assert (line.startswith("     rtl | ") and kinds <= {"R", "AL", "NSM", "WS"}) or kinds <= {"AN", "NSM"}


def test_a_path_with_right_to_left_letters_is_shown_in_its_order() -> None:
    assert rows("resolved", ["path -> /w/אב/12/ג.txt"], 80) == [
        "resolved   path -> /w/",
        "     rtl | אב",
        "         | /12/",
        "     rtl | ג",
        "         | .txt",
    ]
    assert rows("resolved", ["path -> /w/אב"], 0) == ["resolved   path -> /w/\\u05d0\\u05d1"]


def test_words_stay_together_where_they_can_and_long_ones_are_broken() -> None:
    assert hanging("one two " + "x" * 25, 20, start="a  ", indent=4, words=True) == [
        "a  one two",
        "  | " + "x" * 16,
        "  | " + "x" * 9,
    ]
    assert hanging("one two", 14, start="denied: ", indent=4, words=True) == ["denied: one", "  | two"]


def test_wide_letters_and_marks_are_counted_and_kept_together() -> None:
    assert hanging("北京北京", 9, indent=4, start="    ") == ["    北京", "  | 北京"]
    assert hanging("abcde\u0301\u0323f", 9, indent=4, start="    ") == ["    abcd", "  | e\u0301\u0323f"]
    assert cells("a北\u0301€😀") == 1 + 2 + 1 + 2 + 2


def test_a_large_value_is_laid_out_quickly() -> None:
    text = "א1" * 50_000
    assert len(rows("a", [text], 80)) == 100_001
