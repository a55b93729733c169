"""When two calls are the same, nearly the same, and when a result says nothing."""

from __future__ import annotations

import json
import re
from typing import Any
from unicodedata import normalize

_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?")
_EDGES = " \t\n\r.,;:!?\"'`"


def canonical(arguments: str) -> str:
    """Return `arguments` so that key order and white space make no difference."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def nearly(arguments: str) -> str:
    """Return `arguments` so that what models vary when they try the same again makes no difference.

    That is: case, white space and punctuation around a text, full-width and other compatibility forms, `"3"` and
    `3.0` for 3, and parameters given as null or empty.
    """
    try:
        return json.dumps(_plain(json.loads(arguments)), sort_keys=True)
    except (ValueError, RecursionError, OverflowError):
        return arguments


def _plain(value: Any) -> Any:
    match value:
        case str():
            text = " ".join(normalize("NFKC", value).casefold().split()).strip(_EDGES)
            return float(text) if _NUMBER.fullmatch(text) else text
        case bool() | None:
            return value
        case int() | float():
            return float(value)
        case list():
            return [_plain(one) for one in value]
        case dict():
            return {name: _plain(one) for name, one in value.items() if one not in (None, "", [], {})}
        case _:
            return value


def says_nothing(value: Any) -> bool:
    """Say whether a result is empty: null, blank, or made of nothing else; numbers beside that count only if not 0."""
    if value is None or isinstance(value, str):
        return not (value or "").strip()
    if isinstance(value, (list, dict)):
        members = list(value.values()) if isinstance(value, dict) else value
        filled = [one for one in members if not says_nothing(one)]
        return not members or (len(filled) < len(members) and all(one in (0, False) for one in filled))
    return False


def value_of(text: str, *, structured: bool) -> Any:
    """Return the value that a result's text stands for, as far as `says_nothing` cares; the text where it is cut."""
    if not structured:
        return None if text in ("null", "(empty)") else text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
