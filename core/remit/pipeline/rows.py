"""Text laid out in rows whose left edge is ours: what a terminal breaks by itself goes on at the edge, where only our
own words may stand, so that padding could draw a row that nobody wrote.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from remit.pipeline.render import Table, escape

INDENT = 11
"""Columns before what a row says; labels have less, so that the column of the mark is free before every first line."""

CONTINUED = "| "
"""Begins every line that goes on with the one above it, before anything that is not ours."""

RIGHT_TO_LEFT = "rtl | "
"""Begins a line of right-to-left letters. Letters of ours come first, so that no terminal takes the line for one
that runs from right to left as a whole."""

_NARROWEST = 4
_CLASSES = {"R": "R", "AL": "R", "AN": "A", "NSM": "M", "WS": " "}
_APART = re.compile("R[RM]*(?: R[RM]*)*|A[AM]*")


def rows(name: str, texts: list[str], columns: int, *, words: bool = False) -> list[str]:
    """Return a row for each text, the first one after `name`.

    Args:
        name: a label of at most 9 characters.
        texts: of one line each, visible already.
        columns: of the terminal; 0 breaks nothing, and writes right-to-left letters as escapes.
        words: break between words where that does.
    """
    lines: list[str] = []
    for number, text in enumerate(texts or ["(none)"]):
        start = f"{name if number == 0 else '':<{INDENT}}"
        lines += hanging(text, columns, start=start, words=words, apart=True)
    return lines


def hanging(
    text: str, columns: int, *, start: str = "", indent: int = INDENT, words: bool = False, apart: bool = False
) -> list[str]:
    """Return a text as lines that fit: the first after `start`, every further one after an indent and a mark.

    Nothing is left out, but spaces where words are broken.

    Args:
        text: visible already; a line end in it begins a line with a mark, too.
        columns: of the terminal; 0 breaks nothing but what is broken already.
        start: what the first line begins with; a text of ours.
        indent: columns before what further lines say, at least as many as the mark has.
        words: break between words where that does.
        apart: give right-to-left letters and digits lines of their own, where they cannot change the order of
            anything else; without columns they are written as escapes.
    """
    lines: list[str] = []
    room = max(_NARROWEST, columns - indent)
    for line in text.replace("\t", "    ").split("\n"):
        for mark, part in _parts(line, columns) if apart else [(CONTINUED, line)]:
            taken = 0 if lines else max(0, cells(start) - indent)
            for piece in _fitting(part, room, words=words, taken=taken) if columns else [part]:
                before = f"{mark:>{indent}}" if lines else start
                lines += [before + piece] if lines else _first(before, piece, columns, indent)
    return lines


def cells(text: str) -> int:
    """Return how many columns a text takes at most, on whichever terminal.

    Terminals do not agree on symbols, on letters of ambiguous width, or on marks. Here each counts as the widest of
    them shows it: a line that is broken too early is still one that no terminal breaks.
    """
    return len(text) if text.isascii() else _taken(text.translate(_WIDTHS))


def _width(letter: str) -> str:
    """Return how a letter is counted: `1`, `2`, or as a mark, which stays with its letter: `m` for 1, `M` for 2."""
    kind, size = unicodedata.category(letter)[0], unicodedata.east_asian_width(letter)
    narrow = letter.isascii() or (size not in "WF" and (kind == "M" or (kind == "L" and size != "A")))
    return ("m" if narrow else "M") if kind == "M" else ("1" if narrow else "2")


_WIDTHS = Table(_width)


def _taken(widths: str) -> int:
    return len(widths) + widths.count("2") + widths.count("M")


def _first(start: str, piece: str, columns: int, indent: int) -> list[str]:
    """Return the first line; two, where what it begins with leaves too little room."""
    if not columns or cells(start) + cells(piece) <= columns:
        return [start + piece]
    room = max(_NARROWEST, columns - indent)
    fits, *more = _cut(piece, max(_NARROWEST, columns - cells(start)))
    return [start + fits, *(f"{CONTINUED:>{indent}}{rest}" for rest in _cut("".join(more), room))]


def _parts(line: str, columns: int) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line that may share one, each with the mark of its lines; the first runs left to right."""
    if line.isascii():
        yield CONTINUED, line
        return
    if not columns:
        yield CONTINUED, line.translate(_LEFT_TO_RIGHT)
        return
    kinds = line.translate(_DIRECTIONS)
    done = 0
    for start, end in (found.span() for found in _APART.finditer(kinds)):
        if start > done or not done:
            yield CONTINUED, line[done:start]
        yield RIGHT_TO_LEFT, line[start:end]
        done = end
    if done < len(line) or not done:
        yield CONTINUED, line[done:]


def _direction(letter: str) -> str:
    return _CLASSES.get(unicodedata.bidirectional(letter), "L")


def _left_to_right(letter: str) -> str:
    return escape(letter) if _DIRECTIONS[ord(letter)] in "RA" else letter


_DIRECTIONS, _LEFT_TO_RIGHT = Table(_direction), Table(_left_to_right)


def _fitting(text: str, room: int, *, words: bool, taken: int = 0) -> Iterator[str]:
    """Yield a text in pieces of at most `room` columns; of the first, `taken` are taken where words are broken."""
    if not words:
        yield from _cut(text, room)
        return
    import textwrap

    before = " " * min(taken, room - 1)
    lines = textwrap.wrap(text, room, initial_indent=before, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines or [before]):
        yield from _cut(line[len(before) :] if number == 0 else line, room)


def _cut(text: str, room: int) -> Iterator[str]:
    """Yield a text in pieces of at most `room` columns; marks stay with the letter that they belong to."""
    if text.isascii():
        yield from (text[at : at + room] for at in range(0, max(len(text), 1), room))
        return
    widths, start = text.translate(_WIDTHS), 0
    while True:
        window = widths[start : start + room]
        size, used = len(window), _taken(window)
        while used > room and size > 1:
            size -= 1
            used -= 2 if window[size] in "2M" else 1
        end = start + size
        if end >= len(text):
            yield text[start:]
            return
        if widths[end] in "mM":
            letter = max(widths.rfind("1", start + 1, end), widths.rfind("2", start + 1, end))
            end = letter if letter > start else end
        yield text[start:end]
        start = end
