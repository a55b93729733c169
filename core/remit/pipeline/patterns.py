"""What can be recognised in a text and must not stay in a log: a closed list of kinds.

No pattern comes from outside: one that somebody writes can take for ever in `re`. These begin only
where a run of characters begins, never give back what they took, and have a longest length, so that
a search is linear in the length of the text (`tests/test_telemetry_redact.py` holds them to it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from remit.errors import PolicyError

Span = tuple[int, int]
Finder = Callable[[str], Iterable[Span]]

LITERALS = frozenset({"true", "false", "null", "none"})

_WORDS = (
    r"api[_-]?key|access[_-]?key|secret|passw(?:or)?d|passphrase|token(?!s)|authorization|credential|private[_-]?key"
)
_SECRET_NAME = re.compile(_WORDS, re.IGNORECASE)


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """Tell whether the text of a field of this name is a secret."""
    return _SECRET_NAME.search(name) is not None


_HINTS = (
    *("bearer", "basic ", "key", "secret", "passw", "passphrase", "token", "authorization", "credential"),
    *("sk-", "sk_", "gh", "xox", "akia", "asia", "aiza", "glpat-", "hf_", "npm_", "pypi-", "eyj", "://"),
)
"""Without one of these in it (lower case) a text holds no key; most texts are done with after this."""

_NAMED = re.compile(
    rf"""(?:{_WORDS})[\w-]{{0,30}}+\\?["']?\s{{0,8}}+[:=]\s{{0,8}}+\\?["']?(?:(?:bearer|basic)\s++)?+"""
    r"""([^\s"',;&<>{}\[\]()\\]{4,4096}+)""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<![\w-])(?:bearer|basic)[ \t]{1,8}+([A-Za-z0-9._~+/=-]{8,8192}+)", re.IGNORECASE)
MIXED = re.compile(r"[0-9=]|[a-z][A-Z]")
"""What a word of prose after `basic` or `bearer` does not have."""

_KNOWN = re.compile(
    r"(?<![\w-])("
    r"sk[-_][A-Za-z0-9_-]{16,512}+|gh[pousr]_[A-Za-z0-9]{20,255}+|github_pat_[A-Za-z0-9_]{20,255}+"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,255}+|A(?:KI|SI)A[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|glpat-[A-Za-z0-9_-]{20,64}+"
    r"|hf_[A-Za-z0-9]{20,64}+|npm_[A-Za-z0-9]{30,64}+|pypi-[A-Za-z0-9_-]{40,512}+"
    r"|eyJ[A-Za-z0-9_-]{8,8192}+\.[A-Za-z0-9_-]{8,65536}+(?:\.[A-Za-z0-9_-]{0,8192}+)?)"
)
_PEM = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----([^-]{1,20000}+)")
_USERINFO = re.compile(r"://[^\s/:@\"'\\]{0,255}+:([^\s/@\"'\\]{1,255}+)@")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}+\.){1,8}[A-Za-z]{2,24}")
_DIGITS = re.compile(r"\d(?<![\w.]\d)(?<!\d[ -]\d)(?:[ -]?\d){12,18}+(?![\w])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]){11,30}+(?![A-Za-z0-9])")
_PHONE = re.compile(r"[+(\d](?<![\w.+-][+(\d])(?:(?<=\d)|\(?\d)(?:[ ()/.-]{0,2}\d){6,14}+(?![\w])(?!\.\d)")


def find_keys(text: str) -> Iterator[Span]:
    """Yield where bearer and API keys, passwords, tokens and private keys stand."""
    if _hints(text):
        for pattern in (_NAMED, _KNOWN, _USERINFO):
            yield from (found.span(1) for found in pattern.finditer(text) if _may_be_key(found[1]))
        yield from (found.span(1) for found in _BEARER.finditer(text) if MIXED.search(found[1]))
    if "PRIVATE KEY" in text:
        yield from (found.span(1) for found in _PEM.finditer(text))


def _hints(text: str) -> bool:
    """Tell whether a text may hold a key at all; a plain loop, for this is asked of everything that is stored."""
    lower = text.lower()
    for hint in _HINTS:  # noqa: SIM110
        if hint in lower:
            return True
    return False


def _may_be_key(value: str) -> bool:
    return value.lower() not in LITERALS and not value.startswith(("[redacted", "[not"))


def find_emails(text: str) -> Iterator[Span]:
    """Yield where e-mail addresses stand."""
    if "@" in text:
        yield from (found.span() for found in _EMAIL.finditer(text))


def find_cards(text: str) -> Iterator[Span]:
    """Yield where payment card numbers stand: a known issuer's first digits, and a right check digit (Luhn)."""
    for found in _DIGITS.finditer(text):
        digits = _digits(found[0])
        if (digits[0] in "3456" or 2221 <= int(digits[:4]) <= 2720) and _luhn(digits):
            yield found.span()


def _luhn(digits: str) -> bool:
    doubled = [int(d) * (1 + place % 2) for place, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def find_ibans(text: str) -> Iterator[Span]:
    """Yield where bank account numbers (IBAN) with right check digits stand."""
    for found in _IBAN.finditer(text):
        plain = found[0].replace(" ", "")
        if 15 <= len(plain) <= 34 and int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1:
            yield found.span()


def find_phones(text: str) -> Iterator[Span]:
    """Yield where telephone numbers stand: with `+` or `00`, or written with gaps."""
    for found in _PHONE.finditer(text):
        written, digits = found[0], _digits(found[0])
        gaps = len(written) - len(digits) - written.startswith("+")
        if written.startswith(("+", "00")) or (gaps >= 2 and not _is_date(written)):
            yield found.span()


def _is_date(written: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}([ ]\d{2,6})?|\d{1,2}[./]\d{1,2}[./]\d{4}|[\d.]+", written) is not None


def _digits(written: str) -> str:
    return "".join(filter(str.isdigit, written))


KINDS: Mapping[str, Finder] = {
    "key": find_keys,
    "card": find_cards,
    "email": find_emails,
    "iban": find_ibans,
    "phone": find_phones,
}
"""Name in `[log] redact_kinds` to what finds it."""


def shape_finder(shape: str) -> Finder:
    """Return what finds texts of a shape such as `EMP-######`.

    `#` stands for a digit, `@` for a letter, `*` for a letter or digit; anything else for itself.

    Raises:
        PolicyError: it is shorter than 4 or longer than 64 characters, or has no such sign.
    """
    signs = {"#": "[0-9]", "@": "[A-Za-z]", "*": "[A-Za-z0-9]"}
    if not 4 <= len(shape) <= 64 or not any(sign in shape for sign in signs):
        raise PolicyError(
            f"[log] redact_shapes: {shape!r} is no shape",
            remedy="write 4 to 64 characters: # for a digit, @ for a letter, * for either; EMP-######",
        )
    body = "".join(signs.get(character, re.escape(character)) for character in shape)
    pattern = re.compile(rf"(?<![A-Za-z0-9]){body}(?![A-Za-z0-9])")
    return lambda text: (found.span() for found in pattern.finditer(text))
