"""Handlers of the pack `clock`."""

from datetime import datetime
from difflib import get_close_matches
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field


def now(timezone: Annotated[str, Field(min_length=1, max_length=64)] = "UTC") -> dict[str, str]:
    """Tell the current date, time and weekday in a time zone. Use it whenever an answer depends on today or now.

    Args:
        timezone: IANA name of the time zone, for example "Asia/Shanghai" or "Europe/Paris".

    Returns:
        The time zone, ISO 8601 date and time with offset, date, time of day, and weekday in English.
    """
    moment = datetime.now(zone(timezone))
    return {
        "timezone": timezone,
        "iso": moment.isoformat(timespec="seconds"),
        "date": moment.date().isoformat(),
        "time": f"{moment:%H:%M:%S}",
        "weekday": f"{moment:%A}",
    }


def zone(name: str) -> ZoneInfo:
    """Return the time zone `name`; a ValueError names the nearest known ones."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = nearest(name)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; use an IANA name such as Europe/Paris"
        raise ValueError(f"there is no time zone {name!r}{hint}") from None


def nearest(name: str) -> list[str]:
    """Return up to three known time zones that look like `name`, or whose city it is."""
    known = sorted(available_timezones())
    city = name.strip().replace(" ", "_").rpartition("/")[2].lower()
    same_city = [zone_name for zone_name in known if zone_name.rpartition("/")[2].lower() == city]
    return (same_city or get_close_matches(name, known, n=3))[:3]
