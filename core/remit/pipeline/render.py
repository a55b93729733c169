"""Text from models and packs, shown so that nothing in it can pass for something else."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

_PLAIN = frozenset({"L", "N", "P", "S"})
_TROUBLE = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")

_RUNS = re.compile(r"[ -~]+|[^ -~]+")
_MARKS = 3
"""Combining marks that may follow one letter."""


def visible(text: str, *, lines: bool = False) -> str:
    """Return `text` with every character that does not show itself written as an escape.

    Letters, marks after letters, digits, punctuation, symbols and plain spaces stay; controls,
    direction marks, zero-width and other invisible characters become `\\u202e`. Nothing is cut.

    Args:
        text: anything.
        lines: keep line ends (and turn tabs into spaces).
    """
    out: list[str] = []
    marks = _MARKS
    for run in _RUNS.findall(text):
        if " " <= run[0] <= "~":
            out.append(run)
            marks = 0 if run[-1].isalnum() else _MARKS
            continue
        for letter in run:
            shown = _shown(letter, lines, may_mark=marks < _MARKS)
            marks = 0 if shown.isalnum() else marks + 1 if unicodedata.category(letter)[0] == "M" else _MARKS
            out.append(shown)
    return "".join(out)


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


def _shown(letter: str, lines: bool, *, may_mark: bool) -> str:
    if lines and letter in "\n\t":
        return "\n" if letter == "\n" else "    "
    category = unicodedata.category(letter)
    plain = category[0] in _PLAIN and letter not in _TROUBLE and not _tag(letter)
    mark = may_mark and category in ("Mn", "Mc") and letter not in _TROUBLE and not _selector(letter)
    return letter if plain or mark else escape(letter)


def _tag(letter: str) -> bool:
    return "\U000e0000" <= letter <= "\U000e0fff"


def _selector(letter: str) -> bool:
    return "\ufe00" <= letter <= "\ufe0f"


def escape(letter: str) -> str:
    """Return one character as an escape of JSON or Python: `\\n`, `\\u202e`."""
    number = ord(letter)
    if letter in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[letter]
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
