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

from remit.provenance.dates import IN_FIGURES, readings
from remit.provenance.hosts import Place, place_of

Kind = Literal["address", "url", "number"]
"""A mail address; a URL or host; an account, card, phone or other long number."""

LONG_NUMBER = 8
"""Digits from which a number names somebody or something rather than an amount."""

CODE_DIGITS = 6
"""Digits from which letters and digits in one word are a code (a passport, an account, a key)."""

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

_ANCHORS = tuple(map(re.compile, (r"@(?=\w)", r"://", r"\.(?=[^\W\d_])")))
"""What an address, a URL or a host has inside; text without it is not looked at again.

Looked for one by one: a pattern that begins with one certain character is many times faster than one that begins
with a choice or a class.
"""

_SHAPE = bytes.maketrans(
    b"123456789BCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz", b"0" * 9 + b"A" * 25 + b"a" * 25
)
"""Makes one digit of all digits, and one letter of all letters of a case: what numbers look like can be looked for
by patterns that begin with one certain character."""

_SHAPE_ANCHORS = tuple(map(re.compile, (rb"0\.0{1,3}\.0{1,3}\.0", rb"0(?=[Aa0]{3})")))
"""What a numeric host and a code have inside, as shapes."""

_MAY_BE_DATE = re.compile(rb"0[-/.]0?0[-/.]0")
_MAY_BE_NUMBER = re.compile(rb"0(?:[ ./()-]{0,2}0){7}")
_MAY_BE_ACCOUNT = re.compile(rb"AA00")

_BREAKS = " \t\n\r\x0b\x0c<>\"'"
_BREAK = re.compile(f"[{_BREAKS}]")
_IN_TOKEN = re.compile(
    r"(?P<address>[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
    r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://\S+)"
    r"|(?P<host>\b(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b(?::\d{1,5})?(?:[/?#]\S*)?)"
    r"|(?P<ip>\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5})?(?:/\S*)?)"
    r"|(?P<code>\b[A-Za-z0-9]{6,64}\b)"
)
_ACCOUNT = re.compile(r"(?P<account>[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b)")
_NUMBER = re.compile(r"(?P<number>\d(?:[ ./()-]{0,2}\d){7,30})")
_INVISIBLE = frozenset(map(chr, (0xAD, *range(0x200B, 0x2010), *range(0x2060, 0x2065), 0xFEFF)))
_IDEOGRAPHIC_DOT = re.compile(r"\u3002(?<=[A-Za-z0-9]\u3002)(?=[A-Za-z0-9])")
_TRAILING = ".,;:!?)]}>'\""


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
    plain = text if text.isascii() else _as_followed(text)
    shape = _shape(plain)
    if _MAY_BE_DATE.search(shape) is not None:
        plain = IN_FIGURES.sub(_blanked, plain)
        shape = _shape(plain)
    seen: set[tuple[Kind, str | Place]] = set()
    for match in chain.from_iterable(map(_IN_TOKEN.finditer, _tokens(plain, shape))):
        yield from _new(match, seen)
    strange = not plain.isascii() and any(letter.isdecimal() for letter in set(plain) if not letter.isascii())
    accounts = list(_ACCOUNT.finditer(plain)) if strange or _MAY_BE_ACCOUNT.search(shape) else []
    left = _ACCOUNT.sub(" ", plain) if accounts else plain
    numbers = _NUMBER.finditer(left) if strange or _MAY_BE_NUMBER.search(shape) else ()
    for match in chain(accounts, numbers):
        yield from _new(match, seen)


def _shape(text: str) -> bytes:
    """Return one byte for each character: what kind it is of; `?` for all beyond ASCII, digits of other scripts too."""
    return text.encode("ascii", "replace").translate(_SHAPE)


def _as_followed(text: str) -> str:
    """Return text as whoever follows a link in it takes it: in one form, and without what is invisible."""
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    if not _INVISIBLE.isdisjoint(text):
        text = "".join(letter for letter in text if letter not in _INVISIBLE)
    return _IDEOGRAPHIC_DOT.sub(".", text)


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


def _new(match: re.Match[str], seen: set[tuple[Kind, str | Place]]) -> Iterator[Identifier]:
    kind = match.lastgroup or ""
    found = _READ[kind](match[kind].rstrip(_TRAILING))
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


def plain_number(text: str) -> str:
    """Return the letters and digits of a number or code, upper case: the form in which two are compared."""
    return "".join(letter for letter in text.upper() if letter.isalnum())


def plain_address(text: str) -> str:
    """Return a mail address in the form in which two are compared; `ß` and `ss` are two domains."""
    return text.lower()


def _blanked(match: re.Match[str]) -> str:
    return " " * len(match[0]) if any(readings(match)) else match[0]


def _address(text: str) -> Identifier:
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
    long = digits >= LONG_NUMBER or (digits >= CODE_DIGITS and digits < len(text))
    return Identifier(kind="number", value=plain_number(text), text=text) if long else None


def _number(text: str) -> Identifier | None:
    digits = sum(letter.isdigit() for letter in text)
    return Identifier(kind="number", value=plain_number(text), text=text) if digits >= LONG_NUMBER else None


_READ: Mapping[str, Callable[[str], Identifier | None]] = {
    "address": _address,
    "url": _url,
    "host": _host,
    "ip": _url,
    "account": _number,
    "code": _code,
    "number": _number,
}
