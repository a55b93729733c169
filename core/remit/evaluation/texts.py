"""Comparing texts as people do, and looking for patterns without ever hanging."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema_rs import Validator

LONGEST = 200_000
"""Characters of an answer that are looked at."""

_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])[-+]?(?:\d+(?:,\d+)*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
"""A number, or several with commas between: whatever is found is passed by, so that no text is looked at twice."""

_GROUPED = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?![\d,])")
_WIDE = {**{0xFF10 + digit: str(digit) for digit in range(10)}, 0xFF0C: ",", 0xFF0E: ".", 0xFF0D: "-", 0x2212: "-"}
"""Full-width digits and marks, and the minus sign, as ASCII has them."""


def plain(text: str) -> str:
    """Return `text` in one Unicode form, with single spaces and none around it."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def folded(text: str) -> str:
    """Return `text` as `plain` does, without upper and lower case."""
    return plain(unicodedata.normalize("NFC", text).casefold())


def numbers(text: str) -> Iterator[float]:
    """Yield the numbers in `text`: 1,234.5 is one; a sign counts where no word or digit stands before it."""
    for found in _NUMBER.finditer(text[:LONGEST].translate(_WIDE)):
        grouped = _GROUPED.match(found[0])
        yield from map(float, [found[0].replace(",", "")] if grouped else found[0].split(","))


def finds(pattern: str, text: str) -> bool:
    """Tell whether `pattern` is found in `text`, in time linear in its length.

    Raises:
        ValueError: the engine cannot compile it (look-around, back-references, too large).
    """
    return bool(_compiled(pattern).is_valid(text[:LONGEST]))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Validator:
    from remit.errors import SchemaError
    from remit.packs.validator import compile_schema

    try:
        return compile_schema({"type": "string", "pattern": pattern})
    except SchemaError as error:
        raise ValueError(f"{error.message.rstrip('.')} (look-around and back-references are not offered)") from error
