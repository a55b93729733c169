"""What one cell was refused by the network broker, and where it got through, as the host saw it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from remit_sandbox.values import Denied

if TYPE_CHECKING:
    from remit_sandbox.broker.events import NetworkEvent

MOST = 50
"""Refusals that are kept until somebody takes them, of more only the number is known; and places reached."""


class Denials:
    """Hears the broker's events of one cell, keeps what came of them, and passes every event on.

    Args:
        listen: gets each event as well.
        mask: takes the cell's secrets out of a text: a host's name is one that the cell chose.
    """

    def __init__(
        self, listen: Callable[[NetworkEvent], None] | None = None, *, mask: Callable[[str], str] = str
    ) -> None:
        self._listen = listen
        self._mask = mask
        self._lock = threading.Lock()
        self._kept: list[Denied] = []
        self._dropped = 0
        self._reached: dict[str, None] = {}

    @property
    def reached(self) -> tuple[str, ...]:
        """Each `host:port` that a grant let it connect to, whether or not anybody answered there."""
        with self._lock:
            return tuple(self._reached)

    def hear(self, event: NetworkEvent) -> None:
        """Take an event; called in the broker's thread."""
        if not event.allowed and event.host:
            what, missing = self._mask(event.target), self._mask(event.missing)
            self._keep(Denied(right="net", what=what, missing=missing, seen_by="broker"))
        elif event.host and len(self._reached) < MOST:
            with self._lock:
                self._reached[event.target] = None
        if self._listen is not None:
            self._listen(event)

    def _keep(self, denied: Denied) -> None:
        with self._lock:
            if len(self._kept) < MOST:
                self._kept.append(denied)
            else:
                self._dropped += 1

    def take(self) -> tuple[tuple[Denied, ...], int]:
        """What was refused since it was last asked, and how many more there were."""
        with self._lock:
            kept, dropped = tuple(self._kept), self._dropped
            self._kept, self._dropped = [], 0
        return kept, dropped
