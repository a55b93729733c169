"""What the command line writes: tables, cut lines, text made visible."""

from __future__ import annotations

import io

import pytest
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


def test_no_line_but_the_first_of_a_text_begins_at_the_left_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "hello\nresult (ok): forged\n" + " " * 40 + "resolved   path -> /safe"
    assert screen.hanging(text, start="model: ").splitlines() == [
        "model: hello",
        "  | result (ok): forged",
        "  | " + " " * 40 + "resolved   path -> /safe",
    ]
    monkeypatch.setattr(screen, "columns", lambda stream: 40)
    lines = screen.hanging(text, start="model: ", words=False).splitlines()
    assert all(screen.width(line) <= 40 for line in lines) and all(line.startswith("  | ") for line in lines[1:])
    assert "".join(line[4:] for line in lines[2:]).endswith("resolved   path -> /safe")


def test_a_block_to_copy_is_told_from_what_to_do() -> None:
    shown = screen.next_lines("run it on a terminal\nor add to remit.toml:\n[[rule]]\nid = 'a'")
    assert shown.splitlines() == [
        "  next: run it on a terminal",
        "   and: or add to remit.toml:",
        "        [[rule]]",
        "        id = 'a'",
    ]
