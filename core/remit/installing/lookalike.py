"""Points out names of distributions that look like another one, before anything is fetched."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from remit.packs.folding import fold

FIRST_PARTY = (
    "remit-anthropic",
    "remit-calc",
    "remit-clock",
    "remit-files",
    "remit-google",
    "remit-memory",
    "remit-python",
    "remit-weather",
    "remit-web",
)
"""Distributions that Remit's own authors publish."""

_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s", "3": "e", "4": "a", "8": "b"})
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))
_LETTERS = dict(
    zip("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u03bf\u03b9\u03bd\u03c1\u0131\u0261",
        "aeopcyxijsdqoivpig", strict=True)
)  # fmt: skip
_SHORT = 7
"""Letters of the words that differ below which only one slip makes two names alike; from here on two do."""


def lookalike(name: str, known: Iterable[str]) -> tuple[str, str] | None:
    """Return the known name that `name` could be mistaken for, and in what way; None for no such name.

    A name that is known itself, in any spelling that means the same, is never a look-alike.

    Args:
        name: a distribution's name as a person wrote it.
        known: names of distributions that are installed, locked or first-party.
    """
    folded = fold(name)
    names = sorted({fold(one) for one in known})
    if folded in names:
        return None
    found = [(slips, one, how) for one in names for slips, how in _likeness(folded, one)]
    return min(found)[1:] if found else None


def strange_letters(name: str) -> str:
    """Return in words which letters of a name are not ASCII, empty when all are: no index has such names."""
    strange = [char for char in dict.fromkeys(name) if not (char.isascii() and char.isprintable())]
    return ", ".join(f"U+{ord(char):04X} {unicodedata.name(char, 'unnamed').lower()}" for char in strange)


def plain_letters(name: str) -> str:
    """Return a name with letters that only look like ASCII put right, as well as that is known."""
    decomposed = unicodedata.normalize("NFKD", name.lower())
    return "".join(_LETTERS.get(char, char) for char in decomposed if not unicodedata.combining(char))


def _likeness(name: str, known: str) -> Iterator[tuple[int, str]]:
    """Yield how many slips, and in words which, lead from one folded name to another that it is like."""
    parts, others = _distinct(name.split("-"), known.split("-"))
    if "".join(parts) == "".join(others):
        yield 0, "the same letters with other separators"
    elif sorted(parts) == sorted(others):
        yield 0, "the same words in another order"
    elif _shape("".join(parts)) == _shape("".join(others)):
        yield 0, "letters that look the same"
    else:
        mine, other = "-".join(parts), "-".join(others)
        slips = _slips(mine, other, most=2 if min(len(mine), len(other)) >= _SHORT else 1)
        if slips:
            yield slips, "one letter differs" if slips == 1 else f"{slips} letters differ"


def _distinct(parts: list[str], others: list[str]) -> tuple[list[str], list[str]]:
    """Drop the words that both names begin with, such as `remit`: they make nothing alike."""
    shared = 0
    while shared < min(len(parts), len(others)) - 1 and parts[shared] == others[shared]:
        shared += 1
    return parts[shared:], others[shared:]


def _shape(name: str) -> str:
    shape = name
    for pair, single in _PAIRS:
        shape = shape.replace(pair, single)
    return shape.translate(_ALIKE)


def _slips(one: str, other: str, *, most: int) -> int:
    """Return how many insertions, omissions, substitutions and swaps of neighbours lead from one to the other.

    0 when there are more than `most` (optimal string alignment distance).
    """
    if abs(len(one) - len(other)) > most:
        return 0
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, char in enumerate(one, start=1):
        before, last, row = row, before, [i]
        for j, letter in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (char != letter))
            if i > 1 and j > 1 and char == other[j - 2] and one[i - 2] == letter:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1] if row[-1] <= most else 0
