"""A circuit breaker: an endpoint that is down is left alone for a while, in the whole process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

FAILURES = 3
"""Failures in a row after which an endpoint is left alone."""

SECONDS = 60.0
"""How long."""


class Circuit:
    """Counts the failures in a row of one endpoint. May be used from several threads.

    After the pause the next request is the test: one more failure, and it is left alone again.

    Args:
        failures: how many in a row are too many.
        seconds: the pause.
        clock: seconds that only grow.
    """

    def __init__(
        self, *, failures: int = FAILURES, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether the endpoint is to be left alone now."""
        return self._clock() < self._until

    def failed(self) -> None:
        """Count a failure."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._until = self._clock() + self._seconds

    def answered(self) -> None:
        """Forget the failures so far."""
        with self._lock:
            self._failures, self._until = 0, 0.0


_CIRCUITS: dict[tuple[str, int, float], Circuit] = {}
_LOCK = threading.Lock()


def circuit_of(endpoint: str, *, failures: int = FAILURES, seconds: float = SECONDS) -> Circuit:
    """Return the circuit of `endpoint` with these numbers, the same one everywhere in this process."""
    with _LOCK:
        return _CIRCUITS.setdefault((endpoint, failures, seconds), Circuit(failures=failures, seconds=seconds))
