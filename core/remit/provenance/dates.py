"""Calendar dates as people and machines write them, reduced to one form."""

from __future__ import annotations

import re
from collections.abc import Iterator

Date = tuple[int | None, int, int]
"""Year (None when none was written), month and day."""

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_DAY = r"(?P<{0}>[0-3]?[0-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<{0}>[12][0-9]{{3}})"

_FIGURES = (
    rf"\b{_YEAR.format('iso_year')}[-/.](?P<iso_month>[01]?[0-9])[-/.](?P<iso_day>[0-3]?[0-9])(?![0-9])"
    rf"|\b(?P<first>[0-3]?[0-9])(?P<between>[./])(?P<second>[0-3]?[0-9])[./]{_YEAR.format('last_year')}\b"
)

IN_FIGURES = re.compile(_FIGURES, re.ASCII)
"""The forms that are figures alone, and could be taken for a long number."""

DATES = re.compile(
    rf"{_FIGURES}"
    rf"|\b(?P<month_name>{_MONTH})\.?\s+{_DAY.format('after')}\b(?:,?\s+{_YEAR.format('after_year')})?"
    rf"|\b{_DAY.format('before')}\s+(?:of\s+)?(?P<name_month>{_MONTH})\b\.?(?:,?\s+{_YEAR.format('before_year')})?",
    re.IGNORECASE | re.ASCII,
)
"""Every form that is understood. With slashes, the month stands in the middle or at the start: both are readings."""


def dates(text: str) -> Iterator[Date]:
    """Yield every reading of every date in `text`, each as (year or None, month, day)."""
    for match in DATES.finditer(text):
        yield from readings(match)


def certain_dates(text: str) -> Iterator[Date]:
    """Yield the dates in `text` that can be read in one way only: `3/4/2026` is a day in March, or one in April."""
    for match in DATES.finditer(text):
        found = set(readings(match))
        if len(found) == 1:
            yield from found


def readings(match: re.Match[str]) -> Iterator[Date]:
    """Yield the readings of one match of `DATES` or `IN_FIGURES`; none for a month or day that there is not."""
    part = match.groupdict()
    if part["iso_year"]:
        found = [(part["iso_year"], int(part["iso_month"]), int(part["iso_day"]))]
    elif part["last_year"]:
        one, other = int(part["first"]), int(part["second"])
        found = [(part["last_year"], other, one)]
        if part["between"] == "/":
            found.append((part["last_year"], one, other))
    elif part["month_name"]:
        found = [(part["after_year"], _number(part["month_name"]), int(part["after"]))]
    else:
        found = [(part["before_year"], _number(part["name_month"]), int(part["before"]))]
    for year, month, day in found:
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield (int(year) if year else None, month, day)


def same_day(said: Date, meant: Date) -> bool:
    """Tell whether `said` names `meant`; a date without a year names that day of any year."""
    return said[1:] == meant[1:] and (said[0] is None or meant[0] is None or said[0] == meant[0])


def _number(month: str) -> int:
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(month.lower()[:3]))
