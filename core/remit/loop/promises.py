"""A reply that calls nothing and only says what it is about to do."""

from __future__ import annotations

import re

LONGEST = 800
"""Characters from which on a reply is an answer, whatever its last sentence says."""

_DOING = (
    r"(?:look|search|check|call|use|find|fetch|get|calculate|compute|work (?:it|that|this) out|read|open|run|query|"
    r"retrieve|gather|try|see what|start by|begin by|proceed|look up|list|convert|evaluate)"
)
_PROMISE = re.compile(
    r"(?:\b(?:i will|i'll|i shall|i am going to|i'm going to|i need to|let me|let's|first,? i will|i am about to)\s+"
    rf"(?:now |first |just |quickly |then |go ahead and |try to )*{_DOING}\b)"
    r"|(?:\b(?:ich werde|lass mich|ich muss)\b.{0,80}\b(?:nachsehen|nachschauen|suchen|pr\u00fcfen|berechnen|abrufen|"
    r"aufrufen|lesen|ausf\u00fchren|nachschlagen)\b)"
    r"|(?:\b(?:one|just a|give me a) (?:moment|second)\b)",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?\u2026:])\s+")


def promises(text: str) -> bool:
    """Say whether `text` ends in a promise to do something: "I will now look that up...".

    Only the last sentence counts, so that an answer may say what was done on the way. English and German.
    """
    plain = text.strip().replace("\u2019", "'")
    if not plain or len(plain) > LONGEST:
        return False
    return _PROMISE.search(_SENTENCES.split(plain)[-1]) is not None
