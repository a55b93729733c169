"""Characters that show nothing, wherever text of strangers is put before a person or compared with a name."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_IGNORABLE = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""The Unicode property Default_Ignorable_Code_Point, which Python does not have: a font without a glyph for one of them
shows nothing. Code points that are not assigned yet are in it, so that a new version of Unicode adds none."""

_BLANK = re.compile(r"\b(BLANK|FILLER|SELECTOR|NULL|SPACE|INVISIBLE|OBJECT REPLACEMENT)\b")
"""Words in the Unicode names of letters, marks and symbols that have no ink, or that only choose another's glyph."""


@lru_cache(maxsize=8192)
def is_unseen(letter: str) -> bool:
    """Tell whether one character shows nothing, or nothing of its own: every control, all white space but the space.

    By what Unicode says of it: its general category, Default_Ignorable_Code_Point, and its name.
    """
    category = unicodedata.category(letter)
    if category[0] == "C" or (category[0] == "Z" and letter != " "):
        return True
    number = ord(letter)
    if any(first <= number <= last for first, last in _IGNORABLE):
        return True
    return category[0] in "LMS" and _BLANK.search(unicodedata.name(letter, "")) is not None
