"""Words as they are indexed and searched: Chinese, Japanese and Korean letter by letter, others word by word."""

from __future__ import annotations

import re
import unicodedata

MOST_TERMS = 24
"""Words of a query that count."""

_IDEOGRAPH = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])")
_MARK = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+")
_SAYING_NOTHING = frozenset(
    (
        *("a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do"),
        *("does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it", "its"),
        *("me", "my", "of", "on", "or", "our", "she", "so", "that", "the", "their", "them", "they", "this", "to", "us"),
        *("was", "we", "were", "what", "when", "where", "which", "who", "will", "with", "would", "you", "your", "s"),
    )
)


def indexed(text: str) -> str:
    """Return `text` in the form that goes into the index: what differs only in case or in its Unicode form is alike.

    Marks that no letter takes in are left out; letters with marks are compared without them by the index itself.
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _IDEOGRAPH.sub(r" \1 ", _MARK.sub("", plain))


def terms(query: str) -> list[str]:
    """Return the words to look for, each once; those that say nothing only where there are no others."""
    found = list(dict.fromkeys(_WORD.findall(indexed(query))))
    telling = [word for word in found if word not in _SAYING_NOTHING]
    return (telling or found)[:MOST_TERMS]
