"""What a call would carry out: by a link, or in a query to a host that was granted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote_plus

from remit.provenance.hosts import place_of
from remit.provenance.identifiers import Identifier
from remit.provenance.ledger import Ledger
from remit.provenance.phrases import words_in
from remit.provenance.records import Source
from remit.provenance.strands import LONGEST_QUERY
from remit.provenance.values import Value, pieced, together

LABELS = ("untrusted", "private")

SHORTEST_READ = 4
"""Letters from which a word of a query is one that was read, and not one by chance."""

LONGEST_FREE_QUERY = 24
"""Letters of a query that are in nobody's words."""

LONGEST_FREE_PATH = 80
"""Letters of a path that are in nobody's words."""

_KEY = 8
"""Letters that the name in a query has at most, to be no value itself."""


def by_link(value: object, ledger: Ledger) -> Source | str | None:
    """Return what a link below something that the user named would carry out; None for nothing.

    What is named is the page, and what lies below it. A link that stands in a result as a whole was made by nobody who
    knew what else was read. Where it was put together for this call, its path and query must be in the user's words,
    or short, and hold nothing of a result.

    Returns:
        The result that it carries something of, or words for what else there is to say.
    """
    place = place_of(value) if isinstance(value, str) else None
    named = ledger.words.named_place(place) if place is not None else None
    if place is None or named is None or named == place or not ledger.labels:
        return None
    if ledger.sources_of(Identifier(kind="url", value=place, text="")):
        return None
    path = place.path[len(named.path) :]
    query = "" if place.query == named.query else place.query
    return _in_query(f"{query}#{place.fragment}", ledger) or _in_path(path, ledger)


def _in_query(query: str, ledger: Ledger) -> Source | str | None:
    free = 0
    for part in re.split(r"[&;#]", query):
        key, given, value = part.partition("=")
        says = [value, *([key] if not given or len(key) > _KEY else [])]
        words = [word for one in says for word in words_in(unquote_plus(one)) if not ledger.words.name_words(word)]
        for word in words:
            source = ledger.brought(word) if len(word) >= SHORTEST_READ else None
            if source is not None:
                return source
        free += sum(map(len, words))
    return "a long query that you did not name" if free > LONGEST_FREE_QUERY else None


def _in_path(path: Sequence[str], ledger: Ledger) -> Source | str | None:
    text = " ".join(path)
    words = [word for word in words_in(text) if not ledger.words.name_words(word)]
    for word in words:
        source = ledger.brought(word) if len(word) > SHORTEST_READ and any(map(str.isdigit, word)) else None
        if source is not None:
            return source
    for label in LABELS:
        source = ledger.strand_of(text, label)
        if source is not None:
            return source
    return "a long path that you did not name" if sum(map(len, words)) > LONGEST_FREE_PATH else None


def private_in(values: Sequence[Value], ledger: Ledger) -> tuple[Value, Source] | None:
    """Return the value of a call that carries private data, and the result that it is of; None when there is none."""
    if "private" not in ledger.labels:
        return None
    for one in values:
        source = _repeated(one.text, ledger) or _private(one.found, ledger)
        if source is not None:
            return one, source
    for text in together(values):
        source = _repeated(text, ledger)
        if source is not None:
            return values[0], source
    source = _private(tuple(pieced(values)), ledger)
    return None if source is None else (values[0], source)


def opaque_in(values: Sequence[Value], ledger: Ledger) -> Value | None:
    """Return the value of a query that could hold private data in a form in which nobody finds it; None for nothing.

    That is a code, an address or a long number that neither the user nor a result wrote, and a text too long to be
    looked through. Figures for a place or an amount are given as numbers, and hold little.
    """
    if "private" not in ledger.labels:
        return None
    if sum(len(one.text) for one in values) > LONGEST_QUERY:
        return max(values, key=lambda one: len(one.text))
    for one in values:
        if isinstance(one.value, str) and any(_from_nowhere(found, ledger) for found in one.found):
            return one
    return None


def labels_of(values: Sequence[Value], ledger: Ledger) -> frozenset[str]:
    """Return the labels of what some values repeat of the session's results: text, or an identifier."""
    texts = [*(one.text for one in values), *together(values)]
    rested = [ledger.rests_on(text, label) for text in texts for label in LABELS if label in ledger.labels]
    brought = [source for one in values for found in one.found for source in ledger.sources_of(found)]
    brought += [source for found in pieced(values) for source in ledger.sources_of(found)]
    return frozenset(label for source in (*rested, *brought) if source is not None for label in source.labels)


def _repeated(text: str, ledger: Ledger) -> Source | None:
    return ledger.rests_on(text, "private") or ledger.strand_of(text, "private")


def _private(found: Sequence[Identifier], ledger: Ledger) -> Source | None:
    sources = (source for one in found for source in ledger.sources_of(one) if "private" in source.labels)
    return next(sources, None)


def _from_nowhere(found: Identifier, ledger: Ledger) -> bool:
    return not ledger.sources_of(found) and not ledger.words.name_identifier(found)
