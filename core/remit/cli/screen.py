"""What the command line writes: plain text that survives any terminal, colour only on one, JSON on request."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal, TextIO

Style = Literal["bold", "dim", "red", "green", "yellow", "blue"]

Cell = str | Sequence[str]
"""A cell of a table: one line, or several."""

CODES: Mapping[Style, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
}


def prepare() -> None:
    """Make standard output and error write any text without raising, whatever the locale's encoding."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def is_terminal(stream: TextIO) -> bool:
    """Say whether colour and moving text may go to `stream`."""
    try:
        return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    except ValueError:
        return False


def styled(text: str, style: Style, stream: TextIO | None = None) -> str:
    """Return `text` in a style where `stream` (standard output by default) is a terminal."""
    if not is_terminal(stream or sys.stdout):
        return text
    return f"\x1b[{CODES[style]}m{text}\x1b[0m"


def visible(text: str) -> str:
    """Return `text` with control, format and direction characters made visible; it may come from a pack."""
    return "".join(character if _harmless(character) else _escaped(character) for character in text)


def _harmless(character: str) -> bool:
    if character in "\n\t" or (character.isascii() and character.isprintable()):
        return True
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"


def say(text: str = "") -> None:
    """Write one line to standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def warn(text: str) -> None:
    """Write one line to standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def next_step(remedy: str) -> None:
    """Write to standard error what a person can do next; nothing when there is nothing to add."""
    if remedy:
        warn(next_lines(remedy))


def next_lines(remedy: str) -> str:
    """Return what a person can do next, whole: a line each, and after one that ends with a colon a block to copy.

    A line that begins with "then: " ends such a block: it helps only after what stands before it. One that begins with
    "or: " is another way.
    """
    lines: list[str] = []
    mark = "  next: "
    for line in visible(remedy).splitlines():
        if line.startswith(("then: ", "or: ")):
            mark = "  "
        lines.append(f"{mark}{line}".rstrip())
        block = line.endswith(":") or mark == " " * 8
        mark = " " * 8 if block else "   and: "
    return "\n".join(lines)


def error(message: str, remedy: str = "") -> None:
    """Write to standard error what went wrong, and what to do next."""
    warn(styled("error: ", "red", sys.stderr) + visible(message))
    next_step(remedy)


def say_json(value: Any) -> None:
    """Write `value` as indented JSON, in ASCII so that it passes through any terminal or pipe."""
    import json

    say(json.dumps(value, indent=2, ensure_ascii=True, default=str))


def width(text: str) -> int:
    """Return how many columns `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows under headings, aligned in columns, without trailing spaces.

    A cell of several lines makes its row as high; a line break inside a line becomes a space.
    """
    lines = [line for row in rows for line in _lines(row)]
    widths = [max(width(row[column]) for row in [list(headings), *lines]) for column in range(len(headings))]
    heading = _line(headings, widths)
    return "\n".join([styled(heading, "bold"), *(_line(row, widths) for row in lines)])


def _lines(row: Sequence[Cell]) -> Iterable[tuple[str, ...]]:
    cells = [[cell] if isinstance(cell, str) else cell for cell in row]
    plain = [[visible(line).replace("\n", " ") for line in cell] for cell in cells]
    return zip_longest(*plain, fillvalue="")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (size - width(cell)) for cell, size in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def columns(stream: TextIO) -> int:
    """Return how many columns a line of `stream` has; 0 when it is no terminal, and lines have no end."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return 0


def hanging(text: str, *, start: str = "", indent: int = 4, stream: TextIO | None = None, words: bool = True) -> str:
    """Return a text of somebody else so that no line but its first begins where our own lines begin.

    Its further lines, and on a terminal what does not fit into one, come after an indent and a mark: `  | `.

    Args:
        text: of a model, a pack or a person.
        start: what the first line begins with.
        indent: columns before what further lines say, at least as many as the mark has.
        stream: where it goes, standard output by default.
        words: break between words where that does.
    """
    from remit.pipeline.rows import hanging as lines

    return "\n".join(lines(visible(text), columns(stream or sys.stdout), start=start, indent=indent, words=words))


def clipped(text: str, columns: int) -> str:
    """Return `text` on one line of at most `columns` columns, with a mark where it was cut."""
    from remit.pipeline.rows import cells

    flat = " ".join(visible(text).split())
    if cells(flat) <= columns:
        return flat
    room = columns - 3
    for place, character in enumerate(flat):
        room -= cells(character)
        if room < 0:
            return flat[:place] + "..."
    return flat + "..."
