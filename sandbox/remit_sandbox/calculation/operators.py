"""Arithmetic on exact numbers, falling back to floats only where there is no exact answer."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from remit_sandbox.calculation.limits import Number, approximate, check_bits, is_exact, settled, whole
from remit_sandbox.errors import CalculationError


def numbers_only(value: Any) -> Number:
    """Return `value` when it is one number; refuse comparisons and lists used as numbers."""
    if isinstance(value, bool):
        raise CalculationError("a comparison is not a number")
    if isinstance(value, int | Fraction | float):
        return value
    raise CalculationError("a list is not a number; use sum(), mean(), min() or max() on it")


def arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Number]:
    """Wrap a binary operator: exact with exact, float with float, checked after."""

    def apply(left: Any, right: Any) -> Number:
        left, right = numbers_only(left), numbers_only(right)
        if is_exact(left) and is_exact(right):
            return settled(function(Fraction(left), Fraction(right)))
        return settled(function(approximate(left), approximate(right)))

    return apply


def divide(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Number]:
    """Wrap a division, with its refusal of a zero divisor."""
    apply = arithmetic(function)

    def apply_checked(left: Any, right: Any) -> Number:
        if numbers_only(right) == 0:
            raise CalculationError("division by zero")
        return apply(left, right)

    return apply_checked


def power(left: Any, right: Any) -> Number:
    """Return left ** right: exact for whole exponents, else a float; complex results are refused."""
    base, exponent = numbers_only(left), numbers_only(right)
    if base == 0 and exponent < 0:
        raise CalculationError("division by zero")
    if is_exact(base) and is_exact(exponent) and exponent == int(exponent):
        return _exact_power(Fraction(base), int(exponent))
    if base < 0 and exponent != int(exponent):
        raise CalculationError("a fractional power of a negative number is not a real number")
    root = _exact_root(base, exponent)
    return root if root is not None else _float_power(base, exponent)


def _exact_power(base: Fraction, exponent: int) -> Number:
    size = max(abs(base.numerator), base.denominator)
    if size > 1 and _log2(size) * abs(exponent) > 13_000 and base.denominator != 1:
        return _float_power(base, exponent)
    if size > 1:
        check_bits(_log2(size) * abs(exponent))
    if abs(base) == 1:
        return 1 if base == 1 or exponent % 2 == 0 else -1
    return settled(base**exponent)


def _exact_root(base: Number, exponent: Number) -> Number | None:
    if not is_exact(base) or not is_exact(exponent) or Fraction(exponent).denominator > 64:
        return None
    ratio, degree = Fraction(base), Fraction(exponent).denominator
    numerator, denominator = _integer_root(ratio.numerator, degree), _integer_root(ratio.denominator, degree)
    if numerator is None or denominator is None:
        return None
    return _exact_power(Fraction(numerator, denominator), Fraction(exponent).numerator)


def _integer_root(value: int, degree: int) -> int | None:
    """Return the exact whole `degree`-th root of `value`, or None when there is none."""
    if value < 2:
        return value
    low, high = 1, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
    return low if low**degree == value else None


def _float_power(base: Number, exponent: Number) -> float:
    try:
        return float(settled(math.pow(approximate(base), approximate(exponent))))
    except (OverflowError, ValueError):
        raise CalculationError("the result is too large, or not a real number") from None


def _log2(value: int) -> float:
    return math.log2(value) if value.bit_length() < 1000 else float(value.bit_length())


def shift(left: Any, right: Any) -> Number:
    """Return left << right for whole numbers, refusing by size before shifting."""
    value, places = whole(numbers_only(left), "<<"), whole(numbers_only(right), "<<")
    if places < 0:
        raise CalculationError("a shift needs a count of at least 0")
    check_bits(value.bit_length() + places)
    return value << places


def shift_right(left: Any, right: Any) -> Number:
    """Return left >> right for whole numbers."""
    value, places = whole(numbers_only(left), ">>"), whole(numbers_only(right), ">>")
    if places < 0:
        raise CalculationError("a shift needs a count of at least 0")
    return value >> min(places, 1_000_000)


def bitwise(function: Callable[[int, int], int], sign: str) -> Callable[[Any, Any], Number]:
    """Wrap a bitwise operator on whole numbers."""

    def apply(left: Any, right: Any) -> Number:
        return settled(function(whole(numbers_only(left), sign), whole(numbers_only(right), sign)))

    return apply


def compare(function: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Wrap a comparison of two numbers."""
    return lambda left, right: bool(function(numbers_only(left), numbers_only(right)))


def truth(value: Any) -> bool:
    """Return the truth of a comparison; numbers are no truth values here."""
    if isinstance(value, bool):
        return value
    raise CalculationError("and, or and not take comparisons such as 2 < 3")


OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: arithmetic(operator.add),
    ast.Sub: arithmetic(operator.sub),
    ast.Mult: arithmetic(operator.mul),
    ast.Div: divide(operator.truediv),
    ast.FloorDiv: divide(operator.floordiv),
    ast.Mod: divide(operator.mod),
    ast.Pow: power,
    ast.LShift: shift,
    ast.RShift: shift_right,
    ast.BitAnd: bitwise(operator.and_, "&"),
    ast.BitOr: bitwise(operator.or_, "|"),
    ast.USub: lambda value: settled(-numbers_only(value)),
    ast.UAdd: numbers_only,
    ast.Not: lambda value: not truth(value),
    ast.Eq: compare(operator.eq),
    ast.NotEq: compare(operator.ne),
    ast.Lt: compare(operator.lt),
    ast.LtE: compare(operator.le),
    ast.Gt: compare(operator.gt),
    ast.GtE: compare(operator.ge),
}
"""Every operator that an expression may use."""
