"""The closed list of functions and constants. All take and give numbers; none can be added from outside."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from remit_sandbox.calculation.limits import (
    MAX_ITEMS,
    Number,
    approximate,
    check_bits,
    is_exact,
    settled,
    whole,
)
from remit_sandbox.calculation.operators import bitwise, numbers_only, power
from remit_sandbox.errors import CalculationError


def numbers(name: str, arguments: tuple[Any, ...], least: int = 1) -> list[Number]:
    """Return the numbers given to an aggregate, as arguments or as one list."""
    items = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], list) else list(arguments)
    if len(items) < least:
        raise CalculationError(f"{name} needs at least {least} number{'s' if least > 1 else ''}")
    if len(items) > MAX_ITEMS:
        raise CalculationError(f"{name} takes at most {MAX_ITEMS} numbers")
    return [numbers_only(item) for item in items]


def aggregate(name: str, function: Callable[[list[Any]], Any], least: int = 1) -> Callable[..., Number]:
    """Make a function of many numbers; exact when all of them are."""

    def apply(*arguments: Any) -> Number:
        items = numbers(name, arguments, least)
        exact = all(is_exact(item) for item in items)
        return settled(function([Fraction(i) for i in items] if exact else [approximate(i) for i in items]))

    return apply


def floating(name: str, function: Callable[..., float], count: int = 1) -> Callable[..., Number]:
    """Make a function that is computed in floats, refusing arguments outside its domain."""

    def apply(*arguments: Any) -> Number:
        if len(arguments) != count:
            raise CalculationError(f"{name} takes {count} number{'s' if count > 1 else ''}")
        given = [approximate(numbers_only(argument)) for argument in arguments]
        try:
            return settled(function(*given))
        except (ValueError, OverflowError, ZeroDivisionError):
            raise CalculationError(f"{name} is not defined for that number") from None

    return apply


def periodic(name: str, function: Callable[[float], float]) -> Callable[..., Number]:
    """Make a trigonometric function whose rounding noise around zero is zero: sin(pi) = 0."""

    def noiseless(angle: float) -> float:
        value = function(angle)
        if abs(value) < math.ulp(angle):
            return 0.0
        if abs(value) > 1e15:
            raise ValueError
        return value

    return floating(name, noiseless)


def root(value: Any, degree: Any = 2) -> Number:
    """Return the real `degree`-th root of `value`: exact where it is exact, odd roots of negatives too."""
    number, order = numbers_only(value), whole(numbers_only(degree), "root")
    if order < 1 or order > 1000:
        raise CalculationError("root takes a degree from 1 to 1000")
    if number < 0 and order % 2 == 0:
        raise CalculationError("the square root of a negative number is not a real number")
    result = power(abs(number), Fraction(1, order))
    return -result if number < 0 else result


def logarithm(value: Any, base: Any = None) -> Number:
    """Return the logarithm of `value`: natural, or to `base`; exact for exact powers of a whole base."""
    number = numbers_only(value)
    if number <= 0:
        raise CalculationError("a logarithm needs a number above 0")
    if base is None:
        return settled(math.log(number) if number != 1 else 0)
    order = numbers_only(base)
    if order <= 0 or order == 1:
        raise CalculationError("the base of a logarithm is above 0 and not 1")
    estimate = math.log(number) / math.log(order)
    nearest = round(estimate)
    if is_exact(number) and is_exact(order) and abs(nearest) < 4000 and power(order, nearest) == number:
        return nearest
    return settled(estimate)


def school_round(value: Any, digits: Any = 0) -> Number:
    """Round half away from zero, as taught in school, on the exact decimal value."""
    number, places = numbers_only(value), whole(numbers_only(digits), "round")
    if abs(places) > 300:
        raise CalculationError("round takes at most 300 digits")
    scale = Fraction(10) ** places
    scaled = Fraction(repr(number)) * scale if isinstance(number, float) else Fraction(number) * scale
    rounded = math.floor(abs(scaled) + Fraction(1, 2))
    return settled(Fraction(rounded if scaled >= 0 else -rounded) / scale)


def towards(function: Callable[[Any], int]) -> Callable[[Any], Number]:
    """Make floor, ceil or trunc."""
    return lambda value: settled(function(numbers_only(value)))


def factorial(value: Any) -> Number:
    """Return n!, refused by size before it is computed."""
    number = whole(numbers_only(value), "factorial")
    if number < 0:
        raise CalculationError("factorial takes a whole number of at least 0")
    check_bits(math.lgamma(number + 1) / math.log(2))
    return math.factorial(number)


def choose(name: str, function: Callable[[int, int], int]) -> Callable[[Any, Any], Number]:
    """Make comb or perm, refused by size before it is computed."""

    def apply(total: Any, picked: Any) -> Number:
        n, k = whole(numbers_only(total), name), whole(numbers_only(picked), name)
        if n < 0 or k < 0:
            raise CalculationError(f"{name} takes whole numbers of at least 0")
        if k <= n:
            smaller = min(k, n - k) if name == "comb" else k
            check_bits(smaller * max(1.0, math.log2(n + 1)))
        return function(n, k)

    return apply


def divisors(name: str, function: Callable[..., int]) -> Callable[..., Number]:
    """Make gcd or lcm of whole numbers."""

    def apply(*arguments: Any) -> Number:
        return settled(function(*(whole(item, name) for item in numbers(name, arguments))))

    return apply


def integers(*bounds: Any) -> list[Number]:
    """Return range(...) as a list of at most MAX_ITEMS whole numbers."""
    given = [whole(numbers_only(bound), "range") for bound in bounds]
    if not 1 <= len(given) <= 3 or (len(given) == 3 and given[2] == 0):
        raise CalculationError("range takes start, stop and a step that is not 0")
    span = range(*given)
    if (span.stop - span.start) // span.step > MAX_ITEMS:
        raise CalculationError(f"range gives at most {MAX_ITEMS} numbers")
    return list(span)


def percent_change(old: Any, new: Any) -> Number:
    """Return by how many percent `new` is above `old`."""
    before, after = numbers_only(old), numbers_only(new)
    if before == 0:
        raise CalculationError("a change in percent from 0 is not defined")
    if is_exact(before) and is_exact(after):
        return settled((Fraction(after) - Fraction(before)) / abs(Fraction(before)) * 100)
    return settled((approximate(after) - approximate(before)) / abs(approximate(before)) * 100)


def percent(value: Any) -> Number:
    """Return `value` hundredths."""
    number = numbers_only(value)
    return settled(Fraction(number) / 100 if is_exact(number) else number / 100)


def _square_root_of(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Number]:
    return lambda items: root(settled(function(items)))


def _product(items: list[Any]) -> Any:
    product: Number = 1
    for item in items:
        product = settled(product * item)
    return product


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": lambda value: abs(numbers_only(value)),
    "sign": lambda value: (numbers_only(value) > 0) - (numbers_only(value) < 0),
    "round": school_round,
    "floor": towards(math.floor),
    "ceil": towards(math.ceil),
    "trunc": towards(math.trunc),
    "sqrt": root,
    "cbrt": lambda value: root(value, 3),
    "root": root,
    "pow": power,
    "exp": floating("exp", math.exp),
    "ln": logarithm,
    "log": logarithm,
    "log2": lambda value: logarithm(value, 2),
    "log10": lambda value: logarithm(value, 10),
    "sin": periodic("sin", math.sin),
    "cos": periodic("cos", math.cos),
    "tan": periodic("tan", math.tan),
    "asin": floating("asin", math.asin),
    "acos": floating("acos", math.acos),
    "atan": floating("atan", math.atan),
    "atan2": floating("atan2", math.atan2, 2),
    "sinh": floating("sinh", math.sinh),
    "cosh": floating("cosh", math.cosh),
    "tanh": floating("tanh", math.tanh),
    "degrees": floating("degrees", math.degrees),
    "radians": floating("radians", math.radians),
    "hypot": aggregate("hypot", lambda items: root(sum(item * item for item in items))),
    "gcd": divisors("gcd", math.gcd),
    "lcm": divisors("lcm", math.lcm),
    "factorial": factorial,
    "comb": choose("comb", math.comb),
    "perm": choose("perm", math.perm),
    "sum": aggregate("sum", sum),
    "prod": aggregate("prod", _product),
    "min": aggregate("min", min),
    "max": aggregate("max", max),
    "mean": aggregate("mean", lambda items: sum(items) / len(items)),
    "median": aggregate("median", statistics.median),
    "stdev": aggregate("stdev", _square_root_of(statistics.variance), 2),
    "pstdev": aggregate("pstdev", _square_root_of(statistics.pvariance)),
    "variance": aggregate("variance", statistics.variance, 2),
    "pvariance": aggregate("pvariance", statistics.pvariance),
    "mode": aggregate("mode", statistics.mode),
    "len": lambda *items: len(numbers("len", items)),
    "xor": bitwise(operator.xor, "xor"),
    "range": integers,
    "percent": percent,
    "percent_change": percent_change,
}
"""Name to function. `log` without a base is the natural logarithm, and is shown as `ln`."""

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau}
"""Name to value."""

ALIASES = {
    "average": "mean",
    "ave": "mean",
    "ceiling": "ceil",
    "count": "len",
    "int": "trunc",
    "avg": "mean",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "deg2rad": "radians",
    "rad2deg": "degrees",
    "fact": "factorial",
    "lg": "log10",
    "log_10": "log10",
    "log_2": "log2",
    "ncr": "comb",
    "npr": "perm",
    "nthroot": "root",
    "rad": "radians",
    "stddev": "stdev",
    "var": "variance",
    "product": "prod",
    "sgn": "sign",
    "std": "stdev",
}
"""Other spellings, rewritten before evaluation so that the shown expression says what was computed."""
