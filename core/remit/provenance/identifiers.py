"""Identifiers in text: what says where something goes, or whose it is.

A mail address, a URL or host, an account number and any long number can carry an action or data to a place
that nobody meant; ordinary words cannot. Text is read once, in linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from remit.provenance.check_digits import iban_in, proven
from remit.provenance.dates import IN_FIGURES, readings
from remit.provenance.followed import as_followed
from remit.provenance.hosts import Place, place_of

Kind = Literal["address", "url", "number"]
"""A mail address; a URL or host; an account, card, phone or other long number."""

LONG_NUMBER = 8
"""Digits from which a number names somebody or something rather than an amount."""

CODE_DIGITS = 6
"""Digits from which letters and digits in one word are a code (a passport, an account, a key)."""

LONG_CODE = 25
"""Letters from which two digits in one word are enough: no word is like that, an address of a coin is."""

_NO_HOSTS = frozenset(
    (
        *("txt", "doc", "docx", "pdf", "csv", "tsv", "json", "xml", "yaml", "yml", "toml", "ini", "log", "rtf", "html"),
        *("xls", "xlsx", "ppt", "pptx", "odt", "ods", "odp", "htm", "css", "js", "ipynb", "parquet", "bak", "tmp"),
        *("png", "jpg", "jpeg", "gif", "svg", "bmp", "tiff", "webp", "mp3", "mp4", "wav", "avi", "mkv", "exe", "dll"),
        *("jar", "tar", "gz", "tgz", "bz2"),
    )
)
"""Endings of file names that are no top-level domain (IANA root zone, 2026)."""

LONGEST_TOKEN = 2_200
"""Characters of one address, URL or code that are looked at."""

_ANCHORS = tuple(
    map(re.compile, (r"@(?=[\w[])", r"://", r"\.(?=[^\W\d_])", r"::", r":(?=[0-9a-fA-F]{1,4}:[0-9a-fA-F])"))
)
"""What an address, a URL, a host or an IPv6 address has inside; text without it is not looked at again.

Looked for one by one: a pattern that begins with one certain character is many times faster than one that begins
with a choice or a class.
"""

_SHAPE = bytes.maketrans(
    b"123456789BCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz", b"0" * 9 + b"A" * 25 + b"a" * 25
)
"""Makes one digit of all digits, and one letter of all letters of a case: what numbers look like can be looked for
by patterns that begin with one certain character."""

_SHAPE_ANCHORS = tuple(map(re.compile, (rb"0\.0{1,3}\.0{1,3}\.0", rb"0(?=[Aa0]{3})", rb"0(?<=[Aa0]{4})")))
"""What a numeric host and a code have inside, as shapes."""

_SIGNS = re.compile(r"[@.:\[({]")
_DIGITS = re.compile(rf"\d(?:\D*\d){{{CODE_DIGITS - 1}}}")

_MAY_BE_DATE = re.compile(rb"0[-/.]0?0[-/.]0")
_MAY_BE_NUMBER = re.compile(rb"0(?:[ ./()_-]{0,2}0){7}")
_MAY_BE_ACCOUNT = re.compile(rb"AA00")

_BREAKS = " \t\n\r\x0b\x0c<>\"'"
_BREAK = re.compile(f"[{_BREAKS}]")
_IN_TOKEN = re.compile(
    r"(?P<address>[\w.+%-]{1,64}@(?:\[[0-9a-fA-F.:]{2,60}\]|[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}))"
    r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://\S+)"
    r"|(?P<host>\b(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b(?::\d{1,5})?(?:[/?#]\S*)?)"
    r"|(?P<ip>\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5})?(?:/\S*)?)"
    r"|(?P<ipv6>\[[0-9a-fA-F:.]{2,45}\](?::\d{1,5})?(?:[/?#]\S*)?|(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F.]*)"
    r"|(?P<code>\b[A-Za-z0-9]{6,}\b)"
)
_ACCOUNT = re.compile(r"(?P<account>[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b)")
_NUMBER = re.compile(r"(?P<number>\d(?:[ ./()_-]{0,2}\d){7,30})")
_GROUPS = re.compile("[0-9a-fA-F]+")
_TRAILING = ".,;:!?)]}>'\"\u2019\u201c\u201d\u00bb"


@dataclass(frozen=True)
class Identifier:
    """One identifier.

    Attributes:
        kind: what it is.
        value: its one form: two spellings of the same identifier are equal.
        text: as it was written.
    """

    kind: Kind
    value: str | Place
    text: str


def identifiers(text: str) -> Iterator[Identifier]:
    """Yield each identifier in `text` once; a calendar date is none."""
    if _is_plain(text):
        return
    plain = as_followed(text)
    shape = shape_of(plain)
    if _MAY_BE_DATE.search(shape) is not None:
        plain = IN_FIGURES.sub(_blanked, plain)
        shape = shape_of(plain)
    seen: set[tuple[Kind, str | Place]] = set()
    for match in chain.from_iterable(map(_IN_TOKEN.finditer, _tokens(plain, shape))):
        yield from _new(_READ[match.lastgroup or ""](match[0].rstrip(_TRAILING)), seen)
    checked = _apart(sorted(proven(plain, shape)))
    for span in checked:
        written = plain[span[0] : span[1]]
        yield from _new(number_of(written), seen)
    if checked:
        plain = _without(plain, checked)
        shape = shape_of(plain)
    strange = not plain.isascii() and any(letter.isdecimal() for letter in set(plain) if not letter.isascii())
    accounts = list(_ACCOUNT.finditer(plain)) if strange or _MAY_BE_ACCOUNT.search(shape) else []
    left = _ACCOUNT.sub(" ", plain) if accounts else plain
    numbers = _NUMBER.finditer(left) if strange or _MAY_BE_NUMBER.search(shape) else ()
    for match in accounts:
        yield from _new(_account(match[0]), seen)
    for match in numbers:
        yield from _new(_number(match[0]), seen)


def _is_plain(text: str) -> bool:
    """Tell at a glance that a short text, one of thousands in a list, is a word or a small number."""
    if len(text) >= LONG_CODE or not text.isascii():
        return False
    return (len(text) < CODE_DIGITS or _DIGITS.search(text) is None) and _SIGNS.search(text) is None


def shape_of(text: str) -> bytes:
    """Return one byte for each character: what kind it is of; `?` for all beyond ASCII, digits of other scripts too."""
    return text.encode("ascii", "replace").translate(_SHAPE)


def _apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted spans without those that begin inside another: digits of an account may be those of a card."""
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Return text with blanks for what stands at some places."""
    ends = [0, *(end for _, end in spans)]
    return " ".join((*(text[end:start] for end, (start, _) in zip(ends, spans, strict=False)), text[ends[-1] :]))


def _tokens(text: str, shape: bytes) -> Iterator[str]:
    """Yield the pieces between spaces and quotes that have an anchor inside, long ones in parts."""
    found = [match.span() for anchor in _ANCHORS for match in anchor.finditer(text)]
    found += [match.span() for anchor in _SHAPE_ANCHORS for match in anchor.finditer(shape)]
    end = 0
    for begins, ends in sorted(found):
        if begins < end:
            continue
        first = max(end, begins - LONGEST_TOKEN)
        start = max(first, 1 + max(text.rfind(one, first, begins) for one in _BREAKS))
        right = _BREAK.search(text, ends, start + LONGEST_TOKEN)
        end = right.start() if right else min(len(text), max(ends, start + LONGEST_TOKEN))
        yield text[start:end]


def _new(found: Identifier | None, seen: set[tuple[Kind, str | Place]]) -> Iterator[Identifier]:
    if found is not None and (found.kind, found.value) not in seen:
        seen.add((found.kind, found.value))
        yield found


def identifier(text: str) -> Identifier | None:
    """Return the identifier that `text` as a whole is, or None."""
    stripped = text.strip()
    found = next(identifiers(stripped), None)
    if found is None:
        return None
    if found.kind == "number":
        return found if found.value == plain_number(stripped) else None
    return found if found.text == unicodedata.normalize("NFKC", stripped) else None


def number_of(text: str) -> Identifier:
    """Return the number or code that `text` is."""
    return Identifier(kind="number", value=plain_number(text), text=text)


def plain_number(text: str) -> str:
    """Return the letters and digits of a number or code, upper case: the form in which two are compared."""
    return "".join(letter for letter in text.upper() if letter.isalnum())


def plain_address(text: str) -> str:
    """Return a mail address in the form in which two are compared; `ß` and `ss` are two domains."""
    return text.lower()


def _blanked(match: re.Match[str]) -> str:
    return " " * len(match[0]) if any(readings(match)) else match[0]


def _address(text: str) -> Identifier:
    if "@[" in text:
        text += "]"
    return Identifier(kind="address", value=plain_address(text), text=text)


def _url(text: str) -> Identifier:
    """A link that does not say clearly where it leads is one, too, and equal to nothing but itself."""
    return Identifier(kind="url", value=place_of(text) or text, text=text)


def _host(text: str) -> Identifier | None:
    name = re.split(r"[:/?#]", text, maxsplit=1)[0]
    is_file = name == text and name.rpartition(".")[2].lower() in _NO_HOSTS
    return None if is_file or (name == text and place_of(text) is None) else _url(text)


def _code(text: str) -> Identifier | None:
    digits = sum(letter.isdigit() for letter in text)
    mixed = digits < len(text) and digits >= (2 if len(text) >= LONG_CODE else CODE_DIGITS)
    long = digits >= LONG_NUMBER or mixed
    return number_of(text) if long else None


def _ipv6(text: str) -> Identifier | None:
    """A bare one is an address only where it is one as a whole: a time of the day has colons, and so has `a[1::2]`."""
    if text.startswith("["):
        if "]" not in text:
            text += "]" if len(_GROUPS.findall(text)) > 2 else ""
        return _url(text) if place_of(text) is not None else None
    place = place_of(f"[{text}]") if any(map(str.isdigit, text)) else None
    return None if place is None else Identifier(kind="url", value=place, text=text)


def _account(text: str) -> Identifier | None:
    return _number(iban_in(plain_number(text)) or text)


def _number(text: str) -> Identifier | None:
    digits = sum(letter.isdigit() for letter in text)
    return number_of(text) if digits >= LONG_NUMBER else None


_READ: Mapping[str, Callable[[str], Identifier | None]] = {
    "address": _address,
    "url": _url,
    "host": _host,
    "ip": _url,
    "ipv6": _ipv6,
    "code": _code,
}
