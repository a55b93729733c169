"""Text from models and packs, shown so that nothing in it can pass for something else."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from remit_sandbox.unseen import is_unseen

_MARKS = 3
"""Combining marks that may follow one letter."""

_MOST_LETTERS = 10_000
_LINES = {ord("\n"): "\n", ord("\t"): "    "}

_TOO_MANY = re.compile(f"(?<![am])m+|(?<={'m' * _MARKS})m+")
"""Marks that follow no letter or digit, and those that too many others stand before; over kinds, see `_kind`."""


def visible(text: str, *, lines: bool = False) -> str:
    """Return `text` with every character that does not show itself written as an escape.

    Letters, marks after letters, digits, punctuation, symbols and plain spaces stay; controls,
    direction marks, zero-width, blank and other invisible characters become `\\u202e`. Nothing is cut.

    Args:
        text: anything.
        lines: keep line ends (and turn tabs into spaces).
    """
    if text.isascii() and text.isprintable():
        return text
    shown, letters = Table(_shown, _LINES if lines else None), set(text)
    found = _TOO_MANY.finditer(text.translate(_KINDS)) if any(map(_is_mark, letters)) else ()
    out, done = list[str](), 0
    for start, end in (one.span() for one in found):
        out += [text[done:start].translate(shown), *map(escape, text[start:end])]
        done = end
    if not done and all(shown[ord(letter)] == letter for letter in letters):
        return text
    return "".join((*out, text[done:].translate(shown)))


def visible_json(value: Any) -> str:
    """Return a JSON value as text of one or more lines in which everything is visible."""
    if isinstance(value, str):
        return '"' + visible(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'
    return visible(json.dumps(value, ensure_ascii=False, default=str), lines=False)


def visible_arguments(arguments: Mapping[str, Any], secret: frozenset[str] = frozenset()) -> list[str]:
    """Return one line an argument, in their order, nothing cut; long texts stay whole."""
    return [
        f"{visible(name)} = {'(secret)' if name in secret else visible_json(value)}"
        for name, value in arguments.items()
    ]


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "M"


class Table(dict[int, str]):
    """Code point to what stands for it, for `str.translate`; filled as texts need it, and never large."""

    def __init__(self, of: Callable[[str], str], known: Mapping[int, str] | None = None) -> None:
        """Take the function that says what stands for a letter, and what is known already."""
        super().__init__(known or {})
        self._of = of

    def __missing__(self, number: int) -> str:
        found = self._of(chr(number))
        if len(self) < _MOST_LETTERS:
            self[number] = found
        return found


def _shown(letter: str) -> str:
    return escape(letter) if is_unseen(letter) else letter


def _kind(letter: str) -> str:
    """Return `m` for a mark, `a` for a letter or digit that shows, `x` for anything else."""
    return "m" if _is_mark(letter) else "a" if letter.isalnum() and not is_unseen(letter) else "x"


def escape(letter: str) -> str:
    """Return one character as an escape of JSON or Python: `\\n`, `\\u202e`."""
    number = ord(letter)
    if letter in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[letter]
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


_KINDS = Table(_kind)
