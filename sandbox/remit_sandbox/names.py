"""Whether two names could be one person's: how a name is written, or looks, makes nobody a second person."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from remit_sandbox.unseen import is_unseen

_LOOKS_LIKE = {
    "a": "а ɑ α А Α Ꭺ ꓮ",
    "b": "ƅ Ь В Β Ᏼ ꓐ",
    "c": "с ϲ ⲥ С Ϲ Ꮯ ꓚ",
    "d": "ԁ Ꭰ ꓓ",
    "e": "е ҽ Е Ε Ꭼ ꓰ",
    "f": "ꓝ",
    "g": "ɡ ց Ԍ Ꮐ ꓖ",
    "h": "һ հ Н Η Ꮋ ꓧ",
    "i": "і ι ɩ ı ⲓ Ꭵ",
    "j": "ј ϳ ȷ Ј Ϳ Ꭻ ꓙ",
    "k": "к κ К Κ Ꮶ ꓗ",
    "l": "ӏ 1 | ǀ І Ι Ӏ ꓲ Ꮮ ꓡ",
    "m": "м М Μ Ꮇ ꓟ",
    "n": "ո η п Ν ꓠ",
    "o": "о ο օ ⲟ σ 0 О Ο Օ ꓳ",
    "p": "р ρ ⲣ Р Ρ Ꮲ ꓑ",
    "q": "ԛ զ Ԛ",
    "r": "г Ꭱ ꓣ",
    "s": "ѕ Ѕ Տ Ꮪ ꓢ",
    "t": "т τ Т Τ Ꭲ ꓔ",
    "u": "υ ս Ս ꓴ",
    "v": "ν ѵ ʋ Ѵ Ꮩ ꓦ",
    "w": "ԝ ѡ ա ω Ԝ Ꮃ ꓪ",
    "x": "х χ Х Χ ꓫ",
    "y": "у γ Υ У Ү ꓬ",
    "z": "Ζ Ꮓ ꓜ",
}
"""Letters of other scripts, and digits, that look like a Latin letter; a pick from the confusables of UTS 39."""

_TABLE = {ord(one): letter for letter, alike in _LOOKS_LIKE.items() for one in alike.split()}
_SMALL_CAPITAL = re.compile(r"LATIN LETTER SMALL CAPITAL ([A-Z])")


def same_person(one: str, other: str) -> bool:
    """Tell whether two names are, or could be meant to be, the same person's: those of `Ada` and `ada` are."""
    return not _forms(one).isdisjoint(_forms(other))


@lru_cache(maxsize=1024)
def _forms(name: str) -> frozenset[str]:
    """Return what a name may be read as: as it is written, and in small and in capital letters."""
    plain = " ".join("".join(one for one in unicodedata.normalize("NFKC", name) if not is_unseen(one)).split())
    written = plain if plain.isupper() else plain.replace("I", "l")
    return frozenset({_folded(plain)} | {_folded(_alike(one)) for one in (written, plain.lower(), plain.upper())})


def _alike(name: str) -> str:
    return "".join(map(_letter, unicodedata.normalize("NFC", name))).translate(_TABLE)


def _letter(letter: str) -> str:
    small = None if letter.isascii() else _SMALL_CAPITAL.fullmatch(unicodedata.name(letter, ""))
    return letter if small is None else small[1]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name.casefold())
