"""What one session has heard and read: the sources that a value can have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from remit.provenance.identifiers import Identifier, identifiers
from remit.provenance.phrases import words_in
from remit.provenance.records import Records, Source, parsed
from remit.provenance.strands import Strands
from remit.provenance.words import Words

RUN_OF_WORDS = 7
"""Words in a row that a text shares with another only by resting on it."""

LONG = 300
"""Words from which every seventh run of a text is looked up, not each."""

MOST_RUNS = 400_000
"""Runs of words that are kept of one session; a text beyond them counts as resting on every untrusted result."""


class Ledger:
    """What a session's user said and its skills brought, in the order in which it came.

    Text that a user pastes or attaches is not the user's own words: give it to `read`.
    """

    def __init__(self) -> None:
        self.words = Words()
        self.records = Records()
        self._identifiers: dict[tuple[str, Any], list[Source]] = defaultdict(list)
        self._runs: dict[str, dict[int, Source]] = defaultdict(dict)
        self._full: dict[str, Source] = {}
        self._strands: dict[str, Strands] = defaultdict(Strands)
        self._brought: dict[str, Source] = {}
        self._full_of_words: Source | None = None

    def hear(self, text: str) -> None:
        """Add what the user said."""
        self.words.hear(text)

    def read(self, text: str, *, skill: str, call: str, labels: frozenset[str], structured: bool = True) -> None:
        """Add a result as the model read it.

        Args:
            text: of the result; its structure is used where it is JSON.
            skill: full name of the skill that gave it.
            call: id of the call.
            labels: `untrusted`, `private`.
            structured: the skill's code made the structure; in a result that is one text a stranger may have.
        """
        source = Source(skill=skill, call=call, labels=labels)
        value = parsed(text) if structured else None
        if value is not None:
            self.records.add(value, source)
        for found in identifiers(text):
            self._identifiers[found.kind, found.value].append(source)
        words = words_in(text) if labels else []
        for label in labels:
            self._keep_runs(words, label, source)
            self._strands[label].keep(text, source)
        self._keep_words(set(words), source)

    def sources_of(self, found: Identifier) -> tuple[Source, ...]:
        """Return the results that brought an identifier, oldest first."""
        return tuple(self._identifiers.get((found.kind, found.value), ()))

    @property
    def labels(self) -> Collection[str]:
        """The labels of all that was read."""
        return self._runs.keys()

    def brought(self, word: str) -> Source | None:
        """Return the first result with a label that has a word, None when none has; one that was too long has all."""
        return self._brought.get(word) or self._full_of_words

    def strand_of(self, text: str, label: str) -> Source | None:
        """Return a result with this label of which `text` carries a long run of letters, however it is written down.

        What the user wrote is the user's own.
        """
        strands = self._strands.get(label)
        return None if strands is None else strands.carried_by(text, self.words.name_letters)

    def rests_on(self, text: str, label: str) -> Source | None:
        """Return a result with this label that `text` repeats, None when there is none.

        Repeated are `RUN_OF_WORDS` words in a row; in a text of more than `LONG` words, twice as many.
        """
        known = self._runs.get(label)
        if not known:
            return None
        words = words_in(text)
        step = 1 if len(words) <= LONG else RUN_OF_WORDS
        found = next((known[run] for run in _runs(words, step) if run in known), None)
        return found or (self._full.get(label) if len(words) >= RUN_OF_WORDS else None)

    def _keep_words(self, words: Collection[str], source: Source) -> None:
        if len(self._brought) + len(words) > MOST_RUNS:
            self._full_of_words = self._full_of_words or source
            return
        for word in words:
            self._brought.setdefault(word, source)

    def _keep_runs(self, words: Sequence[str], label: str, source: Source) -> None:
        kept = self._runs[label]
        for run in _runs(words, 1):
            if len(kept) >= MOST_RUNS:
                self._full.setdefault(label, source)
                return
            kept.setdefault(run, source)


def _runs(words: Sequence[str], step: int) -> Iterator[int]:
    for start in range(0, len(words) - RUN_OF_WORDS + 1, step):
        yield hash(tuple(words[start : start + RUN_OF_WORDS]))
