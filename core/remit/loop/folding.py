"""Old history is folded into a summary: what a model is shown gets shorter, the transcript stays as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from remit.errors import StateError
from remit.loop.context import Fitted, Rounds, cut
from remit.loop.counting import Counting
from remit.loop.summaries import LONGEST, SHARE, Book, labels_of, summary, summary_message, told
from remit.models.protocol import Message, encode
from remit.pipeline.redact import Redactor
from remit.state.summaries import KeptSummary

if TYPE_CHECKING:
    from remit.loop.voices import Voice

AIM = 0.6
"""The part of its room that history takes after it was folded, so that not every turn makes a summary."""


class SummaryStore(Protocol):
    """Keeps summaries; `remit.state.store.State` is the one that counts."""

    def summaries(self, session: str) -> dict[str, KeptSummary]:
        """Return the summaries of a session by digest of what they cover."""
        ...

    def keep_summary(self, session: str, digest: str, text: str, labels: Iterable[str]) -> None:
        """Keep a summary."""
        ...


class Folding:
    """The summaries of one session.

    A summary covers the beginning of the transcript up to a round, and is kept under a digest of these messages, so
    that another process finds it. What it covers is no longer shown, but for what always stays (see `Rounds`). The next
    one is made from the one before and what came after it.

    Args:
        store: where summaries are kept.
        redactor: what must not be stored.
        book: where a summary is accounted for.
    """

    def __init__(self, store: SummaryStore, redactor: Redactor, book: Book) -> None:
        self._store = store
        self._redactor = redactor
        self._book = book
        self._known: dict[str, KeptSummary] | None = None
        self._chain: list[tuple[Message, str]] = []
        self._failed = False

    async def fitted(
        self, voice: Voice, messages: tuple[Message, ...], budget: int, counting: Counting, *, step: int
    ) -> Fitted:
        """Return what fits into `budget` (before it is set right), with a summary of what does not.

        Where no summary can be made, the oldest rounds are left out with a mark, as `fit` does; after a failure
        this run tries no more.
        """
        total = sum(map(counting.bare, messages))
        if total <= budget:
            return Fitted(messages=messages, tokens=total)
        rounds = Rounds.of(messages)
        self._follow(rounds.before(rounds.end))
        found = self._shortest(rounds, budget, counting)
        if found is None and not self._failed:
            await self._fold(voice, rounds, budget, counting, step)
            found = self._shortest(rounds, budget, counting)
            self._failed = found is None
        return cut(rounds, budget, counting.bare) if found is None else found

    def _shortest(self, rounds: Rounds, budget: int, counting: Counting) -> Fitted | None:
        """Return what is shown with the summary that covers least, of those with which it fits."""
        known = self._summaries()
        for start in range(1, rounds.end + 1 if known else 1):
            kept = known.get(self._digest(rounds, start))
            if kept is None:
                continue
            shown = self._with(rounds, start, kept)
            size = sum(map(counting.bare, shown))
            if size <= budget:
                return Fitted(messages=shown, summarised=_hidden(rounds, start), tokens=size)
        return None

    def _with(self, rounds: Rounds, start: int, kept: KeptSummary) -> tuple[Message, ...]:
        return (summary_message(kept.text, rounds.length(start), kept.labels), *rounds.shown_from(start))

    async def _fold(self, voice: Voice, rounds: Rounds, budget: int, counting: Counting, step: int) -> None:
        """Make a summary of the oldest rounds, so many that the rest takes `AIM` of the budget."""
        most = min(LONGEST, (voice.context or LONGEST * SHARE) // SHARE)
        start = rounds.first_that_fits(max(0, int(budget * AIM) - most), counting.bare)
        if not _hidden(rounds, start):
            return
        covered = rounds.before(start)
        base, earlier = self._latest_before(rounds, start)
        text = told(message for message in covered[rounds.length(base) :] if message.origin != "memory")
        if earlier is not None:
            text = f"Summary of what came before:\n{earlier.text}\n\n{text}"
        written = await summary(
            voice.model, "history", text, self._book, step=step, context=voice.context, covers=len(covered)
        )
        if written is None:
            return
        kept = KeptSummary(text=self._redactor.text(written), labels=labels_of(covered))
        digest = self._digest(rounds, start)
        self._summaries()[digest] = kept
        try:
            self._store.keep_summary(self._book.session, digest, kept.text, kept.labels)
        except StateError:
            return  # it counts for this run; the next one makes it again

    def _latest_before(self, rounds: Rounds, start: int) -> tuple[int, KeptSummary | None]:
        for number in range(start - 1, 0, -1):
            kept = self._summaries().get(self._digest(rounds, number))
            if kept is not None:
                return number, kept
        return 0, None

    def _summaries(self) -> dict[str, KeptSummary]:
        if self._known is None:
            try:
                self._known = self._store.summaries(self._book.session)
            except StateError:
                self._known = {}
        return self._known

    def _digest(self, rounds: Rounds, start: int) -> str:
        """Return a digest of the messages of the rounds before `start`."""
        length = rounds.length(start)
        return self._chain[length - 1][1] if length else ""

    def _follow(self, messages: tuple[Message, ...]) -> None:
        """Digest messages as they are stored, each with all before it; each is gone through once."""
        known = 0
        while known < min(len(self._chain), len(messages)) and self._chain[known][0] is messages[known]:
            known += 1
        del self._chain[known:]
        last = self._chain[-1][1] if self._chain else ""
        for message in messages[known:]:
            stored = self._redactor.value(dict(message.to_json()))
            last = hashlib.sha256(last.encode() + encode(stored)).hexdigest()
            self._chain.append((message, last))


def _hidden(rounds: Rounds, start: int) -> int:
    """Return how many messages a summary up to `start` stands for: not those that are shown all the same."""
    return sum(len(group) for number, group in enumerate(rounds.groups[:start]) if not rounds.stays(number))
