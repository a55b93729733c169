"""What a run stores goes through the redactor first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remit.loop.ports import Store
from remit.pipeline.redact import Redactor


class Kept:
    """A store that keeps sessions and records without what must not be kept.

    The running conversation is not changed; a session that is loaded again reads a mark where a secret was.
    One run has one of these: messages that it has seen are not gone through again.
    """

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor
        self._messages: dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}

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
        self, session: str, transcript: Sequence[Mapping[str, Any]], *, status: str, durable: bool = True
    ) -> None:
        """Save a session, see `Store`."""
        clean = [self._clean(message) for message in transcript]
        self._store.save_session(session, clean, status=status, durable=durable)

    def _clean(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a message without what is hidden; the transcript hands out the same object each time."""
        known = self._messages.get(id(message))
        if known is not None and known[0] is message:
            return known[1]
        clean: Mapping[str, Any] = self._redactor.value(dict(message))
        self._messages[id(message)] = (message, clean)
        return clean
