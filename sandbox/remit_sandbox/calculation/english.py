"""Calculations in English words: operators, powers, roots, percent and large numbers."""

from __future__ import annotations

import re

_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_SCALED = re.compile(rf"(\d+(?:,\d{{3}})*(?:\.\d+)?)\s*({'|'.join(_SCALES)})\b", re.IGNORECASE)

_WORDS = tuple(
    (re.compile(rf"\b{words}\b", re.IGNORECASE), sign)
    for words, sign in (
        (r"(?:raised\s+)?to\s+the\s+power\s+(?:of)?", " ** "),
        (r"divided\s+by", " / "),
        (r"multiplied\s+by|times", " * "),
        (r"plus", " + "),
        (r"minus", " - "),
        (r"modulo", " mod "),
        (r"squared", " **2 "),
        (r"cubed", " **3 "),
        (r"(?:the\s+)?square\s+root\s+of", " √ "),
        (r"(?:the\s+)?cube\s+root\s+of", " ∛ "),
        (r"per\s?cent(?!\s*\()", "% "),
    )
)


def in_signs(text: str) -> str:
    """Return `text` with English words for operators and scales replaced by signs; other words stay."""
    if not re.search("[a-zA-Z]{4}", text):
        return text
    text = _SCALED.sub(lambda match: f"({match[1]}*{_SCALES[match[2].lower()]})", text)
    for pattern, sign in _WORDS:
        text = pattern.sub(sign, text)
    return text
