"""Numbers in the user's words: how much, which one, and of what."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from remit.provenance.phrases import words_in

_NUMBER = re.compile(
    r"(?<![\w.,'\u2019])[-+]?(?:\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3}){1,4}(?!\d)|\d{1,15})(?:[.,'\u2019]\d{1,15})*"
    r"(?![\w]|[.,'\u2019]\d)"
)
_AND = re.compile(r"\s(?:and|&)\s#?\d{1,7}")
_ENDED = (
    r"(?=[.!?:;,)]*(?:[\x00\n]|\Z)|[.!?:;,)]+\s"
    r"|\s(?:to|from|into|in|on|at|for|with|by|as|and|please|now|then|but)\b)"
)
"""What may follow a number that is not the number of something: in `no 7 times` it is."""

_ANNOUNCED = re.compile(
    r"(?:\b(?:id|number|no\.|no(?=\s*[:=])|nr|item|entry)\.?\s*[:=]?\s*|#\s*)(\d{1,7})\b"
    rf"|(?<!is )(?<!are )\bno\s(\d{{1,7}})\b{_ENDED}"
)
_ITEM = r"#?\d{1,7}"
_LIST = rf"{_ITEM}(?:,\s{_ITEM})*,?\s(?:and|&)\s{_ITEM}{_ENDED}"
"""`3, 4 and 5`, but not `mail 3 and 4 drafts`."""

_DIGITS = re.compile(r"\d+")
_POINTS = re.compile(r"[.,'\u2019]")

QUANTITIES = frozenset(("amount", "price", "sum", "total", "count", "quantity", "limit", "value", "size"))
"""Names of arguments that say how much rather than which one."""

_NO_KIND = frozenset(("id", "ids", "number", "numbers", "no", "nr", "key", "int", "value"))


def amounts(text: str) -> Iterator[float]:
    """Yield the numbers in `text` that can be read in one way only: `1.500` is one and a half, or a thousand more."""
    for match in _NUMBER.finditer(text):
        number = amount(match[0])
        if number is not None:
            yield number


def amount(text: str) -> float | None:
    """Return the number that is written, None where people of two countries would read two, or it is none."""
    if not re.fullmatch(r"[-+]?\d{1,15}(?:[.,'\u2019]\d{1,15})*", text):
        return None
    sign = -1.0 if text[0] == "-" else 1.0
    digits = text.lstrip("+-")
    whole, *parts = _POINTS.split(digits)
    marks = _POINTS.findall(digits)
    if not marks:
        return sign * float(whole)
    grouped = len(whole) <= 3 and whole[0] != "0"
    if len(marks) == 1:
        ambiguous = marks[0] not in ".," or (grouped and len(parts[0]) == 3)
        return None if ambiguous else sign * float(f"{whole}.{parts[0]}")
    last_alone = marks[-1] != marks[0] and marks[-1] in ".,"
    groups, fraction = (parts[:-1], parts[-1]) if last_alone else (parts, "0")
    if not grouped or len(set(marks[: len(groups)])) != 1 or any(len(group) != 3 for group in groups):
        return None
    return sign * float(f"{whole}{''.join(groups)}.{fraction}")


def announced(text: str) -> set[str]:
    """Return the numbers that `text` calls an id, a number or an item."""
    return {match[1] or match[2] for match in _ANNOUNCED.finditer(text.casefold())}


def whole_number(text: str) -> str | None:
    """Return the digits of the whole number that a text is, in whatever writing: `3`, `+3`, `3.0`, `3.`, `#3`.

    None where it is something else, a number below zero or one that people read in two ways.
    """
    plain = text.strip()
    if plain.isdigit():
        return plain
    words = words_in(plain)
    if len(words) == 1 and words[0].isdigit():
        return None if plain.startswith("-") else words[0]
    number = amount(plain)
    return str(int(number)) if number is not None and number >= 0 and number.is_integer() else None


def listed(said: str, of: Collection[str]) -> set[str]:
    """Return the numbers that stand in a list of several of something: `mails 3, 4 and 5`.

    Args:
        said: by the user, as written, folded; a zero sign ends each message.
        of: words of the argument's name.
    """
    if _AND.search(said) is None:
        return set()
    kinds = "|".join(re.escape(word.removesuffix("s") or word) for word in of if word not in _NO_KIND)
    found = re.finditer(rf"\b(?:{kinds})s?\s({_LIST})", said) if kinds else ()
    return {number for match in found for number in _DIGITS.findall(match[1])}


def counted(number: str, said: str, of: Collection[str], *, which: bool) -> bool:
    """Tell whether a number was said of something: `mail 3` of a mail, `10 minutes` of minutes, but not `3 mails`.

    What can say how many is said with a word between, too: `volume to 30`.

    Args:
        number: in digits.
        said: words of the user, one space around each.
        of: words of the argument's name.
        which: it can only say which one; else it may say how many, too.
    """
    beside = [(f" {number} {word} ", f" {word} to {number} ", f" {word} is {number} ") for word in of]
    if not which and any(form in said for ways in beside for form in ways):
        return True
    forms = {form for word in of if word not in _NO_KIND for form in (word, word.removesuffix("s"), f"{word}s")}
    return any(f" {word} {number} " in said for word in forms)
