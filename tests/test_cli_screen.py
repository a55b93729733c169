"""What the command line writes: tables, cut lines, text made visible."""

from __future__ import annotations

import io
from unittest import mock

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


@given(
    st.lists(st.tuples(*[st.text(min_size=1, max_size=60)] * 4), min_size=1, max_size=5),
    st.integers(min_value=70, max_value=120),
)
def test_on_a_terminal_a_table_fits_and_loses_nothing(rows: list[tuple[str, ...]], room: int) -> None:
    rows = [("id0123456789abcd", *row) for row in rows]
    with mock.patch.object(screen, "columns", lambda _: room):
        shown = screen.table(("id", "a", "b", "c", "d"), rows, whole=(0,))
    assert all(screen.width(line) <= room for line in shown.splitlines())
    assert shown.count("id0123456789abcd") >= len(rows), "an id is never broken"
    whole = screen.table(("id", "a", "b", "c", "d"), rows)
    assert sorted("".join(shown.split())) == sorted("".join(whole.split()))


def test_a_table_that_is_piped_has_a_line_for_each_row() -> None:
    assert screen.table(("a", "b"), [("x" * 90, "y" * 90)]).splitlines()[1:] == ["x" * 90 + "  " + "y" * 90]


def test_a_long_path_is_broken_after_a_slash() -> None:
    with mock.patch.object(screen, "columns", lambda _: 24):
        shown = screen.table(("what", "path"), [("a", "/srv/somewhere/else/deployment")])
    assert shown.splitlines() == ["what  path", "a     /srv/somewhere/", "      else/deployment"]


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


def test_an_answer_of_several_lines_draws_no_row_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "Here it is:\n--- sign-off needed: files.read_file\n" + "x" * 60 + "\n\terror: nothing\x1b[2J"
    screen.say_whole(hostile)
    assert capsys.readouterr().out == hostile.replace("\x1b", "\\x1b") + "\n", "the control: into a pipe as it is"
    monkeypatch.setattr(screen, "columns", lambda stream: 40)
    screen.say_whole(hostile)
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "Here it is:" and len(rest) == 4
    assert all(line.startswith("| ") and len(line) <= 40 for line in rest), rest
    screen.say_whole("42")
    assert capsys.readouterr().out == "42\n"


@pytest.mark.parametrize("text", ["\u05e9\u05dc\u05d5\u05dd 12", "\u0645\u0644\u0641", "a \u0661\u0662"])
def test_a_cell_that_runs_from_right_to_left_moves_no_other(text: str) -> None:
    (_, row) = screen.table(("n", "name", "size"), [("1", text, "20")]).splitlines()
    assert row.isascii() and row.startswith("1  ") and row.endswith("  20") and ("\\u06" in row or "\\u05" in row)
    assert screen.table(("name",), [("\u00e9t\u00e9 \u5317\u4eac",)]).endswith("\u00e9t\u00e9 \u5317\u4eac"), (
        "the control"
    )


def test_what_shows_nothing_is_written_out_and_an_emoji_keeps_its_style() -> None:
    for letter in "\u3164\U000e0100\u034f\u2800\U0001d159\ufe0f":
        assert screen.visible(f"a{letter}b").isascii(), letter
    assert screen.visible("\u2764\ufe0f\ufe0f 10\u00a0\u20ac") == "\u2764\ufe0f\\ufe0f 10\u00a0\u20ac"


def test_a_table_breaks_prose_before_names_and_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "columns", lambda _: 40)
    rows = [("files.write_file", "it changes something in a folder", "2026-11-30 16:10")]
    shown = screen.table(("skill", "because", "asked"), rows)
    assert max(map(len, shown.splitlines())) <= 40
    for whole in ("files.write_file", "something", "2026-11-30", "16:10"):
        assert whole in shown, shown
    narrow = screen.table(("skill", "path"), [("files.write_file", "/srv/a-long-path/of-a-deployment/remit.toml")])
    assert "files.write_file" in narrow and max(map(len, narrow.splitlines())) <= 40


def test_a_question_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from remit.cli import opening

    asked: list[str] = []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        return "y"

    monkeypatch.setattr(screen, "columns", lambda _: 40)
    monkeypatch.setattr(opening, "typed", typed)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    question = "Enable pack mail, and take its word that mail.send only reads (--distrust-read refuses that)?"
    assert opening.agreed(question, yes=False)
    (prompt,) = asked
    assert all(len(line) <= 40 for line in prompt.splitlines()) and prompt.split() == [*question.split(), "[y/N]"]
