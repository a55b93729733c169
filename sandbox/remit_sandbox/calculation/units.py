"""Conversion of units, exact: every factor is a ratio of integers, as the definitions of the units are."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from remit_sandbox.calculation.calculate import Calculation, calculate, settled_result
from remit_sandbox.calculation.limits import Number, approximate, is_exact, settled
from remit_sandbox.calculation.rendering import rendered
from remit_sandbox.calculation.unit_table import TABLE, TEMPERATURES
from remit_sandbox.errors import CalculationError


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One unit.

    Attributes:
        name: as it is shown.
        quantity: what it measures.
        factor: how many base units of the quantity it is.
        zero: what is added to an amount before it is multiplied; only temperatures have any.
    """

    name: str
    quantity: str
    factor: Fraction
    zero: Fraction = Fraction(0)


def convert(amount: str | float, unit: str, to: str) -> Calculation:
    """Convert an amount from one unit to another of the same quantity.

    Args:
        amount: a number, or an expression that `calculate` takes.
        unit: name or symbol of its unit: `km`, `square feet`, `km/h`, `°F`, `GiB`, `公里`.
        to: name or symbol of the wanted unit.

    Raises:
        CalculationError: an unknown unit, units of different quantities, or no number.
    """
    source, target = unit_named(unit), unit_named(to)
    if source.quantity != target.quantity:
        raise CalculationError(
            f"{source.name} is a unit of {source.quantity} and {target.name} one of {target.quantity}; "
            "only units of the same quantity can be converted"
        )
    given = calculate(repr(amount) if isinstance(amount, int | float) else amount)
    if isinstance(given.value, bool):
        raise CalculationError("a comparison is no amount")
    amount_given = given.value if isinstance(given.value, float) else Fraction(given.value)
    value = settled_result(_converted(amount_given, source, target))
    text = rendered(value)
    return Calculation(
        value=value, text=text, expression=f"{rendered(given.value)} {source.name} = {text} {target.name}"
    )


def _converted(amount: Number, source: Unit, target: Unit) -> Number:
    if is_exact(amount) and (source.quantity != "angle" or source == target):
        return settled((Fraction(amount) + source.zero) * source.factor / target.factor - target.zero)
    ratio = approximate(source.factor / target.factor)
    return settled((approximate(amount) + float(source.zero)) * ratio - float(target.zero))


def unit_named(written: str) -> Unit:
    """Return the unit that `written` means; capital letters count where they must (Mb, MB).

    Raises:
        CalculationError: it is unknown; the nearest known ones are named.
    """
    if not isinstance(written, str) or len(written) > 60:
        raise CalculationError("a unit is a short text, such as km or square feet")
    plain = _plain(written)
    lower = plain.lower() if len(plain) > 1 else plain
    for candidate in (plain, lower, _singular(lower)):
        if candidate in UNITS:
            return UNITS[candidate]
    near = get_close_matches(plain.lower(), [name for name in UNITS if name.isascii()], n=3, cutoff=0.7)
    hint = f"did you mean {', '.join(near)}?" if near else f"known are units of {', '.join(QUANTITIES)}"
    raise CalculationError(f"the unit {written[:40]!r} is unknown; {hint}")


def _plain(written: str) -> str:
    text = unicodedata.normalize("NFKC", written.replace("²", "^2").replace("³", "^3")).strip().strip(".")
    text = text.replace("µ", "u").replace("μ", "u").replace("**", "^").replace("·", "*")
    text = re.sub(r"\s*([/^*])\s*", r"\1", re.sub(r"[\s_-]+", " ", text))
    text = re.sub(r"\s+per\s+", "/", text, flags=re.IGNORECASE)
    text = re.sub(r"^deg(?:rees?)? (?=[cf]$)", "°", text, flags=re.IGNORECASE)
    return re.sub(r"^degrees? (?=celsius$|centigrade$|fahrenheit$)", "", text, flags=re.IGNORECASE)


def _singular(name: str) -> str:
    head, slash, rest = name.partition("/")
    if head in ("feet", "square feet", "cubic feet"):
        return f"{head[:-4]}foot{slash}{rest}"
    if head.endswith("inches"):
        head = head[:-2]
    elif head.endswith("s") and len(head) > 3:
        head = head[:-1]
    return f"{head}{slash}{rest}"


def _units() -> Iterator[tuple[str, Unit]]:
    for quantity, lines in TABLE.items():
        for line in lines.strip().splitlines():
            names, _, factor = line.rpartition("=")
            spelled = [name.strip() for name in names.split(",")]
            value = Fraction(math.pi) / 180 if factor.strip() == "degree" else Fraction(factor.strip())
            unit = Unit(name=spelled[0], quantity=quantity, factor=value)
            yield from ((name, unit) for name in spelled)
    for called, degree, zero in TEMPERATURES:
        unit = Unit(name=called[0], quantity="temperature", factor=Fraction(degree), zero=Fraction(zero))
        yield from ((name, unit) for name in called)


UNITS: dict[str, Unit] = dict(_units())
"""Name and symbol to unit. Symbols keep their capitals; names are in lower case."""

QUANTITIES = (*TABLE, "temperature")
"""What can be converted."""
