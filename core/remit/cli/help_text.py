"""The text of `--help`: examples stand as they were written, in lines that fit the terminal."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from remit.cli import screen

_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s])+""")


class Help(argparse.RawDescriptionHelpFormatter):
    """argparse's own, but on a terminal a line that is too long goes on in another one.

    A command goes on after a backslash, so that all of it can be copied.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        room = screen.columns(sys.stdout) - len(indent)
        lines = fitting(text.splitlines(), room) if room > 0 else text.splitlines()
        return "\n".join(indent + line for line in lines)


def fitting(lines: Sequence[str], room: int) -> Iterator[str]:
    """Yield the lines of a text as lines of at most `room` columns, as far as words and quoted texts allow that."""
    for kind, found in groupby(lines, key=lambda line: line[:1].strip() != ""):
        part = list(found)
        if not kind:
            yield from (piece for line in part for piece in _command(line, room))
        elif max(map(len, part)) > room:
            yield from textwrap.wrap(" ".join(part), room, break_long_words=False, break_on_hyphens=False)
        else:
            yield from part


def _command(line: str, room: int) -> Iterator[str]:
    if len(line) <= room:
        yield line
        return
    now = "  "
    for word in _WORD.findall(line):
        if now.strip() and len(now) + len(word) + 2 > room:
            yield f"{now.rstrip()} \\"
            now = "      "
        now += f"{word} "
    yield now.rstrip()
