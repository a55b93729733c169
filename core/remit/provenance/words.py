"""The user's own words, and whether they name a value.

Matching is typed: an address is compared with addresses, a URL with URLs, a number with numbers, a date with
dates, a name word by word. A short value inside another word is no match.
"""

from __future__ import annotations

import re
import unicodedata

from remit.provenance.dates import DATES, Date, dates, same_day
from remit.provenance.hosts import Place, place_of
from remit.provenance.identifiers import Identifier, identifier, identifiers

MOST_WORDS = 40
"""Words from which a value is a text rather than a name."""

LONGEST_HEARD = 100_000
"""Characters of one message that are looked at; nobody types more."""

LONGEST = 2_200
"""Characters from which a value is a text rather than a name or URL."""

_WORD = re.compile(r"[^\W_]+")
_BLANKS = str.maketrans({chr(code): " " for code in range(128) if not chr(code).isalnum()})
_AMOUNT = re.compile(r"(?<![\w.,])[-+]?\d{1,15}(?:,\d{3})*(?:\.\d+)?(?![\w]|[.,]\d)")
_ANNOUNCED = re.compile(r"(?:\b(?:id|number|no|nr|item|entry)\.?\s*[:=]?\s*|#\s*)(\d{1,7})\b")
_EXTENSION = re.compile(r"\.[^\W_]{1,5}\Z")
_FRACTION = re.compile(r"[-+]?\d{1,15}\.\d*[1-9]\d*|-\d{1,15}")
_TIME = re.compile(
    r"[\sT,]*(?:(?<!\d)\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:\s?[ap]m|Z|[+-]\d{2}:?\d{2})?)?\s*", re.IGNORECASE
)
"""What may stand beside a date without a word of the user's: the time of day."""

_EXACT = re.compile(r"[/\\*`|<>;&]|(?<!^)@|\.\.|^[~.$-]|~$")
"""Marks of a value that leads elsewhere than its words say: of a path, a pattern, a list of several."""


def words_in(text: str) -> list[str]:
    """Return the words of `text` in one form, in order."""
    if text.isascii():  # the same, many times faster
        return text.lower().translate(_BLANKS).split()
    return _WORD.findall(_plain(text))


def words_of(text: str) -> str:
    """Return the words of `text` in one form, one space around each: ` budget 2024 `."""
    return " ".join(("", *words_in(text), ""))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


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


class Words:
    """What the user said, ready to be asked what it names."""

    def __init__(self) -> None:
        self._words = " "
        self._said = ""
        self._addresses: set[str] = set()
        self._places: list[Place] = []
        self._numbers: set[str] = set()
        self._amounts: set[float] = set()
        self._announced: set[str] = set()
        self._dates: list[Date] = []

    def hear(self, text: str) -> None:
        """Add what the user said; beyond `LONGEST_HEARD` characters it names nothing."""
        text = text[:LONGEST_HEARD]
        self._words += words_of(text).lstrip() + "\x00 "  # nothing is named across two messages
        self._said += _plain(text) + "\x00"
        self._dates += dates(text)
        self._amounts |= {float(found.replace(",", "")) for found in _AMOUNT.findall(text)}
        self._announced |= set(_ANNOUNCED.findall(text.casefold()))
        for found in identifiers(text):
            if isinstance(found.value, Place):
                self._places.append(found.value)
            else:
                (self._addresses if found.kind == "address" else self._numbers).add(found.value)

    def name(self, value: str | int | float) -> bool:
        """Tell whether the user named `value` as a whole."""
        if not isinstance(value, str):
            return self._names_number(value)
        if len(value) > LONGEST:
            return False
        whole = identifier(value)
        if whole is not None:
            return self.name_identifier(whole) or self._names_file(value, whole)
        if DATES.search(value):
            return self._names_dated(value)
        plain = value.strip()
        if plain.isdigit():
            return plain in self._announced
        if _FRACTION.fullmatch(plain):
            return float(plain) in self._amounts
        return self._names_text(plain)

    def _names_dated(self, value: str) -> bool:
        """Every day must be named, and so must what stands around the days, but for the time of day."""
        days = list(dates(value))
        if not days or not self.name_days(days):
            return self._names_text(value)
        around = [part for part in _around_dates(value) if not _TIME.fullmatch(part)]
        return self._names_text(value) or all(self.name(part) for part in around)

    def _names_text(self, value: str) -> bool:
        return self._names_exactly(value) if _EXACT.search(_way(value)) else self.name_words(value)

    def _names_exactly(self, value: str) -> bool:
        """What is written with marks that lead elsewhere, such as a path, must be written so by the user."""
        exact = re.escape(_plain(_way(value)))
        return re.search(rf"(?<![\w/\\.~@*$-]){exact}(?![\w\\@*~-]|[/.][^\s])", self._said) is not None

    def name_identifier(self, found: Identifier) -> bool:
        """Tell whether the user named this identifier."""
        if isinstance(found.value, Place):
            return self._names_place(found.value)
        return found.value in (self._addresses if found.kind == "address" else self._numbers)

    def name_days(self, days: list[Date]) -> bool:
        """Tell whether the user named every one of these days."""
        return all(any(same_day(said, day) for said in self._dates) for day in days)

    def name_words(self, value: str) -> bool:
        """Tell whether the words of `value`, one after the other, are among the user's."""
        words = words_of(value)
        return len(words) > 1 and words.count(" ") <= MOST_WORDS + 1 and words in self._words

    def name_url(self, value: str) -> bool:
        """Tell whether the user named this URL, or the host or page that it lies below."""
        place = place_of(value)
        return place is not None and self._names_place(place)

    def _names_place(self, place: Place) -> bool:
        """A host is also named where the next word hangs on it, as in `see acme.example.Then ...`."""
        if any(place.lies_within(named) for named in self._places):
            return True
        return not (place.path or place.query or place.port) and words_of(place.host) in self._words

    def _names_number(self, value: int | float) -> bool:
        return not isinstance(value, bool) and (float(value) in self._amounts or str(value) in self._announced)

    def _names_file(self, value: str, whole: Identifier) -> bool:
        """`notes.md` may be a file, and could be a host; the user's own `notes.md` is the same either way."""
        return isinstance(whole.value, Place) and not whole.value.path and self.name_words(value)
