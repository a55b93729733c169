"""Which payloads may be gone: those that a record of the log says were removed.

A record `log.pruned` or `log.erased` is written before anything goes, and says what: everything before a time, or all
of one person (in one session). It speaks of the records before it, never of later ones.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from math import inf

from remit.state.chain import Row

EVENTS = ("log.erased", "log.pruned")
"""The records that announce a removal."""


class Removals:
    """What the log says was removed."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Take the records of `EVENTS`, in order."""
        self._of: dict[tuple[str, str], int] = {}
        pruned: list[tuple[int, float]] = []
        for row in rows:
            about = _about(row.body)
            who, before = about.get("who"), about.get("before")
            if row.event == "log.erased" and isinstance(who, str) and who:
                self._of[who, str(about.get("session") or "")] = row.seq
            elif row.event == "log.pruned" and isinstance(before, (int, float)):
                pruned.append((row.seq, before))
        self._seqs = [seq for seq, _ in pruned]
        self._before = _latest(before for _, before in pruned)

    def cover(self, row: Row) -> bool:
        """Tell whether a later record says that the payload of `row` was removed."""
        later = bisect_right(self._seqs, row.seq)
        if row.time < self._before[later]:
            return True
        return any(self._of.get((row.who, session), 0) > row.seq for session in ("", row.session))


def _latest(times: Iterable[float]) -> list[float]:
    """Return, for each place, the latest of the times from there on; at the end one that is before everything."""
    found = [-inf]
    for time in reversed(list(times)):
        found.append(max(found[-1], time))
    return found[::-1]


def _about(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
