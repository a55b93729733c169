"""Differences of dates, and dates some time away. Days of the proleptic Gregorian calendar, without time zones."""

from __future__ import annotations

import calendar
import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta

from remit_sandbox.errors import CalculationError

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.lower(): number for number, name in enumerate(calendar.month_abbr) if name
}
"""English names and abbreviations of the months."""

_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]\d{2}:\d{2}.*)?")
_YEAR_FIRST = re.compile(r"(\d{4})[/.](\d{1,2})[/.](\d{1,2})")
_CHINESE = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})[日号]")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")
_NUMBERS = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})")


@dataclass(frozen=True, kw_only=True)
class DateDifference:
    """How far `end` is from `start`; everything is negative when it lies before.

    Attributes:
        start: first date.
        end: second date.
        days: days from the one to the other, the first not counted.
        weekdays: days among them that are no Saturday or Sunday, the first not counted.
        years: whole years, `months` and `rest` what remains: 2024-01-31 to 2024-03-01 is 1 month and 1 day.
        months: whole months after the whole years.
        rest: days after the whole months.
    """

    start: date
    end: date
    days: int
    weekdays: int
    years: int
    months: int
    rest: int


def date_difference(start: str, end: str) -> DateDifference:
    """Return how far the date `end` is from the date `start`.

    Raises:
        CalculationError: one of them is no date, or can be read two ways.
    """
    first, last = date_from(start), date_from(end)
    sign = 1 if last >= first else -1
    early, late = (first, last) if sign > 0 else (last, first)
    whole = (late.year - early.year) * 12 + late.month - early.month
    while _months_later(early, whole) > late:
        whole -= 1
    rest = (late - _months_later(early, whole)).days
    return DateDifference(
        start=first,
        end=last,
        days=sign * (late - early).days,
        weekdays=sign * _weekdays(early, late),
        years=sign * (whole // 12),
        months=sign * (whole % 12),
        rest=sign * rest,
    )


def date_after(start: str, *, years: int = 0, months: int = 0, weeks: int = 0, days: int = 0) -> date:
    """Return the date that is so much later than `start`: years and months first, then weeks and days.

    A day that the month does not have becomes its last one: a month after January 31 is the end of February.

    Raises:
        CalculationError: `start` is no date, or the result lies outside the years 1 to 9999.
    """
    try:
        return _months_later(date_from(start), 12 * years + months) + timedelta(weeks=weeks, days=days)
    except (OverflowError, ValueError):
        raise CalculationError("the date lies outside the years 1 to 9999") from None


def _months_later(start: date, months: int) -> date:
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))


def _weekdays(early: date, late: date) -> int:
    weeks, rest = divmod((late - early).days, 7)
    return 5 * weeks + sum((early.weekday() + step) % 7 < 5 for step in range(1, rest + 1))


def date_from(written: str) -> date:
    """Read a date: `2024-02-29`, `2024/2/29`, `29 Feb 2024`, `February 29, 2024`, `2024年2月29日`.

    Raises:
        CalculationError: it is none, or can be read two ways, as 03/04/2024 can.
    """
    if not isinstance(written, str) or len(written) > 60:
        raise CalculationError("a date is text such as 2024-02-29")
    text = unicodedata.normalize("NFKC", written).strip()
    parts = _parts(text)
    if parts is None:
        raise CalculationError(f"{written[:40]!r} is no date; write it as 2024-02-29")
    try:
        return date(*parts)
    except ValueError as error:
        raise CalculationError(f"{written[:40]!r} is no date of the calendar: {error}") from None


def _parts(text: str) -> tuple[int, int, int] | None:
    for pattern in (_ISO, _YEAR_FIRST, _CHINESE):
        if found := pattern.fullmatch(text):
            return int(found[1]), int(found[2]), int(found[3])
    if (found := _DAY_FIRST.fullmatch(text)) and (month := MONTHS.get(found[2].lower())):
        return int(found[3]), month, int(found[1])
    if (found := _MONTH_FIRST.fullmatch(text)) and (month := MONTHS.get(found[1].lower())):
        return int(found[3]), month, int(found[2])
    return _unambiguous(found) if (found := _NUMBERS.fullmatch(text)) else None


def _unambiguous(found: re.Match[str]) -> tuple[int, int, int]:
    """Read day and month where only one order makes a date."""
    first, second, year = int(found[1]), int(found[2]), int(found[3])
    if first != second and first <= 12 and second <= 12:
        raise CalculationError(
            f"'{found[0]}' can be {year}-{first:02}-{second:02} or {year}-{second:02}-{first:02}; write one of these"
        )
    return (year, first, second) if second > 12 else (year, second, first)
