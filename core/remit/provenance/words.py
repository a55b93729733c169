"""The user's own words, and whether they name a value.

Matching is typed: an address is compared with addresses, a URL with URLs, a number with numbers, a date with
dates, a name word by word. A short value inside another word is no match.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from remit.provenance.dates import DATES, Date, certain_dates, dates, same_day
from remit.provenance.hosts import Place, host_meant, place_of
from remit.provenance.identifiers import Identifier, identifier, identifiers
from remit.provenance.numbers import QUANTITIES, amount, amounts, announced, counted, listed, whole_number
from remit.provenance.phrases import folded, letters_of, phrase_of, phrases_of, words_in

MOST_WORDS = 40
"""Words from which a value is a text rather than a name."""

LONGEST_HEARD = 100_000
"""Characters of one message that are looked at; nobody types more."""

LONGEST = 2_200
"""Characters from which a value is a text rather than a name or URL."""

_AFTER_EXACT = r"(?![\w\\@*~-]|[/.][^\s\x00)])"
_EXTENSION = re.compile(r"\.[^\W_]{1,5}\Z")
_FRACTION = re.compile(r"[-+]?\d{1,15}(?:[.,]\d{1,15})+|-\d{1,15}")
_POINTED = re.compile(r"\d{1,15}[.,]\d{1,15}")
_TIME = re.compile(
    r"[\sT,]*(?:(?<!\d)\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:\s?[ap]m|Z|[+-]\d{2}:?\d{2})?)?\s*", re.IGNORECASE
)
"""What may stand beside a date without a word of the user's: the time of day."""

_EXACT = re.compile(
    r"[/\\*`|<>&\[\]{}()=\x00-\x1f]|;(?=\S)|\?(?=\S)|[$%](?=[\w(])|:(?=[^\s\d])|(?<!^)@|\.\.|^[~.$-]|~$"
)
"""Marks of a value that leads elsewhere than its words say: of a path, a pattern, a command, a list of several."""

_QUOTES: Final = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"


def _way(path: str) -> str:
    """Return a path without what leads nowhere: `./` before it, `/` after it."""
    return path.removeprefix("./").rstrip("/") or path


def _around_dates(text: str) -> list[str]:
    """Return what stands between the dates in `text`."""
    around, end = [], 0
    for match in DATES.finditer(text):
        around.append(text[end : match.start()])
        end = match.end()
    return [*around, text[end:]]


def stem_of(name: str) -> str:
    """Return a file's name without its ending."""
    return _EXTENSION.sub("", name)


def number_meant(value: str) -> str | None:
    """Return the digits of the number that a value is in another writing; None where its marks lead elsewhere."""
    return None if _EXACT.search(_way(value.strip())) else whole_number(value)


class Words:
    """What the user said, ready to be asked what it names."""

    def __init__(self) -> None:
        self._words = " "
        self._said = ""
        self._letters = ""
        self._addresses: set[str] = set()
        self._places: list[Place] = []
        self._bare: set[str] = set()
        self._numbers: set[str] = set()
        self._amounts: set[float] = set()
        self._announced: set[str] = set()
        self._dates: list[Date] = []
        self._listed: dict[str, set[str]] = {}

    def hear(self, text: str) -> None:
        """Add what the user said; beyond `LONGEST_HEARD` characters it names nothing."""
        text = text[:LONGEST_HEARD]
        self._words += phrases_of(text).lstrip() + "\x00 "  # nothing is named across two messages
        self._said += folded(text) + "\x00"
        self._letters += letters_of(text) + "\x00"
        self._listed.clear()
        self._dates += certain_dates(text)
        self._amounts.update(amounts(text))
        self._announced |= announced(text)
        for found in identifiers(text):
            if isinstance(found.value, Place):
                self._hear_place(found, text)
            else:
                (self._addresses if found.kind == "address" else self._numbers).add(found.value)

    def _hear_place(self, found: Identifier, text: str) -> None:
        """A name with a dot in it may be a host, a file, a version or two sentences; as it stands, it is named."""
        self._bare.add(found.text)
        meant = host_meant(found.text)
        place = place_of(meant) if meant and not _inside_path(found.text, text) else None
        if place is not None:
            self._places.append(place)

    def name(self, value: str | int | float) -> bool:
        """Tell whether the user named `value` as a whole."""
        if not isinstance(value, str):
            return not isinstance(value, bool) and (float(value) in self._amounts or str(value) in self._announced)
        if len(value) > LONGEST:
            return False
        whole = identifier(value)
        if whole is not None:
            return self.name_identifier(whole) or self._names_file(value, whole)
        if DATES.search(value):
            return self._names_dated(value)
        plain, number = value.strip(), number_meant(value)
        if number is not None:
            return number in self._announced or self.name_fraction(plain)
        if _FRACTION.fullmatch(plain):
            return amount(plain) in self._amounts or self._names_exactly(plain)
        return self._names_text(plain)

    def name_number(self, number: str, argument: str, *, which: bool) -> bool:
        """Tell whether the user named a number as what it is in a call.

        Args:
            number: as Python writes it.
            argument: its name.
            which: it can only say which one; else it may say how much, too.
        """
        of = words_in(argument)
        if number in self._announced or number in self._numbers or number in self._listed_of(of):
            return True
        if counted(number, self._words, of, which=which):
            return True
        how_much = not which and (not number.isdigit() or not QUANTITIES.isdisjoint(of))
        return how_much and float(number) in self._amounts

    def _listed_of(self, of: list[str]) -> set[str]:
        """Return the numbers of a list that the user made of something; a call may ask for thousands."""
        key = " ".join(of)
        if key not in self._listed:
            self._listed[key] = listed(self._said, of)
        return self._listed[key]

    def name_fraction(self, text: str) -> bool:
        """Tell whether the user wrote a number with a point in it, such as the version `3.0`, as it stands."""
        return _POINTED.fullmatch(text.strip()) is not None and self._names_exactly(text.strip())

    def _names_dated(self, value: str) -> bool:
        """Every day must be named, and so must what stands around the days, but for the time of day."""
        days = list(dates(value))
        if not days or not self.name_days(days):
            return self._names_text(value)
        around = [part for part in _around_dates(value) if not _TIME.fullmatch(part)]
        return self._names_text(value) or (len(around) < 2 and all(self.name(part) for part in around))

    def _names_text(self, value: str) -> bool:
        if not words_in(value):
            return self._names_quoted(value)
        return self._names_exactly(value) if _EXACT.search(_way(value)) else self.name_words(value)

    def _names_quoted(self, value: str) -> bool:
        """Signs alone stand in every text; who means them as they are puts them between quotes."""
        marked = re.escape(folded(value.strip()))
        return bool(value.strip()) and re.search(f"[{_QUOTES}]{marked}[{_QUOTES}]", self._said) is not None

    def _names_exactly(self, value: str) -> bool:
        """What is written with marks that lead elsewhere, such as a path, must be written so by the user."""
        plain = folded(_way(value))
        exact = re.escape(plain)
        if re.search(rf"(?<![\w/\\.~@*$-]){exact}{_AFTER_EXACT}", self._said) is not None:
            return True
        if "*" in plain or f"**{plain}**" not in self._said:
            return False
        return re.search(rf"(?<![^\s(\x00])\*\*{exact}\*\*{_AFTER_EXACT}", self._said) is not None

    def name_identifier(self, found: Identifier) -> bool:
        """Tell whether the user named this identifier."""
        if isinstance(found.value, Place):
            as_it_stands = not found.value.leads_on and found.text in self._bare
            return as_it_stands or self.named_place(found.value) is not None
        return found.value in (self._addresses if found.kind == "address" else self._numbers)

    def name_days(self, days: Collection[Date]) -> bool:
        """Tell whether the user named every one of these days."""
        return all(any(same_day(said, day) for said in self._dates) for day in days)

    def name_words(self, value: str) -> bool:
        """Tell whether the words of `value`, one after the other, are among the user's."""
        words = phrase_of(value)
        return len(words) > 1 and words.count(" ") <= MOST_WORDS + 1 and words in self._words

    def name_letters(self, letters: str) -> bool:
        """Tell whether the user wrote these letters and digits, with whatever between them."""
        return letters in self._letters

    def name_url(self, value: str) -> bool:
        """Tell whether the user named this URL, or the host or page that it lies below."""
        place = place_of(value)
        return place is not None and self.named_place(place) is not None

    def named_place(self, place: Place) -> Place | None:
        """Return what the user named that `place` is or lies below, the nearest of several; None for nothing."""
        above = [named for named in self._places if place.lies_within(named)]
        return max(above, key=lambda named: (named == place, len(named.path)), default=None)

    def _names_file(self, value: str, whole: Identifier) -> bool:
        """`notes.md` may be a file, and could be a host: its words name it where its ending stands there, too."""
        if not isinstance(whole.value, Place):
            return False
        if whole.value.leads_on:
            return "://" not in value and self._names_exactly(value.strip())
        if not self.name_words(value):
            return False
        last = words_in(stem_of(value))[-1:] or [""]
        return f"{last[0]}{value[len(stem_of(value)) :].casefold()}" in self._said


def _inside_path(name: str, text: str) -> bool:
    """Tell whether a name with a dot stands in `text` only after the mark of a path: `docs/README.md`."""
    at = text.find(name)
    while "://" not in name and at > 0 and text[at - 1] in "/\\~":
        before, at = at, text.find(name, at + 1)
        if at < 0:
            return before > 0
    return False
