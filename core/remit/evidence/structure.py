"""The first pass over each record: does it hold by itself, and does it follow the one before?"""

from __future__ import annotations

from itertools import chain

from remit.evidence.findings import Findings
from remit.evidence.reading import LogFile, Stored
from remit.evidence.removals import EVENTS, Removals
from remit.state.chain import Row, commitment, leaf_hash

_NEAR = 64
"""Places around a record that are tried first when it belongs to another."""

_SEARCHES = 3
"""Records that are looked for everywhere; further ones only near by."""


class Structure:
    """Checks records one after the other."""

    def __init__(self, log: LogFile, last: int, findings: Findings) -> None:
        """Say which log, up to which record, and where findings go."""
        self._log, self._last, self._findings = log, last, findings
        self._expected = 1
        self._before = b""
        self._shift = 0
        self._searches = 0
        self._given = log.given
        self._removals = Removals(log.of(EVENTS, last))
        self._unannounced = self._further = 0
        self.payloads = self.erased = 0

    def check(self, stored: Stored) -> None:
        """Check the next record."""
        row = stored.row
        if row.seq != self._expected:
            self._gap(row)
        elif leaf_hash(row.record()) != row.leaf:
            self._not_itself(row)
        elif row.prev != self._before:
            self._not_linked(row)
        if row.sealed is not None or stored.kept:
            self._payload(stored)
        self._expected, self._before = row.seq + 1, row.leaf

    def end(self, head: tuple[int, bytes] | None) -> None:
        """Check that the end is there.

        Args:
            head: number and leaf of the last record, as a file beside the log has them.
        """
        if self._unannounced:
            more = f", nor that of {self._further} more" if self._further else ""
            text = f"its payload was removed, and no record says so{more}"
            self._findings.add(self._unannounced, "payload removed without a record", text)
        last = self._expected - 1
        highest = max(self._log.given, head[0] if head is not None else 0)
        if highest > last:
            missing = highest - last
            text = f"{missing} record{'s were' if missing > 1 else ' was'} written after record {last} and are gone"
            self._findings.add(last + 1, "truncated", text.replace("are gone", "is gone") if missing == 1 else text)
        elif head is not None and not self._has(*head):
            text = f"record {head[0]} is not the one that was last when the log was closed"
            self._findings.add(head[0], "re-chained", text)

    def _has(self, seq: int, leaf: bytes) -> bool:
        row = self._log.row(seq)
        return row is not None and row.leaf == leaf

    def _gap(self, row: Row) -> None:
        if row.seq < self._expected:
            return self._findings.add(row.seq, "inserted", "a record stands before the first one")
        first, last = self._expected, row.seq - 1
        text = "this record is missing" if first == last else f"records {first} to {last} are missing"
        self._findings.add(first, "deleted", text)
        return None

    def _not_itself(self, row: Row) -> None:
        place = self._place_of(row)
        if place is None and self._fits(row.seq + 1, row.seq):
            return self._findings.add(row.seq, "inserted", f"put in before what was record {row.seq}")
        if place is None:
            text = "its content is not what was written: the hash of the record does not fit"
            return self._findings.add(row.seq, "edited", text)
        other = self._log.row(place)
        if other is not None and other.leaf == row.leaf:
            return self._findings.add(row.seq, "inserted", f"this is record {place} once more")
        shift = place - row.seq
        if shift == self._shift:
            return None
        alone = row.seq == self._last and not self._findings.count
        if self._fits(row.seq + 1, place + 1) or (shift > 0 and other is None) or alone:
            return self._shifted(row, shift)
        return self._findings.add(row.seq, "reordered", f"this is record {place}, in another's place")

    def _shifted(self, row: Row, shift: int) -> None:
        """All that follows was given other numbers: something before it is gone, or was put in."""
        self._shift = shift
        if shift > 0:
            last = row.seq + shift - 1
            many = f"records {row.seq} to {last} were" if shift > 1 else f"record {row.seq} was"
            self._findings.add(row.seq, "deleted", f"{many} taken out, and the rest was given new numbers")
        else:
            first = row.seq + shift
            self._findings.add(first, "inserted", f"put in before what was record {first}, which now is {row.seq}")

    def _not_linked(self, row: Row) -> None:
        if row.seq == 1:
            return self._findings.add(1, "deleted", "the records before it are missing")
        text = f"record {row.seq} was written after another record {row.seq - 1}: this one was made anew"
        return self._findings.add(row.seq - 1, "edited", text)

    def _payload(self, stored: Stored) -> None:
        seq, sealed = stored.row.seq, stored.row.sealed
        if sealed is None:
            return self._findings.add(seq, "inserted", "it has a payload that it does not know of")
        if not stored.kept:
            return self._findings.add(seq, "deleted", "its payload is gone without a mark that it was erased")
        if stored.data is None or stored.salt is None:
            self.erased += 1
            return self._gone(stored.row)
        self.payloads += 1
        if commitment(stored.salt, stored.data) != sealed:
            return self._findings.add(seq, "edited", "its payload is not the one that the record commits to")
        return None

    def _gone(self, row: Row) -> None:
        """Keep the first payload that was removed without a record, and count the others."""
        if not self._removals.cover(row):
            self._unannounced = self._unannounced or row.seq
            self._further += self._unannounced != row.seq

    def _place_of(self, row: Row) -> int | None:
        """Return the number under which this record was written, or None when its content was changed."""
        places = range(max(1, row.seq - _NEAR), row.seq + _NEAR + 1)
        self._searches += 1
        everywhere = range(1, max(self._given, self._last) + 1) if self._searches <= _SEARCHES else ()
        for place in chain((row.seq + self._shift,), places, everywhere):
            if leaf_hash(row.record(place)) == row.leaf:
                return place
        return None

    def _fits(self, seq: int, place: int) -> bool:
        """Tell whether the record now at `seq` was written under the number `place`."""
        row = self._log.row(seq)
        return row is not None and leaf_hash(row.record(place)) == row.leaf
