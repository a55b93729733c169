"""Failed identifications: slowed down by address, and recorded without letting a stranger fill the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from remit.http.rate import Buckets, Rates

EVENT = "http.refused"
"""Record {address, path, left_out}: somebody asked whom nobody knows."""

_A_MINUTE = 30

_LONGEST = 200


class Failures:
    """Counts what failed, by address."""

    def __init__(self, record: Callable[[dict[str, Any]], None], rates: Rates) -> None:
        """Set it up.

        Args:
            record: writes the body of one record.
            rates: how often an address may fail.
        """
        self._record = record
        self._addresses = Buckets(a_minute=rates.failures, burst=rates.failures)
        self._written = Buckets(a_minute=_A_MINUTE, burst=_A_MINUTE)
        self._left_out = 0

    def wait(self, address: str) -> float:
        """Return the seconds after which an address may try again; 0.0 for at once."""
        return self._addresses.wait(address)

    def count(self, address: str, request: Request) -> None:
        """Count a failure and record it; in a flood only how many were left out."""
        self._addresses.take(address)
        if self._written.take("records"):
            self._left_out += 1
            return
        left_out, self._left_out = self._left_out, 0
        self._record({"address": address, "path": request.url.path[:_LONGEST], "left_out": left_out})
