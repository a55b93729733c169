"""Units and dates: exact where the definitions are, refused where a reading would be a guess."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit_sandbox import CalculationError
from remit_sandbox.calculation import convert, date_after, date_difference
from remit_sandbox.calculation.unit_table import TABLE
from remit_sandbox.calculation.units import UNITS, unit_named


@pytest.mark.parametrize(
    ("amount", "unit", "to", "text"),
    [
        (1, "mile", "km", "1.609344"),
        ("42.195", "kilometres", "miles", "26.2187574564543"),
        (100, "°C", "°F", "212"),
        (-40, "fahrenheit", "celsius", "-40"),
        (0, "K", "degrees C", "-273.15"),
        (98.6, "degrees Fahrenheit", "Degree Celsius", "37"),
        (10, "deg c", "K", "283.15"),
        (1, "GiB", "MiB", "1024"),
        (8, "Mb", "MB", "1"),
        (100, "Mbps", "MB/s", "12.5"),
        (90, "km/h", "m/s", "25"),
        (90, "kilometers per hour", "mph", "55.9234073013601"),
        (6, "feet", "inches", "72"),
        (1, "square mile", "acres", "640"),
        (1, "us gallon", "L", "3.785411784"),
        ("1/2", "cup", "ml", "118.29411825"),
        (1, "week", "hours", "168"),
        (180, "degrees", "rad", "3.14159265358979"),
        (1, "kWh", "kJ", "3600"),
        (1, "atm", "mmHg", "760"),
        (10, "斤", "公斤", "5"),
        (15, "亩", "公顷", "1"),
        ("1,500", "m", "km", "1.5"),
        ("2 + 3", "kg", "g", "5000"),
        (1, "m", "m", "1"),
    ],
)
def test_conversions(amount: str | float, unit: str, to: str, text: str) -> None:
    assert convert(amount, unit, to).text == text


@pytest.mark.parametrize(
    ("amount", "unit", "to", "says"),
    [
        (1, "km", "kg", "same quantity"),
        (1, "kilometr", "m", "kilometer"),
        (1, "parsnips", "m", "known are units of length"),
        (1, "ton", "kg", "did you mean"),
        (1, "M", "km", "unknown"),
        ("", "m", "km", "empty"),
        ("2 < 3", "m", "km", "no amount"),
        (1, "m" * 61, "km", "short text"),
        (float("nan"), "m", "km", "unknown"),
        (1, "USD", "EUR", "unknown"),
    ],
)
def test_what_cannot_be_converted_is_refused(amount: str | float, unit: str, to: str, says: str) -> None:
    with pytest.raises(CalculationError, match=says):
        convert(amount, unit, to)


def test_no_name_means_two_units() -> None:
    names = [name.strip() for lines in TABLE.values() for line in lines.strip().splitlines()
             for name in line.rpartition("=")[0].split(",")]  # fmt: skip
    assert len(names) == len(set(names))
    for name in names:
        assert unit_named(name) == UNITS[name]


@given(
    st.fractions(-(10**6), 10**6, max_denominator=10**4), st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(UNITS))
)
def test_there_and_back_is_where_it_began(amount: Fraction, one: str, other: str) -> None:
    first, second = UNITS[one], UNITS[other]
    if first.quantity != second.quantity:
        with pytest.raises(CalculationError):
            convert(f"{amount.numerator}/{amount.denominator}", one, other)
        return
    there = convert(f"{amount.numerator}/{amount.denominator}", one, other).value
    if isinstance(there, int | Decimal | Fraction):
        exact = Fraction(there)
        back = convert(f"({exact.numerator})/{exact.denominator}", other, one).value
        assert isinstance(back, float) or Fraction(back) == amount


@given(st.dates(), st.dates())
def test_differences_agree_with_the_calendar(one: date, other: date) -> None:
    found = date_difference(one.isoformat(), other.isoformat())
    assert found.days == (other - one).days
    early, late = min(one, other), max(one, other)
    back = date_after(early.isoformat(), years=abs(found.years), months=abs(found.months), days=abs(found.rest))
    assert back == late
    if (late - early).days < 400:
        days = [early + timedelta(days=step) for step in range(1, (late - early).days + 1)]
        assert abs(found.weekdays) == sum(day.weekday() < 5 for day in days)


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2024-02-29", date(2024, 2, 29)),
        ("2024/2/9", date(2024, 2, 9)),
        ("2024.02.09", date(2024, 2, 9)),
        ("2024-02-29T10:00:00Z", date(2024, 2, 29)),
        ("29 February 2024", date(2024, 2, 29)),
        ("1st Mar 2024", date(2024, 3, 1)),
        ("Sept. 9, 2024", None),
        ("Sep. 9, 2024", date(2024, 9, 9)),
        ("December 25th, 2026", date(2026, 12, 25)),
        ("2024年2月29日", date(2024, 2, 29)),
        ("25.12.2026", date(2026, 12, 25)),
        ("12/25/2026", date(2026, 12, 25)),
        ("03/03/2024", date(2024, 3, 3)),
        ("03/04/2024", None),
        ("2023-02-29", None),
        ("tomorrow", None),
        ("", None),
        ("2024-13-01", None),
    ],
)
def test_dates_as_people_write_them(written: str, day: date | None) -> None:
    if day is None:
        with pytest.raises(CalculationError):
            date_after(written)
    else:
        assert date_after(written) == day


def test_ambiguous_dates_name_both_readings() -> None:
    with pytest.raises(CalculationError, match="2024-03-04 or 2024-04-03"):
        date_difference("03/04/2024", "2024-01-01")


def test_the_ends_of_months_and_of_the_calendar() -> None:
    assert date_after("2024-01-31", months=1) == date(2024, 2, 29)
    assert date_after("2024-02-29", years=1) == date(2025, 2, 28)
    assert date_after("2024-03-31", months=-1, days=1) == date(2024, 3, 1)
    for far in ({"years": 9000}, {"days": 10**9}, {"months": -30000}):
        with pytest.raises(CalculationError, match="years 1 to 9999"):
            date_after("2024-01-01", **far)
