"""JSON read strictly: what two parsers could read differently is an error, never a guess.

Duplicate keys, NaN and infinities, lone surrogates, integers beyond 2^53-1 and numbers that do not
survive a double are refused; raw control characters inside strings are no damage (RFC 8259 asks for
escapes, models often forget them, and there is only one way to read them).
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

MAX_DEPTH = 100
"""Deepest nesting of objects and arrays that is read."""

MAX_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""

WHITESPACE = " \t\n\r"

_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_NONZERO = re.compile(r"[1-9]")


class BadJson(ValueError):
    """The text is not JSON that can be taken without guessing; the message is fit for a model."""


def parse_strict(text: str) -> Any:
    """Parse one JSON value; raise `BadJson` saying where and why it cannot be taken as it stands."""
    _check_depth(text)
    start = len(text) - len(text.lstrip(WHITESPACE))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise BadJson(f"not valid JSON at character {error.pos} ({near(text, error.pos)}): {error.msg}") from None
    except RecursionError:
        raise BadJson("the JSON is nested too deeply") from None
    if text[end:].strip(WHITESPACE):
        rest = end + len(text[end:]) - len(text[end:].lstrip(WHITESPACE))
        raise BadJson(f"more text after the end of the JSON value, at character {rest} ({near(text, rest)})")
    _check_surrogates(value)
    return value


def dump_exact(value: Any) -> bytes:
    """Write `value` as compact UTF-8 JSON, keys in the order they came."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def near(text: str, position: int) -> str:
    """Quote the few characters of `text` around `position`, escaped to plain ASCII."""
    if position >= len(text):
        return "at its end"
    return "near " + json.dumps(text[max(0, position - 8) : position + 12])


def _check_depth(text: str) -> None:
    depth = 0
    for token in _NESTING.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise BadJson(f"nested more than {MAX_DEPTH} levels deep at character {token.start()}")
        elif token[0] in "]}":
            depth -= 1


def _check_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadJson("a text holds half of a surrogate pair, which is no character") from None
    except RecursionError:
        raise BadJson("the JSON is nested too deeply") from None


def _integer(text: str) -> int:
    if len(text) > 17 or abs(number := int(text)) > MAX_INTEGER:
        shown = text if len(text) <= 24 else f"{text[:20]}..."
        raise BadJson(f"the integer {shown} is too large: integers go up to {MAX_INTEGER}")
    return number


def _decimal(text: str) -> float:
    number = float(text)
    mantissa = re.split("[eE]", text, maxsplit=1)[0]
    if number in (float("inf"), float("-inf")) or (number == 0 and _NONZERO.search(mantissa)):
        raise BadJson(f"the number {text[:24]} is outside the range of a double")
    if number != 0 and Decimal(text) != Decimal(repr(number)):
        raise BadJson(f"the number {text[:24]} has more digits than a double can hold ({number!r} would be left)")
    return number


def _constant(text: str) -> Any:
    raise BadJson(f"{text} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise BadJson(f"the key {json.dumps(twice)} stands twice in one object")
    return members


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal, parse_constant=_constant, strict=False
)
