"""Points of time as people write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from remit.errors import UsageError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(\d{1,6})\s?([smhdw])(?:\s?ago)?")
_DAYS = {"today": 0, "yesterday": 1}
FORMS = "2h, 3d, yesterday, 2026-11-30 or 2026-11-30T08:15"
"""What a message shows."""


def moment(text: str, *, now: datetime, end: bool = False) -> float:
    """Return the point of time that `text` means, in seconds since 1970.

    Args:
        text: `2h` or `3d` (ago), `now`, `today`, `yesterday`, or ISO 8601; without a zone it is local time.
        now: the present, with a zone.
        end: the end of what is named: a day counts whole.

    Raises:
        UsageError: it is none of these.
    """
    plain = text.strip().lower()
    if plain == "now":
        return now.timestamp()
    if found := _AGO.fullmatch(plain):
        return (now - timedelta(**{_UNITS[found[2]]: int(found[1])})).timestamp()
    if plain in _DAYS:
        return _day(now - timedelta(days=_DAYS[plain]), end=end)
    try:
        read = datetime.fromisoformat(text.strip())
        return _day(read, end=end) if len(text.strip()) <= 10 else read.timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text[:100]!r} is no point of time", remedy=f"write it as {FORMS}") from None


def _day(day: datetime, *, end: bool) -> float:
    """Return the beginning or the end of a local day; a day can have 23 or 25 hours."""
    start = day.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return (start + timedelta(days=1) if end else start).timestamp()
