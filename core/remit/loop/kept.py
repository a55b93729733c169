"""What a run stores goes through the redactor first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from remit.loop.ports import Store
from remit.loop.whole import cleaned
from remit.pipeline.redact import Redactor
from remit.state.chain import Entry


class Kept:
    """A store that keeps sessions and records without what must not be kept.

    The running conversation is not changed; one that is loaded again has a mark where a secret was, see `whole`.
    One run has one of these: messages that it has seen are not gone through again.
    """

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor
        self._given: list[Mapping[str, Any]] = []
        self._clean: list[Mapping[str, Any]] = []
        self._saved = 0

    def append(
        self,
        event: str,
        *,
        session: str,
        body: Mapping[str, Any],
        sealed: Mapping[str, Any] | None = None,
        durable: bool = True,
    ) -> int:
        """Write one record, see `Store`."""
        clean, hidden = self._redactor.value(dict(body)), self._redactor.value(dict(sealed or {}))
        return self._store.append(event, session=session, body=clean, sealed=hidden, durable=durable)

    def save_session(
        self,
        session: str,
        transcript: Sequence[Mapping[str, Any]],
        *,
        status: str,
        durable: bool = True,
        same: int = 0,
        records: Sequence[Entry] = (),
    ) -> None:
        """Save a session, see `Store`; what this run has saved already is not gone through or written again."""
        same = self._known(transcript)
        new = [cleaned(message, self._redactor) for message in transcript[same:]]
        self._given[same:], self._clean[same:] = transcript[same:], new
        saved, self._saved = min(self._saved, same), 0
        clean = [self._entry(entry) for entry in records]
        self._store.save_session(session, self._clean, status=status, durable=durable, same=saved, records=clean)
        self._saved = len(self._clean)

    def _entry(self, entry: Entry) -> Entry:
        body, sealed = self._redactor.value(dict(entry.body)), self._redactor.value(dict(entry.sealed))
        return replace(entry, body=body, sealed=sealed)

    def _known(self, transcript: Sequence[Mapping[str, Any]]) -> int:
        """Return how many messages at the beginning were given before; the transcript hands out the same objects."""
        length = min(len(self._given), len(transcript))
        return next((place for place in range(length) if self._given[place] is not transcript[place]), length)
