"""What the command line writes: tables, cut lines, text made visible."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from remit.cli import screen


def test_columns_are_aligned_also_with_wide_characters() -> None:
    shown = screen.table(("pack", "what"), [("北京", "a"), ("ab", "b")])
    assert shown.splitlines() == ["pack  what", "北京  a", "ab    b"]


def test_a_cell_may_have_several_lines() -> None:
    shown = screen.table(("a", "b", "c"), [(["1", "2"], "x", ["3", "4", "5"]), ("6", [], "7")])
    assert shown.splitlines() == ["a  b  c", "1  x  3", "2     4", "      5", "6     7"]


def test_a_cell_cannot_break_out_of_its_row() -> None:
    assert screen.table(("a", "b"), [("x\ny", "\x1b[2Jz")]).splitlines()[1:] == ["x y  \\x1b[2Jz"]


@given(st.text(), st.integers(min_value=3, max_value=80))
def test_cut_lines_fit_and_are_one_line(text: str, columns: int) -> None:
    cut = screen.clipped(text, columns)
    assert screen.width(cut) <= columns
    assert "\n" not in cut


@given(st.text())
def test_visible_text_moves_nothing_on_a_terminal(text: str) -> None:
    shown = screen.visible(text)
    assert not any(ord(c) < 32 and c not in "\n\t" for c in shown)
    assert not set("\u202e\u200b\u2066\ufeff\x7f\x9b") & set(shown)


def test_ordinary_text_stays_as_it_is() -> None:
    assert screen.visible("Grüße, 北京 🌧\n\tx") == "Grüße, 北京 🌧\n\tx"


def test_a_remedy_of_several_lines_is_whole_and_indented() -> None:
    assert screen.next_lines("add:\n[[rule]]\nid = 1") == "  next: add:\n        [[rule]]\n        id = 1"


def test_a_stream_that_is_no_terminal_gets_no_colour() -> None:
    assert screen.styled("x", "red", io.StringIO()) == "x"


def test_prose_is_broken_between_words_only() -> None:
    text = "because    default write: it changes something in the deployment's folders"
    lines = screen.wrapped(text, 40, indent=11).splitlines()
    assert all(screen.width(line) <= 40 for line in lines)
    assert " ".join(line.strip() for line in lines) == text
    assert all(line.startswith(" " * 11) for line in lines[1:])
    assert screen.wrapped(text, 0) == text


def test_a_block_to_copy_is_told_from_what_to_do() -> None:
    shown = screen.next_lines("run it on a terminal\nor add to remit.toml:\n[[rule]]\nid = 'a'")
    assert shown.splitlines() == [
        "  next: run it on a terminal",
        "   and: or add to remit.toml:",
        "        [[rule]]",
        "        id = 'a'",
    ]
