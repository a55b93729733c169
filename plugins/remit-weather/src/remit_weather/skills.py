"""The skill of the weather pack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit_weather.places import find_place
from remit_weather.service import Service
from remit_weather.sky import in_words

_CURRENT = "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m"
_DAILY = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max"
_UNITS = {
    "temperature": "°C",
    "precipitation": "mm",
    "humidity": "%",
    "wind_speed": "km/h",
    "precipitation_probability": "%",
}


def get_weather(city: str, ctx) -> dict[str, Any]:
    """Get the weather in a city: now, today and the next three days.

    Use it for any question about temperature, rain, snow, wind or the forecast of a place, also to
    decide what to wear or whether to go out. Temperatures are in degrees Celsius.

    Args:
        city: Name of the city in any language, such as Paris or 北京; add the region or country
            after a comma where the name is ambiguous, such as Springfield, Illinois.

    Returns:
        The place that was found, the weather there now, today and on the next three days, and the units.
    """
    tls = bool(ctx.settings["tls"])
    place = find_place(Service(str(ctx.settings["geocoder"]), tls=tls), city)
    service = Service(str(ctx.settings["endpoint"]), tls=tls)
    return summary(place, service.get("/v1/forecast", _question(place)))


def _question(place: Mapping[str, Any]) -> dict[str, object]:
    return {
        "latitude": place["latitude"],
        "longitude": place["longitude"],
        "current": _CURRENT,
        "daily": _DAILY,
        "timezone": "auto",
        "forecast_days": 4,
    }


def summary(place: Mapping[str, Any], forecast: Mapping[str, Any]) -> dict[str, Any]:
    """What the model is told, from the answers of the two requests.

    Raises:
        ConnectionError: the forecast lacks the current weather.
    """
    now = forecast.get("current")
    if not isinstance(now, dict) or now.get("temperature_2m") is None:
        raise ConnectionError("the weather service gave no current weather for this place")
    today, *following = _days(forecast.get("daily")) or [{}]
    return {
        "city": place.get("name"),
        "region": place.get("admin1"),
        "country": place.get("country"),
        "local_time": now.get("time"),
        "temperature": now["temperature_2m"],
        "feels_like": now.get("apparent_temperature"),
        "condition": in_words(now.get("weather_code")),
        "humidity": now.get("relative_humidity_2m"),
        "wind_speed": now.get("wind_speed_10m"),
        "precipitation": now.get("precipitation"),
        "today": today,
        "next_days": following,
        "units": _UNITS,
    }


def _days(daily: object) -> list[dict[str, Any]]:
    if not isinstance(daily, dict) or not isinstance(daily.get("time"), list):
        return []
    return [_day(daily, index, date) for index, date in enumerate(daily["time"])]


def _day(daily: Mapping[str, Any], index: int, date: object) -> dict[str, Any]:
    def value(name: str) -> Any:
        column = daily.get(name)
        return column[index] if isinstance(column, list) and index < len(column) else None

    return {
        "date": date,
        "min": value("temperature_2m_min"),
        "max": value("temperature_2m_max"),
        "precipitation_probability": value("precipitation_probability_max"),
        "condition": in_words(value("weather_code")),
    }
