"""Handlers of the pack `calc`."""

from typing import Annotated

from pydantic import Field

from remit_sandbox import calculate
from remit_sandbox import calculation as calculations

Unit = Annotated[str, Field(min_length=1, max_length=60)]
Day = Annotated[str, Field(min_length=6, max_length=60)]
Count = Annotated[int, Field(ge=-100_000, le=100_000)]


def evaluate(expression: Annotated[str, Field(min_length=1, max_length=1000)]) -> dict[str, str]:
    """Calculate one arithmetic expression exactly. Use it for every calculation, however small.

    Understands + - * / // mod ^ ** ! parentheses, percentages ("15% of 240", "200 + 10%" is 220),
    comparisons, the constants pi, e and tau, and the functions abs, sign, round, floor, ceil, trunc, sqrt,
    cbrt, root, pow, exp, ln, log(x, base), log2, log10, sin, cos, tan (radians; write "60 deg" for degrees),
    asin, acos, atan, sinh, cosh, tanh, degrees, radians, hypot, gcd, lcm, factorial, comb, perm, sum, prod,
    min, max, mean, median, mode, variance, stdev, pstdev and percent_change(old, new). `log` without a base is the
    natural logarithm, halves round away from zero. No units or currencies: calc.convert converts units.

    Args:
        expression: numbers, operators and functions only, for example "(23 + 19) * 4".

    Returns:
        The expression as it was read, and its result (15 significant digits where it is not exact).
    """
    calculation = calculate(expression)
    return {"expression": calculation.expression, "result": calculation.text}


def convert(
    amount: Annotated[str, Field(min_length=1, max_length=1000)] | float, unit: Unit, to: Unit
) -> dict[str, str]:
    """Convert an amount from one unit to another. Use it for every question that changes a unit.

    Knows length, mass, time, area, volume, speed, temperature, data, energy, power, pressure, force, frequency and
    angle. No currencies.

    Args:
        amount: a number, or an expression such as "3/4".
        unit: unit of the amount, for example "km", "square feet", "°F", "GiB".
        to: the unit wanted.

    Returns:
        The conversion as it was made, and its result (15 significant digits where it is not exact).
    """
    conversion = calculations.convert(amount, unit, to)
    return {"conversion": conversion.expression, "result": conversion.text}


def date_difference(start: Day, end: Day) -> dict[str, str | int]:
    """Count the days from one date to another. Use it for every question about how long it is between two dates.

    The first day is not counted; the count is negative when `end` is before `start`.

    Args:
        start: first date, best as "2024-02-29".
        end: second date.

    Returns:
        Both dates with their weekdays, the days, the days from Monday to Friday, and the same as years, months, days.
    """
    found = calculations.date_difference(start, end)
    return {
        "start": f"{found.start:%Y-%m-%d, %A}",
        "end": f"{found.end:%Y-%m-%d, %A}",
        "days": found.days,
        "weekdays": found.weekdays,
        "years_months_days": ", ".join(
            counted(number, unit)
            for number, unit in ((found.years, "year"), (found.months, "month"), (found.rest, "day"))
        ),
    }


def counted(number: int, unit: str) -> str:
    """Return `1 day`, `2 days`."""
    return f"{number} {unit}" if abs(number) == 1 else f"{number} {unit}s"


def date_after(start: Day, years: Count = 0, months: Count = 0, weeks: Count = 0, days: Count = 0) -> dict[str, str]:
    """Tell the date that lies some time after another. Use it for every question about a date to come or gone by.

    Negative counts look back.

    Args:
        start: the date to count from, best as "2024-02-29".
        years: years to add.
        months: months to add; a day that the month lacks becomes its last.
        weeks: weeks to add, after years and months.
        days: days to add, after years and months.

    Returns:
        The date and its weekday.
    """
    day = calculations.date_after(start, years=years, months=months, weeks=weeks, days=days)
    return {"date": f"{day:%Y-%m-%d}", "weekday": f"{day:%A}"}
