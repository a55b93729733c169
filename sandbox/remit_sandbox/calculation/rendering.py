"""Numbers as people write them."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

SIGNIFICANT = 15
"""Digits shown of an approximate result: what a float holds for certain."""


def rendered(value: int | Decimal | Fraction | float | bool) -> str:
    """Return `value` as text: exact where it ends, else SIGNIFICANT digits; `true` or `false` for truth."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return positional(value, longest=60)
    with localcontext() as context:
        context.prec = SIGNIFICANT
        if isinstance(value, Fraction):
            return positional(Decimal(value.numerator) / Decimal(value.denominator))
        return positional(+Decimal(value))


def positional(value: Decimal, longest: int = 21) -> str:
    """Return `value` without an exponent where it has fewer than `longest` digits, without trailing zeros."""
    if value == 0:
        return "0"
    if -15 <= value.adjusted() < longest:
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value.normalize()).replace("E", "e")
