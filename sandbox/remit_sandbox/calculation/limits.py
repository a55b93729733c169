"""Limits that are checked before work is done, so that no expression costs more than a moment."""

from __future__ import annotations

import math
from fractions import Fraction

from remit_sandbox.errors import CalculationError

MAX_LENGTH = 1_000
"""Characters of an expression."""

MAX_DEPTH = 40
"""Levels of nesting, in brackets and in the parsed expression."""

MAX_BITS = 13_000
"""Size of an exact number: about 3,900 decimal digits for numerator and denominator each."""

MAX_ITEMS = 10_000
"""Numbers in a list or range."""

Number = int | Fraction | float


def is_exact(value: Number) -> bool:
    """Say whether `value` is held exactly (an integer or a ratio of integers)."""
    return not isinstance(value, float)


def settled(value: Number) -> Number:
    """Return `value` in its simplest form; refuse what is not finite or too large to be useful."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise CalculationError("the result is too large, or not a number")
        return value
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise too_large()
    return value.numerator if value.denominator == 1 else value


def too_large() -> CalculationError:
    """Return the error for results that nobody could read."""
    return CalculationError("the result would have thousands of digits; ask for a smaller number, or its logarithm")


def approximate(value: Number) -> float:
    """Return `value` as a float; refuse what a float cannot hold."""
    try:
        return float(value)
    except OverflowError:
        raise CalculationError("the number is too large for this function") from None


def whole(value: Number, what: str) -> int:
    """Return `value` as an integer; `what` names it in the refusal."""
    if isinstance(value, bool) or value != int(value):
        raise CalculationError(f"{what} takes whole numbers only")
    return int(value)


def check_bits(bits: float) -> None:
    """Refuse a result that would need more than MAX_BITS bits, before it is computed."""
    if bits > MAX_BITS:
        raise too_large()
