"""What the command line writes: plain text that survives any terminal, colour only on one, JSON on request."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Literal, TextIO

from remit_sandbox.unseen import is_unseen

Style = Literal["bold", "dim", "red", "green", "yellow", "blue"]

Cell = str | Sequence[str]
"""A cell of a table: one line, or several."""

GAP = "  "
"""Between two columns of a table."""

NARROWEST = 9
"""Columns to which a column of a table is narrowed at most."""

_SPACED = re.compile(r"\S+\s*|\s+")
_WORD = re.compile(r"[^\s/._,:=-]*[\s/._,:=-]*")

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
    """Return `text` with everything that shows nothing of its own made visible; it may come from a pack.

    Line ends, tabs and spaces of any width stay, and one selector after a symbol, which says how that is drawn.
    """
    if text.isascii() and text.isprintable():
        return text
    pairs = zip((" ", *text), text, strict=False)
    return "".join(one if _harmless(one, before) else _escaped(one) for before, one in pairs)


def _harmless(character: str, before: str) -> bool:
    if character in "\n\t" or not is_unseen(character):
        return True
    return unicodedata.category(character) == "Zs" or (
        character in "\ufe0e\ufe0f" and unicodedata.category(before) == "So"
    )


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


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


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, whole: Collection[int] = ()) -> str:
    """Return rows under headings, aligned in columns, without trailing spaces.

    A cell of several lines makes its row as high; a line break inside a line becomes a space. Letters and digits that
    run from right to left are written as escapes: on a line of columns they would change the order of what is beside
    them, in a way that differs between terminals. Where standard output is a terminal, cells that do not fit into it
    are broken into more lines; nothing is cut.

    Args:
        headings: of the columns.
        rows: a cell for each column.
        whole: numbers of columns that are never broken: ids, which people copy.
    """
    plain = [[_plain(cell) for cell in row] for row in rows]
    widths = [
        max(width(line) for line in [headings[place], *(line for row in plain for line in row[place])])
        for place in range(len(headings))
    ]
    room = columns(sys.stdout)
    if room and _total(widths) > room:
        least = [NARROWEST if n not in whole else size for n, size in enumerate(widths)]
        for narrowest in (_whole_words(headings, plain, least, widths), least):
            widths = _narrowed(widths, narrowest, room)
        plain = [[_broken(cell, size) for cell, size in zip(row, widths, strict=True)] for row in plain]
    heads = zip_longest(*(_broken([one], size) for one, size in zip(headings, widths, strict=True)), fillvalue="")
    lines = [line for row in plain for line in zip_longest(*row, fillvalue="")]
    return "\n".join([*(styled(_line(one, widths), "bold") for one in heads), *(_line(one, widths) for one in lines)])


def _plain(cell: Cell) -> list[str]:
    return [_left_to_right(visible(line).replace("\n", " ")) for line in ([cell] if isinstance(cell, str) else cell)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Return widths that fit into a line, taken from the widest columns, none below its least."""
    found = list(widths)
    while _total(found) > room:
        wide = [place for place, size in enumerate(found) if size > least[place]]
        if not wide:
            break
        found[max(wide, key=lambda place: found[place])] -= 1
    return found


def _whole_words(
    headings: Sequence[str], rows: Sequence[Sequence[Sequence[str]]], least: Sequence[int], most: Sequence[int]
) -> list[int]:
    """Return how wide each column is at least where no word of it is broken: names and paths, which people copy."""
    found = []
    for place, size in enumerate(least):
        lines = [headings[place], *(line for row in rows for line in row[place])]
        longest = max((width(word) for line in lines for word in line.split()), default=0)
        found.append(min(max(size, longest), most[place]))
    return found


def _words(line: str, room: int) -> Iterator[str]:
    """Yield what of a line stays whole: what is between spaces, and where that is too long, between marks."""
    for word in _SPACED.findall(line):
        if width(word.rstrip()) <= room:
            yield word
        else:
            yield from _WORD.findall(word)


def _broken(cell: Sequence[str], room: int) -> list[str]:
    """Return the lines of a cell in pieces of at most `room` columns, broken after spaces and marks where that does."""
    lines: list[str] = []
    for line in cell:
        now = ""
        for word in _words(line, room) if width(line) > room else [line]:
            if now and width(now) + width(word.rstrip()) > room:
                lines.append(now.rstrip())
                now = ""
            now += word
            while width(now.rstrip()) > room:
                at = next(n for n in range(len(now), 0, -1) if n == 1 or width(now[:n]) <= room)
                lines.append(now[:at])
                now = now[at:]
        lines.append(now.rstrip())
    return lines


def _left_to_right(text: str) -> str:
    if text.isascii():
        return text
    return "".join(_escaped(one) if unicodedata.bidirectional(one) in ("R", "AL", "AN") else one for one in text)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (size - width(cell)) for cell, size in zip(cells, widths, strict=True))
    return GAP.join(padded).rstrip()


def counted(number: int, what: str) -> str:
    """Return `1 fact`, `2 facts`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


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


def say_whole(text: str) -> None:
    """Write a text of somebody else to standard output, nothing cut: an answer, a result.

    On a terminal no line but the first begins where our own lines begin: where it has several lines, or does not fit
    into one, they come after a mark, `| `. Into a pipe or a file it goes as it is.
    """
    say(hanging(text, indent=2) if columns(sys.stdout) else visible(text))


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
