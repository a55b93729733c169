"""From the name of a city, in any script, to a place on the map."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from remit_weather.service import Service

_LANGUAGES = (("HIRAGANA", "ja"), ("KATAKANA", "ja"), ("HANGUL", "ko"), ("CJK", "zh"), ("CYRILLIC", "ru"))
_LANGUAGES += (("ARABIC", "ar"), ("GREEK", "el"), ("HEBREW", "he"), ("DEVANAGARI", "hi"), ("THAI", "th"))


def find_place(service: Service, city: str) -> Mapping[str, Any]:
    """The best match for a city such as `Paris`, `北京` or `Springfield, Illinois`.

    Raises:
        ValueError: there is no such city, with what to try instead.
    """
    name = " ".join(city.split())
    if not 2 <= len(name) <= 100:
        raise ValueError(f"{name[:100]!r} is no name of a city: give its name in full, such as Paris")
    found = _search(service, name)
    if not found and (part := _name_part(name)) != name:
        found = _search(service, part)
        found = _within(found, name.replace("，", ",").split(",")[1:])
    if not found:
        raise ValueError(
            f"there is no city named {name!r} in the weather service: check the spelling, "
            "or try its English name or a larger city near it"
        )
    return found[0]


def _search(service: Service, name: str) -> list[Mapping[str, Any]]:
    parameters = {"name": name, "count": 10, "language": language_of(name), "format": "json"}
    results = service.get("/v1/search", parameters).get("results")
    if not isinstance(results, list):
        return []
    return [place for place in results if isinstance(place, dict) and "latitude" in place and "longitude" in place]


def _name_part(name: str) -> str:
    """The city without its region or country, and without the Chinese word for city."""
    part = name.replace("，", ",").split(",")[0].strip()
    return part.removesuffix("市") if len(part) > 2 else part


def _within(places: list[Mapping[str, Any]], wanted: list[str]) -> list[Mapping[str, Any]]:
    """Places in a named region or country first; all of them where none is."""
    words = {word.strip().casefold() for word in wanted if word.strip()}
    keys = ("country", "country_code", "admin1", "admin2")
    return sorted(places, key=lambda place: not any(str(place.get(key, "")).casefold() in words for key in keys))


def language_of(text: str) -> str:
    """The language to search in, by the script of the name; English for Latin letters."""
    scripts = {unicodedata.name(character, "").split(" ")[0] for character in text}
    return next((language for script, language in _LANGUAGES if script in scripts), "en")
