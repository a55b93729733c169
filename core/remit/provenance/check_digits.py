"""Numbers that prove themselves: an account or a card has check digits, so it is one whatever stands between its parts.

IBAN: ISO 13616, remainder of 97 (ISO 7064). Cards: ISO/IEC 7812, the formula of Luhn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MAY_BE_CARD = re.compile(rb"0(?:[^0Aa]{0,3}0){13,}")
_MAY_BE_IBAN = re.compile(rb"A[^0Aa]{0,3}A[^0Aa]{0,3}0[^0Aa]{0,3}0(?:[^0Aa]{0,3}[0A]){11,30}")
_CARD_LENGTHS = range(14, 17)
_CARD_STARTS = "3456"
_IBAN_LENGTHS = range(34, 14, -1)
_LEAST_DIGITS = 10
"""Digits of an IBAN; words in capitals have none."""


def proven(text: str, shape: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each account or card in `text` whose parts stand up to three signs apart.

    Args:
        text: in the form in which it is followed.
        shape: one byte for each of its characters: `0` for a digit, `A` and `a` for a letter.
    """
    for match in _MAY_BE_CARD.finditer(shape):
        if is_card("".join(filter(str.isdigit, text[match.start() : match.end()]))):
            yield match.span()
    for match in _MAY_BE_IBAN.finditer(shape):
        signs = [at for at in range(*match.span()) if text[at].isalnum()]
        account = iban_in("".join(text[at] for at in signs))
        if account:
            yield match.start(), signs[len(account) - 1] + 1


def is_card(digits: str) -> bool:
    """Tell whether digits are the number of a bank or credit card, by length, first digit and check digit."""
    if len(digits) not in _CARD_LENGTHS or digits[0] not in _CARD_STARTS or len(set(digits)) == 1:
        return False
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(one - 9 if one > 9 else one for one in doubled)) % 10 == 0


def iban_in(text: str) -> str:
    """Return the IBAN that letters and digits begin with, empty where there is none."""
    for length in _IBAN_LENGTHS:
        account = text[:length]
        if len(account) == length and sum(map(str.isdigit, account)) >= _LEAST_DIGITS and _remainder(account) == 1:
            return account
    return ""


def _remainder(account: str) -> int:
    return int("".join(str(int(sign, 36)) for sign in account[4:] + account[:4])) % 97
